// SPDX-License-Identifier: MIT
#include "report/kernel_listing.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "attune/error.h"
#include "base/clock.h"
#include "report/entry_line.h"

namespace attune {
namespace {

constexpr const char* kKernelLayout = "{:<16}  {:<24}  {:>9}  {:<12}  {:<10}  {:<56}  {:<18}  {}";

std::optional<Candidate> candidate_of(const Binary& binary) {
  const auto named = binary.metadata.find("candidate");
  if (named == binary.metadata.end()) return std::nullopt;
  try {
    return Candidate::parse(named->second);
  } catch (const Error&) {
    return std::nullopt;  // Another version wrote it.
  }
}

}  // namespace

std::optional<ListedKernel> listed_kernel(const Binary& binary) {
  ListedKernel kernel{.binary = binary};
  std::error_code gone;
  kernel.num_bytes = std::filesystem::file_size(binary.file, gone);
  if (gone) return std::nullopt;
  const auto written = std::filesystem::last_write_time(binary.file, gone);
  if (gone) return std::nullopt;
  const auto made_at = std::chrono::file_clock::to_sys(written).time_since_epoch();
  kernel.made_at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(made_at).count();
  if (const auto entries = binary.metadata.find("entries"); entries != binary.metadata.end())
    kernel.entries = entries->second;
  kernel.candidate = candidate_of(binary);
  return kernel;
}

std::string kernel_header() {
  return fmt::format(kKernelLayout, "compiled (UTC)", "solver", "bytes", "toolchain", "function", "config", "arch",
                     "recipe");
}

std::string kernel_line(const ListedKernel& kernel) {
  const auto& [binary, num_bytes, made_at_ms, candidate, entries] = kernel;
  return fmt::format(kKernelLayout, short_time({.at_ms = made_at_ms}), candidate ? candidate->solver : "-", num_bytes,
                     binary.toolchain, entries, candidate ? candidate->config.key() : "-", binary.arch, binary.recipe);
}

std::string kernel_json(const ListedKernel& kernel) {
  const Binary& binary = kernel.binary;
  nlohmann::ordered_json json = {{"arch", binary.arch},           {"recipe", binary.recipe},
                                 {"toolchain", binary.toolchain}, {"sha256", binary.sha256},
                                 {"bytes", kernel.num_bytes},     {"made_at", utc_time_text(kernel.made_at_ms)},
                                 {"file", binary.file.string()},  {"metadata", binary.metadata}};
  if (kernel.candidate) {
    json["solver"] = kernel.candidate->solver;
    json["config"] = kernel.candidate->config.key();
  }
  return json.dump();
}

}  // namespace attune
