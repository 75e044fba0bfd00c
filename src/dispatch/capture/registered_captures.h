// SPDX-License-Identifier: MIT
#pragma once

namespace attune {

/// Whether a Capture was ever made in this process: by a dispatcher, or by the application itself. Thread-safe.
bool was_capture_made() noexcept;

}  // namespace attune
