// SPDX-License-Identifier: MIT
#include "cli/fleet/change_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"

namespace attune {

using nlohmann::ordered_json;

void print_changes(const ResultChanges& changes) {
  for (const ResultChange& one : changes.changes)
    print_line(stdout, fmt::format("{:<8} {}: {}{}", name(one.kind), one.key, shown(one.what, 500),
                                   one.ratio ? fmt::format(", {:.3f}×", *one.ratio) : ""));
}

ordered_json changes_as_json(const ResultChanges& changes) {
  ordered_json list = ordered_json::array();
  for (const ResultChange& one : changes.changes) {
    list.push_back({{"kind", name(one.kind)}, {"key", one.key}, {"what", one.what}});
    if (one.ratio) list.back()["ratio"] = *one.ratio;
  }
  ordered_json counts = ordered_json::object();
  for (size_t i = 0; i < kResultChangeNames.size(); ++i)
    counts[std::string(kResultChangeNames[i])] = changes.count(static_cast<ResultChange::Kind>(i));
  counts["same"] = changes.num_same;
  return {{"counts", counts}, {"changes", list}};
}

}  // namespace attune
