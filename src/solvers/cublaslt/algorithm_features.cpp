// SPDX-License-Identifier: MIT
#include "algorithm_features.h"

#include <fmt/format.h>

#include <string>

#include "cublaslt/ids_of_header.h"

namespace attune {

std::vector<Meaning> meanings_of_ids() {
  std::vector<Meaning> meanings;
  const auto add = [&](const char* parameter, const auto& ids) {
    Meaning rows{parameter, "rows", {}}, columns{parameter, "columns", {}};
    for (const auto& [id, its_rows, its_columns] : ids) {
      rows.numbers.emplace_back(id, its_rows);
      columns.numbers.emplace_back(id, its_columns);
    }
    meanings.push_back(std::move(rows));
    meanings.push_back(std::move(columns));
  };
  add("tile", cublaslt::kTiles);
  add("cluster", cublaslt::kClusters);
  // An algorithm without clusters has the id 0, which has no size in its name.
  for (Meaning& one : meanings) {
    if (one.parameter == "cluster") one.numbers.emplace_back(int64_t{0}, 1);
  }
  return meanings;
}

std::vector<Feature> algorithm_features() {
  const std::string parts = "max(splitk, 1)";
  const std::string tiles = "ceil_div(problem.n, tile.rows) * ceil_div(problem.m, tile.columns) * " + parts;
  const std::string waves = fmt::format("ceil_div({}, device.num_units)", tiles);
  const std::string depth = fmt::format("ceil_div(problem.k, {})", parts);
  // A step of K loads the rows and columns of a tile and multiplies them: small tiles wait for the loads. Parts of K
  // are written and added. The weights were chosen by recorded searches of twelve shapes on an H200 (docs/adr/0030).
  const std::string step = "max(tile.rows * tile.columns, 50 * (tile.rows + tile.columns))";
  const std::string sums = fmt::format("min({0} - 1, 1) * 8 * {0} * problem.m * problem.n", parts);
  // Of one tile the smallest clusters are mostly the fastest: a seventeenth more for each multiprocessor more.
  const std::string cluster = "(16 + cluster.rows * cluster.columns)";
  return {{"tiles", tiles},
          {"waves", waves},
          {"fill", fmt::format("max(1, 1000 * ({}) / ({} * device.num_units))", tiles, waves)},
          {"work", fmt::format("{} * tile.rows * tile.columns * {}", waves, depth)},
          {"time", fmt::format("({} * {} * {} + {}) * {}", waves, depth, step, sums, cluster), true}};
}

}  // namespace attune
