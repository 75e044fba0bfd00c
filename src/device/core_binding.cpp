// SPDX-License-Identifier: MIT
#include "device/core_binding.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/machine.h"

namespace attune {

void bind_to_cores(const std::vector<int>& cores) {
  if (!bind_thread(0, cores))
    fail(ErrorCode::device, "the system does not let this process use its cores ({})", std::strerror(errno));
}

CoreBinding::CoreBinding(const std::vector<int>& cores) {
  if (cores.empty()) return;
  before_ = allowed_cores();
  if (!before_.empty()) bind_to_cores(cores);  // Else the destructor could not undo it.
}

UnboundThread::UnboundThread(size_t num_wanted) noexcept {
  try {
    const std::vector<int> of_main = cores_of_thread(::getpid());
    std::vector<int> cores = process_cores();
    cores.insert(cores.end(), of_main.begin(), of_main.end());
    std::ranges::sort(cores);
    cores.erase(std::ranges::unique(cores).begin(), cores.end());
    if (allowed_cores().size() < std::min(cores.size(), num_wanted)) binding_.emplace(cores);
  } catch (const std::exception&) {
    // The teams may share a core, but they still compute.
  }
}

CoreBinding::~CoreBinding() {
  if (before_.empty()) return;
  try {
    bind_to_cores(before_);
  } catch (const Error&) {
    // The old cores were valid before: the machine has just lost some.
  }
}

}  // namespace attune
