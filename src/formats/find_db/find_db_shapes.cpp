// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db_shapes.h"

#include <fmt/format.h>

#include <tuple>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"

namespace attune {

FindDbShapes read_find_db_shapes(const std::filesystem::path& path) {
  const FindDb db = FindDb::read_with_defects(path);
  FindDbShapes found{.shapes = {}, .notices = {}, .num_keys = db.records().size()};
  std::unordered_set<std::string> keys;
  size_t first_line = 0;
  std::string first_reason;
  for (const FindDbRecord& record : db.records()) {
    try {
      const FindDbKey key = FindDbKey::parse(record.key);
      if (std::string why = why_untunable(key); !why.empty()) {
        if (found.num_untunable++ == 0) std::tie(first_line, first_reason) = std::tuple(record.line, std::move(why));
        continue;
      }
      Problem problem = problem_of(key.conv);
      if (keys.insert(problem.key()).second) found.shapes.push_back({std::move(problem), record.line});
    } catch (Error& error) {
      error.add_context(fmt::format("{}:{}", path.string(), record.line));
      throw;
    }
  }
  if (found.num_untunable > 0)
    found.notices.push_back(
        fmt::format("{}:{}: {} without a problem left out, the first because {} (attune check lists "
                    "them)",
                    path.string(), first_line, counted(found.num_untunable, "key"), first_reason));
  if (found.shapes.empty())
    fail(ErrorCode::invalid_input, "no key of the find-db names a problem: '{}'", path.string());
  return found;
}

}  // namespace attune
