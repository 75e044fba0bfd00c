// SPDX-License-Identifier: MIT
// Names of algorithms: miopenConv*Algorithm_t and the find-dbs of ROCm/MIOpen (MIT).
#include "fleet/exports/miopen_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "formats/find_db/find_db_key.h"
#include "formats/miopen_conv.h"

namespace attune {
namespace {

constexpr size_t kEntriesOfKey = 4;  // what MIOpen's own export keeps

/// MIOpen's word for a candidate's algorithm. Implementations of libraries have it in their names.
std::string_view algorithm_of(const Candidate& candidate) {
  const std::string name = candidate.name();
  if (name.find("wino") != std::string::npos) return "Winograd";
  return name.find("gemm") != std::string::npos || name.find("im2col") != std::string::npos ? "GEMM" : "Direct";
}

}  // namespace

std::string_view miopen_platform(std::string_view kind) noexcept {
  if (kind == "hip") return "HIP";
  return kind == "cuda" ? "CUDA" : "HOST";
}

std::string find_db_time(double us) {
  constexpr int kDigits = 6, kMaxDecimals = 12;
  const double ms = us / 1000;
  const int decimals = kDigits - 1 - static_cast<int>(std::floor(std::log10(ms)));
  return fmt::format("{:.{}f}", ms, std::clamp(decimals, 1, kMaxDecimals));
}

std::string perf_db_params(const Config& config) {
  std::string text = config.key();
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

std::string miopen_algorithm(const Problem& problem, const Candidate& candidate) {
  std::string_view direction = "Fwd";
  switch (miopen_conv_of(problem).direction) {
    case ConvDirection::forward:
      break;
    case ConvDirection::backward_data:
      direction = "BwdData";
      break;
    case ConvDirection::backward_weights:
      direction = "BwdWeights";
      break;
  }
  return fmt::format("miopenConvolution{}Algo{}", direction, algorithm_of(candidate));
}

void MiopenExport::add(const Problem& problem, const std::vector<ShortListRow>& finalists) {
  std::string key = find_db_key_of(problem);
  if (!keys_.insert(key).second) fail(ErrorCode::invalid_input, "another configuration has the same key: {}", key);
  FindDbRecord record{.key = find_db_.keep(std::move(key)), .line = 0, .entries = {}};
  PerfDbConfig config = perf_db_config_of(problem);
  const auto [known, is_new] =
      configs_.try_emplace(perf_db_key(config), static_cast<int64_t>(perf_db_.configs.size()) + 1);
  config.id = known->second;
  if (is_new) perf_db_.configs.push_back(config);
  for (const ShortListRow& row : finalists) {
    const std::string_view solver = find_db_.keep(row.solver);
    record.entries.push_back({.id = solver,
                              .solver = solver,
                              .time_ms = find_db_.keep(find_db_time(row.us)),
                              .workspace_bytes = find_db_.keep(std::to_string(row.workspace_bytes)),
                              .algorithm = find_db_.keep(miopen_algorithm(problem, row.candidate)),
                              .kernel_key = {}});
    if (row.candidate.config.values().empty()) continue;  // It has no parameters.
    if (!rows_.emplace(config.id, row.solver).second) {
      ++num_shared_rows_;
      continue;
    }
    perf_db_.rows.push_back(
        {static_cast<int64_t>(perf_db_.rows.size()) + 1, row.solver, config.id, perf_db_params(row.candidate.config)});
  }
  if (!record.entries.empty()) find_db_.records().push_back(std::move(record));
}

void MiopenExport::add(const FleetKernel& kernel) {
  kernels_.try_emplace({kernel.name, kernel.arguments}, kernel.bytes);
}

std::string MiopenExport::find_db_text() {
  find_db_.sort(kEntriesOfKey);
  return find_db_.text();
}

const PerfDb& MiopenExport::perf_db() {
  std::set<int64_t> used;
  for (const PerfDbRow& row : perf_db_.rows) used.insert(row.config);
  std::erase_if(perf_db_.configs, [&](const PerfDbConfig& config) { return !used.contains(config.id); });
  sort_perf_db(perf_db_);
  return perf_db_;
}

KernelDb MiopenExport::kernel_db() const {
  KernelDb db{.schema = KernelDb::own_schema(), .kernels = {}};
  for (const auto& [name, bytes] : kernels_)
    db.kernels.push_back(kernel_db_row(static_cast<int64_t>(db.kernels.size()) + 1, name.first, name.second, bytes));
  return db;
}

}  // namespace attune
