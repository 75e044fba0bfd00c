// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "worker/worker_process.h"

namespace attune {

/// Returns the build name that a worker must share with its supervisor; a worker of another build is refused.
std::string build_name();

/// Returns the options of this program's worker for a device. Its clean environment holds the variables that locate
/// libraries and the user's folders, those that the libraries read, and Attune's own.
WorkerOptions worker_options(const std::string& device, Strays* strays);

}  // namespace attune
