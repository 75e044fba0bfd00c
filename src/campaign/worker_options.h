// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "worker/worker_process.h"

namespace attune {

/// What workers and their supervisor must share; another build's worker is refused.
std::string build_name();

/// A worker of this program for a device, with a clean environment: what finds libraries and the user's folders, what
/// the libraries read, and Attune's own variables.
WorkerOptions worker_options(const std::string& device, Strays* strays);

}  // namespace attune
