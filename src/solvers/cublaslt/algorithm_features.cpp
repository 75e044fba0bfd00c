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
  return meanings;
}

std::vector<Feature> algorithm_features() {
  const std::string parts = "max(splitk, 1)";
  const std::string tiles = "ceil_div(problem.n, tile.rows) * ceil_div(problem.m, tile.columns) * " + parts;
  const std::string waves = fmt::format("ceil_div({}, device.num_units)", tiles);
  return {{"tiles", tiles},
          {"waves", waves},
          {"fill", fmt::format("max(1, 1000 * ({}) / ({} * device.num_units))", tiles, waves)},
          {"work", fmt::format("{} * tile.rows * tile.columns * ceil_div(problem.k, {})", waves, parts)}};
}

}  // namespace attune
