// SPDX-License-Identifier: MIT
#include "cli/flags/gpu_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "base/text.h"
#include "cli/flags/value_checks.h"

namespace attune {
namespace {

constexpr int64_t kMaxGpus = 1024;  // More than any machine has.

std::string devices_of(const std::vector<int64_t>& numbers) {
  std::vector<std::string> ids;
  for (const int64_t number : numbers) ids.push_back(fmt::format("cuda:{}", number));
  return join(ids, ",");
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
            std::vector<int64_t> numbers;
            for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
            devices = devices_of(numbers);
          },
          "Number of GPUs, from the first: 2 is --devices cuda:0,cuda:1")
      ->check(whole_numbers(1, kMaxGpus));
  command
      .add_option_function<std::vector<int64_t>>(
          "--gpu_ids",
          [&command, &devices](const std::vector<int64_t>& numbers) {
            require_alone(command, "--gpu_ids");
            devices = devices_of(numbers);
          },
          "Numbers of GPUs: 0,2 is --devices cuda:0,cuda:2")
      ->delimiter(',')
      ->check(whole_numbers(0, kMaxGpus - 1));
}

}  // namespace attune
