// SPDX-License-Identifier: MIT
#include "report/diff/diff_json.h"

#include <nlohmann/json.hpp>

namespace attune {
using nlohmann::ordered_json;

ordered_json change_json(const RowChange& change) {
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

}  // namespace attune
