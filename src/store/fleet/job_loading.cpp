// SPDX-License-Identifier: MIT
#include "store/fleet/job_loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "store/fleet/kernels/wanted_kernels.h"

namespace attune {
namespace {

/// Shared by the functions of one call.
struct Loading {
  FleetSql& sql;
  const JobLoad& load;
};

/// The step whose job must have ended before a job of this one.
std::optional<FleetStep> step_before(FleetStep step) {
  if (step == FleetStep::perf_eval) return FleetStep::perf_compile;
  if (step == FleetStep::find_eval) return FleetStep::find_compile;
  return std::nullopt;
}

bool is_loaded(FleetSql& sql, int64_t session, FleetStep step) {
  return sql.number("SELECT count(*) FROM job WHERE session = :s AND step = :t", session, name(step)) > 0;
}

/// The selected configurations as a condition on `c`, with one value: the tag.
constexpr const char* kIsChosen =
    "(:t1 = '' OR EXISTS (SELECT 1 FROM tag t WHERE t.name = :t2 AND t.configuration = c.id))";

void check_steps(const Loading& loading) {
  const JobLoad& load = loading.load;
  if (load.steps.empty()) fail(ErrorCode::invalid_input, "no step is named, give --steps perf_compile,perf_eval");
  for (const FleetStep step : load.steps) {
    if (step == FleetStep::perf_contest)
      fail(ErrorCode::invalid_input,
           "perf_contest is loaded with perf_eval, name that: --steps perf_compile,perf_eval");
    const auto before = step_before(step);
    if (!before || std::ranges::find(load.steps, *before) != load.steps.end()) continue;
    if (is_loaded(loading.sql, load.session, *before)) continue;
    fail(ErrorCode::invalid_input,
         "{0} needs {1}, load both: attune jobs load --session {2} {3} --steps {1},{0} -l {4}", name(step),
         name(*before), load.session, load.tag.empty() ? std::string("--all-configs") : "-t " + shown(load.tag),
         load.reason.empty() ? std::string("REASON") : shown(load.reason));
  }
}

void check_solvers(const Loading& loading) {
  const auto finds = [](FleetStep step) { return step == FleetStep::find_compile || step == FleetStep::find_eval; };
  if (!loading.load.solvers.empty() && std::ranges::any_of(loading.load.steps, finds))
    fail(ErrorCode::invalid_input,
         "find steps compare all solvers of the session, load them without --solvers or load perf steps");
  for (const std::string& one : loading.load.solvers) {
    if (loading.sql.number("SELECT count(*) FROM session_solver WHERE session = :s AND solver = :o",
                           loading.load.session, one) > 0)
      continue;
    std::vector<std::string> known;
    loading.sql.each<std::string>(
        "SELECT DISTINCT solver FROM session_solver WHERE session = :s ORDER BY solver",
        [&](const std::string& id) { known.push_back(id); }, loading.load.session);
    fail(ErrorCode::invalid_input, "session {} has no solver '{}', it has {}", loading.load.session, shown(one),
         join(known, ", "));
  }
}

void check_configurations(const Loading& loading) {
  const JobLoad& load = loading.load;
  if (!load.tag.empty()) check_tag(loading.sql, load.tag);
  if (loading.sql.number("SELECT count(*) FROM configuration") == 0)
    fail(ErrorCode::invalid_input,
         "the store has no configurations yet, run first: attune configs import -t TAG -f FILE");
  if (!load.only_applicable) return;
  const long long num_unknown = loading.sql.number(
      fmt::format("SELECT count(*) FROM configuration c WHERE {} AND EXISTS (SELECT 1 FROM session_solver v"
                  " WHERE v.session = :s1 AND v.op = c.op) AND NOT EXISTS"
                  " (SELECT 1 FROM applicability a WHERE a.session = :s AND a.configuration = c.id)",
                  kIsChosen),
      load.tag, load.tag, load.session, load.session);
  if (num_unknown > 0)
    fail(ErrorCode::invalid_input,
         "which solvers apply to {} is not known yet, run first: attune applicability update --session {}",
         counted(static_cast<size_t>(num_unknown), "configuration"), load.session);
}

/// The condition on a solver `v` of a session.
std::string condition_on_solver(const JobLoad& load) {
  std::string condition = "v.op = c.op";
  if (load.only_applicable)
    condition +=
        " AND EXISTS (SELECT 1 FROM applicability a WHERE a.session = v.session AND a.configuration = c.id"
        " AND a.solver = v.solver AND a.applicable = 1)";
  return condition;
}

/// The columns of a new job from a SELECT of `c`: {0} solver, {1} id of the job before it, {2} condition that it waits
/// for an open job.
constexpr const char* kNewJobs =
    "{3} job (session, configuration, step, solver, reason, state, class, detail, attempts, lease_token, lease_until,"
    " not_before, agent, requires) SELECT {4}, c.id, '{5}', {0}, :r, 'queued', '', '', 0, 0, 0,"
    " CASE WHEN {2} THEN {6} ELSE 0 END, '', {1} FROM configuration c";

std::string new_jobs(const Loading& loading, FleetStep step, const char* solver, const char* before,
                     const std::string& waits) {
  return fmt::format(fmt::runtime(kNewJobs), solver, before, waits, loading.sql.words().insert_new,
                     loading.load.session, name(step), kBlocked);
}

/// The job `b` of the step before, of the same configuration and solver.
std::string join_before(const Loading& loading, FleetStep step, const char* solver) {
  const auto before = step_before(step);
  return fmt::format(
      " LEFT JOIN job b{} ON b.session = {} AND b.configuration = c.id AND b.step = '{}' AND b.solver = {}",
      loading.sql.words().by_configuration, loading.load.session, before ? name(*before) : "", solver);
}

constexpr const char* kIsBeforeOpen = "b.state IN ('queued', 'leased')";

size_t load_solver_step(const Loading& loading, FleetStep step, const std::string& solver) {
  const JobLoad& load = loading.load;
  return loading.sql.run(
      fmt::format("{} JOIN session_solver v ON v.session = {} AND {}{} WHERE {} AND (:o1 = '' OR v.solver = :o2)"
                  " ORDER BY c.number, v.solver{}",
                  new_jobs(loading, step, "v.solver", "coalesce(b.id, -1)", kIsBeforeOpen), load.session,
                  condition_on_solver(load), join_before(loading, step, "v.solver"), kIsChosen,
                  loading.sql.words().or_nothing),
      load.reason, load.tag, load.tag, solver, solver);
}

/// A job of all solvers for each configuration that some solver of the session can do.
size_t load_find_step(const Loading& loading, FleetStep step) {
  const JobLoad& load = loading.load;
  return loading.sql.run(
      fmt::format("{}{} WHERE {} AND EXISTS (SELECT 1 FROM session_solver v WHERE v.session = {} AND {})"
                  " ORDER BY c.number{}",
                  new_jobs(loading, step, "''", "coalesce(b.id, -1)", kIsBeforeOpen), join_before(loading, step, "''"),
                  kIsChosen, load.session, condition_on_solver(load), loading.sql.words().or_nothing),
      load.reason, load.tag, load.tag);
}

/// A contest for each configuration that has perf_eval jobs.
size_t load_contests(const Loading& loading) {
  const JobLoad& load = loading.load;
  constexpr const char* kPerfJobs =
      "EXISTS (SELECT 1 FROM job e{} WHERE e.session = {} AND e.configuration = c.id AND e.step {}";
  const std::string waits =
      fmt::format(fmt::runtime(kPerfJobs), loading.sql.words().by_configuration, load.session,
                  "IN ('perf_compile', 'perf_eval') AND e.state NOT IN ('done', 'failed', 'excluded'))");
  return loading.sql.run(fmt::format("{} WHERE {} AND {} ORDER BY c.number{}",
                                     new_jobs(loading, FleetStep::perf_contest, "''", "-1", waits), kIsChosen,
                                     fmt::format(fmt::runtime(kPerfJobs), loading.sql.words().by_configuration,
                                                 load.session, "= 'perf_eval')"),
                                     loading.sql.words().or_nothing),
                         load.reason, load.tag, load.tag);
}

size_t load_step(const Loading& loading, FleetStep step) {
  const JobLoad& load = loading.load;
  if (step == FleetStep::find_compile || step == FleetStep::find_eval) return load_find_step(loading, step);
  size_t num_new = 0;
  if (load.solvers.empty()) num_new = load_solver_step(loading, step, "");
  for (const std::string& solver : load.solvers) num_new += load_solver_step(loading, step, solver);
  loading.sql.note_new_rows("job", num_new);
  return step == FleetStep::perf_eval ? num_new + load_contests(loading) : num_new;
}

/// Sets `not_before` of jobs by their ids.
void set_not_before(FleetSql& sql, const std::vector<long long>& ids, long long value, const char* rest = "",
                    const char* condition = " AND state = 'queued'") {
  constexpr size_t kMaxIds = 1000;
  for (size_t begin = 0; begin < ids.size(); begin += kMaxIds) {
    std::vector<std::string> texts;
    for (size_t i = begin; i < std::min(ids.size(), begin + kMaxIds); ++i) texts.push_back(std::to_string(ids[i]));
    sql.run(
        fmt::format("UPDATE job SET not_before = {}{} WHERE id IN ({}){}", value, rest, join(texts, ","), condition));
  }
}

std::vector<long long> ids_of(FleetSql& sql, const std::string& query, auto... values) {
  std::vector<long long> ids;
  sql.each<long long>(
      query, [&](long long id) { ids.push_back(id); }, values...);
  return ids;
}

/// Conditions on a job `j`.
std::string waits_for_step(const FleetSql& sql) {
  return fmt::format("EXISTS (SELECT 1 FROM job r{} WHERE r.id = j.requires AND r.state IN ('queued', 'leased'))",
                     sql.words().by_id);
}
std::string waits_for_contestants(const FleetSql& sql) {
  return fmt::format(
      "EXISTS (SELECT 1 FROM job o{} WHERE o.session = j.session AND o.configuration = j.configuration"
      " AND o.step IN ('perf_compile', 'perf_eval')"
      " AND o.state NOT IN ('done', 'failed', 'excluded'))",  // IN would choose SQLite's index by states.
      sql.words().by_configuration);
}
std::string is_free(const FleetSql& sql) {
  return fmt::format("(j.requires < 0 OR NOT {}) AND (j.step <> 'perf_contest' OR NOT {})", waits_for_step(sql),
                     waits_for_contestants(sql));
}

/// Opens contests again whose short lists will change. A held one does not know the new short list: without its lease,
/// its result is discarded.
void reopen_contests(FleetSql& sql, int64_t session) {
  const auto changed =
      ids_of(sql,
             fmt::format("SELECT j.id FROM job j WHERE j.session = :s AND j.step = 'perf_contest' AND NOT (j.state ="
                         " 'queued' AND j.not_before >= {}) AND {}",
                         kBlocked, waits_for_contestants(sql)),
             session);
  for (const long long id : changed)
    sql.run(fmt::format("UPDATE attempt SET ended = {}, class = :c, detail = 'its configuration has new jobs'"
                        " WHERE ended = 0 AND job = :j",
                        sql.words().now),
            name(Status::cancelled), id);
  set_not_before(sql, changed, kBlocked,
                 ", state = 'queued', attempts = 0, class = '', detail = '', agent = '', lease_until = 0", "");
}

}  // namespace

void check_tag(FleetSql& sql, const std::string& tag) {
  if (sql.number("SELECT count(*) FROM tag WHERE name = :n", tag) == 0)
    fail(ErrorCode::invalid_input,
         "no configuration has the tag '{0}', run first: attune configs import -t {0} -f FILE", shown(tag));
}

size_t load_jobs_into(FleetSql& sql, const JobLoad& load) {
  const Loading loading{sql, load};
  check_configurations(loading);
  check_steps(loading);
  check_solvers(loading);
  std::vector<FleetStep> steps = load.steps;
  std::ranges::sort(steps);  // A compile step comes first: its jobs' ids are needed.
  steps.erase(std::ranges::unique(steps).begin(), steps.end());
  const long long last = sql.number("SELECT coalesce(max(id), 0) FROM job");
  size_t num_new = 0;
  for (const FleetStep step : steps) {
    const size_t count = load_step(loading, step);
    sql.note_new_rows("job", count);
    num_new += count;
  }
  if (num_new > 0) forget_wants(sql, load.session, "j.id > :n", last);
  settle_jobs(sql, load.session);
  return num_new;
}

void settle_jobs(FleetSql& sql, int64_t session) {
  reopen_contests(sql, session);
  set_not_before(sql,
                 ids_of(sql,
                        fmt::format("SELECT j.id FROM job j WHERE j.session = :s AND j.state = 'queued'"
                                    " AND j.not_before < {} AND j.requires >= 0 AND {}",
                                    kBlocked, waits_for_step(sql)),
                        session),
                 kBlocked);
  set_not_before(sql,
                 ids_of(sql,
                        fmt::format("SELECT j.id FROM job j WHERE j.session = :s AND j.state = 'queued'"
                                    " AND j.not_before >= {} AND {}",
                                    kBlocked, is_free(sql)),
                        session),
                 0);
}

void free_blocked(FleetSql& sql, int64_t session, const std::string& configuration) {
  // NOT IN, because = would choose SQLite's index by states.
  const std::string waiting = fmt::format(
      "j.session = :s AND j.configuration = :c AND j.state NOT IN ('leased', 'done', 'failed', 'excluded')"
      " AND j.not_before >= {}",
      kBlocked);
  if (ids_of(sql, fmt::format("SELECT j.id FROM job j WHERE {} ORDER BY j.id{}", waiting, sql.words().for_update),
             session, configuration)
          .empty())
    return;
  set_not_before(
      sql,
      ids_of(sql, fmt::format("SELECT j.id FROM job j WHERE {} AND {}", waiting, is_free(sql)), session, configuration),
      0);
}

std::string storable(std::string_view text) {
  constexpr size_t kMaxBytes = 4000;
  std::string found;
  while (!text.empty() && found.size() < kMaxBytes) {
    const size_t length = utf8_length(text);
    found += length == 0 || text.front() == '\0' ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return text.empty() ? found : found + "…";
}

}  // namespace attune
