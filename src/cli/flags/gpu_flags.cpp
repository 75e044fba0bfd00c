// SPDX-License-Identifier: MIT
#include "cli/flags/gpu_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "base/text.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"

namespace attune {
namespace {

constexpr int64_t kMaxGpus = 1024;  // More than any machine has.

std::string devices_of(int64_t count) {
  const std::string_view prefix = preferred_prefix();
  std::vector<std::string> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(fmt::format("{}:{}", prefix, i));
  return join(ids, ",");
}

/// For CLI11's check(): why a text is no list of GPUs' numbers.
std::string numbers_error(const std::string& text) {
  if (std::string error = device_names_error(text); !error.empty()) return error;
  for (const auto number : split(text, ',')) {
    if (std::string error = range_error(std::string(trim(number)), 0, kMaxGpus - 1); !error.empty()) return error;
  }
  return "";
}

/// Throws for a second flag that names devices.
void require_alone(const CLI::App& command, const std::string& flag) {
  for (const char* other : {"--devices", "--ngpus", "--gpu_ids"}) {
    if (other != flag && command.get_option(other)->count() > 0)
      throw CLI::ValidationError(fmt::format("{} cannot be combined with {}: both name devices", flag, other));
  }
}

}  // namespace

void add_gpu_flags(CLI::App& command, std::string& devices) {
  command
      .add_option_function<int64_t>(
          "--ngpus",
          [&command, &devices](int64_t count) {
            require_alone(command, "--ngpus");
            devices = devices_of(count);
          },
          "Number of GPUs, from the first: 2 is --devices cuda:0,cuda:1")
      ->check(whole_numbers(1, kMaxGpus));
  command
      .add_option_function<std::string>(
          "--gpu_ids",
          [&command, &devices](const std::string& numbers) {
            require_alone(command, "--gpu_ids");
            const std::string_view prefix = preferred_prefix();
            std::vector<std::string> ids;
            for (const auto number : split(numbers, ',')) ids.push_back(fmt::format("{}:{}", prefix, trim(number)));
            devices = join(ids, ",");
          },
          "Numbers of GPUs: 0,2 is --devices cuda:0,cuda:2")
      ->check(numbers_error);
}

}  // namespace attune
