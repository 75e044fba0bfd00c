// SPDX-License-Identifier: MIT
#include "report/diff/diff_json.h"

#include <nlohmann/json.hpp>

namespace attune {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const RowChange& change) {
  ordered_json cells = ordered_json::array();
  for (const ChangedCell& cell : change.cells)
    cells.push_back({{"column", cell.column}, {"before", cell.before}, {"after", cell.after}});
  ordered_json object = {
      {"problem", change.problem.key()}, {"gfx", change.gfx}, {"cu_num", change.num_units}, {"cells", cells}};
  if (change.old_us) object["old_us"] = *change.old_us;
  if (change.new_us) object["new_us"] = *change.new_us;
  if (change.ratio) object["speedup"] = *change.ratio;
  return object;
}

ordered_json to_json(const std::vector<RowChange>& changes) {
  ordered_json list = ordered_json::array();
  for (const RowChange& change : changes) list.push_back(to_json(change));
  return list;
}

}  // namespace

ordered_json diff_json(const TableDiff& diff) {
  return {{"added", to_json(diff.added)},
          {"removed", to_json(diff.removed)},
          {"changed", to_json(diff.changed)},
          {"same", diff.num_same}};
}

}  // namespace attune
