// SPDX-License-Identifier: MIT
#include "store/fleet/job_loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "store/fleet/fleet_dialect.h"

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

constexpr const char* kInsert =
    "INSERT INTO job (session, configuration, step, solver, reason, state, class, detail, attempts, lease_token,"
    " lease_until, not_before, agent, requires) SELECT :s, c.id, :t, {0}, :r, 'queued', '', '', 0, 0, 0, 0,"
    " '', coalesce((SELECT b.id FROM job b WHERE b.session = :s2 AND b.configuration = c.id AND b.step = :b"
    " AND b.solver = {0}), -1) FROM configuration c";

size_t load_solver_step(const Loading& loading, FleetStep step, const std::string& solver) {
  const JobLoad& load = loading.load;
  const auto before = step_before(step);
  return loading.sql.run(
      fmt::format(fmt::runtime(std::string(kInsert) + " JOIN session_solver v ON v.session = :s3 AND {1} WHERE {2}"
                                                      " AND (:o1 = '' OR v.solver = :o2) ORDER BY c.number, v.solver"
                                                      " ON CONFLICT (session, configuration, step, solver) DO NOTHING"),
                  "v.solver", condition_on_solver(load), kIsChosen),
      load.session, name(step), load.reason, load.session, before ? name(*before) : "", load.session, load.tag,
      load.tag, solver, solver);
}

/// A job for each configuration that meets `condition`, with one value: the session.
size_t load_configuration_step(const Loading& loading, FleetStep step, const std::string& condition) {
  const JobLoad& load = loading.load;
  const auto before = step_before(step);
  return loading.sql.run(
      fmt::format(fmt::runtime(std::string(kInsert) + " WHERE {1} AND EXISTS ({2}) ORDER BY c.number"
                                                      " ON CONFLICT (session, configuration, step, solver) DO NOTHING"),
                  "''", kIsChosen, condition),
      load.session, name(step), load.reason, load.session, before ? name(*before) : "", load.tag, load.tag,
      load.session);
}

size_t load_step(const Loading& loading, FleetStep step) {
  const JobLoad& load = loading.load;
  if (step == FleetStep::find_compile || step == FleetStep::find_eval)
    return load_configuration_step(
        loading, step, "SELECT 1 FROM session_solver v WHERE v.session = :own AND " + condition_on_solver(load));
  size_t num_new = 0;
  if (load.solvers.empty()) num_new = load_solver_step(loading, step, "");
  for (const std::string& solver : load.solvers) num_new += load_solver_step(loading, step, solver);
  if (step != FleetStep::perf_eval) return num_new;
  if (num_new > 0) {
    std::vector<std::string> changed;
    loading.sql.each<std::string>(
        "SELECT DISTINCT j.configuration FROM job j JOIN job k ON k.session = j.session"
        " AND k.configuration = j.configuration AND k.step = 'perf_contest' AND k.state <> 'queued'"
        " WHERE j.session = :s AND j.step = 'perf_eval' AND j.state = 'queued'",
        [&](const std::string& one) { changed.push_back(one); }, load.session);
    for (const std::string& one : changed) reopen_contest(loading.sql, load.session, one);
  }
  return num_new + load_configuration_step(loading, FleetStep::perf_contest,
                                           "SELECT 1 FROM job e WHERE e.session = :own AND e.configuration = c.id"
                                           " AND e.step = 'perf_eval'");
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
  size_t num_new = 0;
  for (const FleetStep step : steps) num_new += load_step(loading, step);
  if (num_new > 0) update_blocked(sql, load.session);
  return num_new;
}

void update_blocked(FleetSql& sql, int64_t session) {
  sql.run(fmt::format("UPDATE job AS j SET not_before = CASE WHEN {0} THEN 0 ELSE {1} END WHERE j.session = :s"
                      " AND j.state = 'queued' AND (j.requires >= 0 OR j.step = 'perf_contest')"
                      " AND j.not_before IN (0, {1})",
                      kIsUnblocked, kBlocked),
          session);
}

void free_blocked(FleetSql& sql, int64_t session, const std::string& configuration) {
  // NOT IN, because = would choose the index by states.
  sql.run(fmt::format("UPDATE job AS j SET not_before = 0 WHERE j.session = :s AND j.configuration = :c"
                      " AND j.state NOT IN ('leased', 'done', 'failed', 'excluded') AND j.not_before >= {} AND {}",
                      kBlocked, kIsUnblocked),
          session, configuration);
}

void reopen_contest(FleetSql& sql, int64_t session, const std::string& configuration) {
  // A held contest does not know the new short list: without its lease, its result is discarded.
  sql.run(fmt::format("UPDATE attempt SET ended = {}, class = :c, detail = 'its configuration has new jobs'"
                      " WHERE ended = 0 AND job IN (SELECT id FROM job WHERE session = :s AND configuration = :n"
                      " AND step = 'perf_contest' AND state = 'leased')",
                      fleet_dialect::kNow),
          name(Status::cancelled), session, configuration);
  sql.run(
      "UPDATE job SET state = 'queued', attempts = 0, not_before = 0, class = '', detail = '', agent = '',"
      " lease_until = 0 WHERE session = :s AND configuration = :c AND step = 'perf_contest' AND state <> 'queued'",
      session, configuration);
}

}  // namespace attune
