// SPDX-License-Identifier: MIT
#include "cli/flags/device_flags.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "base/variable.h"
#include "campaign/devices/python_libraries.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "device/device_kind.h"
#include "device/environment_threads.h"

namespace attune {

void add_device_flags(CLI::App& command, DeviceChoice& devices, const std::string& help) {
  command.add_option("--devices,--device", devices.ids, help)->check(device_names_error);
  command
      .add_option(
          "--threads", devices.threads,
          "Number of threads on a host, which is the cu_num of its rows; default: the least of the cores, the CPU "
          "quota, ATTUNE_THREADS, OMP_NUM_THREADS and OMP_THREAD_LIMIT")
      ->check(positive_number_error);
  add_libraries_flag(command);
}

void add_libraries_flag(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--libraries-of", use_libraries_of,
          "Python program, such as python3, whose PyTorch brings the CUDA libraries to tune with: rows of another "
          "version of a library do not serve where that PyTorch runs")
      ->type_name("PYTHON");
}

void add_device_info_flag(CLI::App& command, std::string& file) {
  command.add_option(
      "--device-info", file,
      "File that describes a device which need not be here, or several of which --devices names one: the "
      "output of `attune list devices --json` there");
}

std::string units_text(const DeviceInfo& device) {
  return counted(static_cast<size_t>(device.num_units), units_are_cores(device) ? "thread" : "unit");
}

std::string device_text(const DeviceInfo& device) {
  return device.key() + (units_are_cores(device) ? " with " + units_text(device) : "");
}

void check_thread_variable() {
  if (environment_threads().error.empty()) return;
  const char* text = variable_or_null("ATTUNE_THREADS");
  fail(ErrorCode::invalid_input, "ATTUNE_THREADS expects a number of threads from 1, got '{}'",
       shown(text != nullptr ? text : ""));
}

}  // namespace attune
