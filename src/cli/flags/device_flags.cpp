// SPDX-License-Identifier: MIT
#include "cli/flags/device_flags.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/flags/arguments.h"
#include "device/stated_threads.h"

namespace attune {

void add_device_flags(CLI::App& verb, DeviceChoice& devices, const std::string& help) {
  verb.add_option("--devices,--device", devices.ids, help);
  verb.add_option("--threads", devices.threads,
                  "Thread limit on a host, which is the cu_num of its rows; default: the least of the cores, the CPU "
                  "quota, ATTUNE_THREADS and OMP_NUM_THREADS")
      ->check(positive_number_error);
}

void check_thread_variable() {
  const StatedThreads stated = stated_threads();
  if (!stated.complaint.empty()) fail(ErrorCode::invalid_input, "{}", stated.complaint);
}

}  // namespace attune
