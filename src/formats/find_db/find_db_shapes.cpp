// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db_shapes.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"

namespace attune {

MiopenShapes read_find_db_shapes(const std::filesystem::path& path, bool with_results) {
  const FindDb db = FindDb::read_with_defects(path);
  MiopenShapesBuilder builder(path, "find-db");
  for (const FindDbRecord& record : db.records()) {
    try {
      const FindDbKey key = FindDbKey::parse(record.key);
      if (std::string why = why_untunable(key); !why.empty()) {
        builder.leave_out(record.line, std::move(why));
        continue;
      }
      const size_t shape = builder.add(problem_of(key.conv), record.line);
      if (!with_results) continue;
      for (const FindDbEntry& entry : record.entries) {
        if (has_usable_time(entry))
          builder.add_result({.shape = shape,
                              .solver = std::string(entry.solver),
                              .algorithm = std::string(entry.algorithm),
                              .time_ms = std::string(entry.time_ms),
                              .workspace_bytes = std::string(entry.workspace_bytes),
                              .params = {}});
        else
          builder.leave_out_result(record.line);
      }
    } catch (Error& error) {
      error.add_context(fmt::format("{}:{}", path.string(), record.line));
      throw;
    }
  }
  return builder.take();
}

}  // namespace attune
