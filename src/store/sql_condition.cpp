// SPDX-License-Identifier: MIT
#include "store/sql_condition.h"

#include <fmt/format.h>

#include <string_view>

namespace attune {

std::pair<std::string, std::vector<std::string>> condition_of(const Query& query, bool is_schema_1) {
  std::string kinds;
  const auto add_kind = [&](bool wanted, std::string_view kind) {
    if (wanted) kinds += fmt::format("{}{}", kinds.empty() ? "" : ",", kind);
  };
  add_kind(query.started, "0");
  add_kind(query.records, "1");
  add_kind(query.decisions, "2");
  add_kind(query.pardons, "3");
  add_kind(query.runs, "4,5");
  add_kind(query.bans, "6");
  // An equation, because SQLite uses the indexes of Decisions for nothing else.
  std::string condition = kinds.size() == 1 ? "kind = " + kinds : fmt::format("kind IN ({})", kinds);
  if (query.after > 0) condition += fmt::format(" AND id > {}", query.after);
  if (query.before > 0) condition += fmt::format(" AND id < {}", query.before);
  // A run's number is the id of its first entry.
  if (query.run) condition += fmt::format(" AND run = {0} AND id >= {0}", *query.run);
  std::vector<std::string> values;
  if (query.problem) {
    condition += " AND problem IN (:p, '')";  // a pardon belongs to a candidate, whatever the problem
    values.push_back(query.problem->key());
  }
  if (!query.problem_prefix.empty()) {
    condition += " AND (problem = '' OR substr(problem, 1, length(:x)) = :y)";
    values.insert(values.end(), 2, query.problem_prefix);
  }
  if (query.device) {
    condition += " AND device IN (:d, '')";
    values.push_back(*query.device);
  }
  if (query.fingerprint) {
    // Of Decisions alone an equation, for the index.
    condition += kinds == "2" ? " AND fingerprint = :f" : " AND (fingerprint = :f OR kind IN (3,5,6))";
    values.push_back(*query.fingerprint);
  }
  if (query.protocol) {
    condition += " AND (kind NOT IN (1,2) OR measured = :m) AND (kind <> 2 OR searched = :s)";
    values.push_back(query.protocol->measured_key());
    values.push_back(query.protocol->searched_key());
  }
  const auto one_of = [&](std::string_view column, char parameter, const auto& names) {
    std::string places;
    for (const auto& name : names) {
      places += fmt::format("{}:{}{}", places.empty() ? "" : ",", parameter, values.size());
      values.emplace_back(name);
    }
    return fmt::format("{} IN ({})", column, places);
  };
  if (is_schema_1) return {std::move(condition), std::move(values)};  // It has no stages and statuses.
  if (!query.stages.empty()) {
    std::vector<std::string_view> names;
    for (const Stage stage : query.stages) names.push_back(name(stage));
    condition += fmt::format(" AND (kind <> 1 OR {})", one_of("stage", 'g', names));
  }
  if (!query.statuses.empty()) condition += " AND " + one_of("status", 'u', query.statuses);
  return {std::move(condition), std::move(values)};
}

std::string index_of(const Query& query, bool is_schema_1) {
  if (is_schema_1 || query.started || query.records || !query.decisions || query.pardons || query.runs || query.bans)
    return {};
  const bool names_problems = query.problem || !query.problem_prefix.empty();
  return fmt::format(" INDEXED BY {}", names_problems ? "decisions_by_problem" : "decisions_by_place");
}

}  // namespace attune
