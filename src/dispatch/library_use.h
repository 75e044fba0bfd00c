// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

namespace attune {

/// Called after a solver has made its first plan: its library has made its static objects by then, so what is
/// registered here for the process's end runs before they are taken down. Null: nothing.
inline std::atomic<void (*)()> after_first_use{nullptr};

}  // namespace attune
