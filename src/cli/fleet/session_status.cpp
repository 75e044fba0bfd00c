// SPDX-License-Identifier: MIT
#include "cli/fleet/session_status.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/line_output.h"
#include "base/text.h"
#include "cli/fleet/store_commands.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct SessionProgress {
  FleetSession session;
  std::map<FleetStep, JobCounts> steps;
  std::map<std::string, size_t> failures;  ///< Failed and excluded jobs by class.
  SessionRate rate;
  std::vector<std::string> waits;  ///< Why jobs do not proceed, with the command that helps.
  size_t num_left = 0;
};

void add_group(JobCounts& counts, const JobGroup& group) {
  switch (group.state) {
    case JobState::queued:
      counts.queued += group.count;
      break;
    case JobState::leased:
      counts.leased += group.count;
      break;
    case JobState::done:
      counts.done += group.count;
      break;
    case JobState::failed:
      counts.failed += group.count;
      break;
    case JobState::excluded:
      counts.excluded += group.count;
      break;
  }
}

std::vector<std::string> waits_of(FleetStore& store, SessionProgress& progress) {
  const int64_t id = progress.session.id;
  std::vector<std::string> waits;
  if (progress.num_left == 0) return waits;
  if (progress.session.state != name(SessionState::open))
    waits.push_back(fmt::format("session {} is {}: agents get none of its jobs", id, progress.session.state));
  for (const auto& [step, before] : {std::pair(FleetStep::perf_eval, FleetStep::perf_compile),
                                     std::pair(FleetStep::find_eval, FleetStep::find_compile)}) {
    const JobCounts counts = store.queue().counts({.session = id, .steps = {step}, .agent = {}});
    if (counts.blocked == 0) continue;
    const JobCounts& first = progress.steps[before];
    if (first.queued + first.leased == 0) continue;
    waits.push_back(fmt::format("{} of {} wait for {}: attune fleet run --session {} --steps {}",
                                counted(counts.blocked, "job"), name(step), name(before), id, name(before)));
  }
  size_t num_expired = 0;
  store.visit_jobs({.session = id, .tag = {}, .failure = {}, .state = JobState::leased},
                   [&](const JobRow& row) { num_expired += row.lease_left_s < 0 ? 1 : 0; });
  if (num_expired > 0)
    waits.push_back(fmt::format("{} held by an agent that is gone: the next agent takes over",
                                num_expired == 1 ? "1 job is" : fmt::format("{} jobs are", num_expired)));
  return waits;
}

SessionProgress progress_of(FleetStore& store, int64_t session) {
  SessionProgress progress{.session = store.session(session), .steps = {}, .failures = {}, .rate = {}, .waits = {}};
  for (const JobGroup& group : store.job_groups(session)) {
    add_group(progress.steps[group.step], group);
    if (group.state == JobState::failed || group.state == JobState::excluded)
      progress.failures[group.failure] += group.count;
    if (group.state == JobState::queued || group.state == JobState::leased) progress.num_left += group.count;
  }
  progress.rate = store.rate(session);
  progress.waits = waits_of(store, progress);
  return progress;
}

/// Seconds until nothing is left, at the rate of the last ten minutes.
std::optional<double> seconds_left(const SessionProgress& progress) {
  const SessionRate& rate = progress.rate;
  if (rate.num_ended == 0 || rate.over_s <= 0) return std::nullopt;
  return static_cast<double>(progress.num_left) * rate.over_s / static_cast<double>(rate.num_ended);
}

ordered_json json_of_progress(const SessionProgress& progress) {
  ordered_json steps = ordered_json::object();
  for (const auto& [step, counts] : progress.steps)
    steps[std::string(name(step))] = {{"queued", counts.queued},
                                      {"leased", counts.leased},
                                      {"done", counts.done},
                                      {"failed", counts.failed},
                                      {"excluded", counts.excluded}};
  const auto left_s = seconds_left(progress);
  return {{"session", progress.session.id},
          {"state", progress.session.state},
          {"reason", progress.session.reason},
          {"imported_from", progress.session.custody.source},
          {"steps", steps},
          {"left", progress.num_left},
          {"jobs_per_minute",
           progress.rate.over_s > 0 ? 60 * static_cast<double>(progress.rate.num_ended) / progress.rate.over_s : 0.0},
          {"left_s", left_s ? ordered_json(*left_s) : ordered_json()},
          {"failures", progress.failures},
          {"lost_leases", progress.rate.num_lost},
          {"discarded_results", progress.rate.num_discarded},
          {"waits", progress.waits}};
}

void print_progress(const SessionProgress& progress) {
  print_line(stdout,
             fmt::format("session {} ({}): {}", progress.session.id, progress.session.state, progress.session.reason));
  if (const std::string& source = progress.session.custody.source; !source.empty()) {
    print_line(stdout, fmt::format("its results are imported from {}, `attune configs show` lists them; tune its "
                                   "configurations with: attune session init --retune-stale -l REASON",
                                   source));
    return;
  }
  if (progress.steps.empty())
    print_line(stdout, fmt::format("it has no jobs, load some with: attune jobs load --session {} -t TAG --steps "
                                   "perf_compile,perf_eval -l REASON",
                                   progress.session.id));
  else
    print_line(stdout, "step          queued  leased    done  failed  excluded");
  for (const auto& [step, counts] : progress.steps)
    print_line(stdout, fmt::format("{:<12}  {:>6}  {:>6}  {:>6}  {:>6}  {:>8}", name(step), counts.queued,
                                   counts.leased, counts.done, counts.failed, counts.excluded));
  if (const auto left_s = seconds_left(progress); left_s && progress.num_left > 0)
    print_line(stdout, fmt::format("{} in the last {}, about {} left", counted(progress.rate.num_ended, "job"),
                                   format_duration(progress.rate.over_s), format_duration(*left_s)));
  for (const auto& [failure, count] : progress.failures)
    print_line(stdout, fmt::format("{} {}: attune jobs list --session {} --class {}", count, failure,
                                   progress.session.id, failure));
  if (progress.rate.num_lost > 0)
    print_line(stdout, fmt::format("{} lost, {} discarded", counted(progress.rate.num_lost, "lease"),
                                   counted(progress.rate.num_discarded, "late result")));
  for (const std::string& wait : progress.waits) print_line(stdout, wait);
}

}  // namespace

ordered_json session_status_json(FleetStore& store, int64_t session) {
  return json_of_progress(progress_of(store, session));
}

void print_session_status(FleetStore& store, int64_t session) { print_progress(progress_of(store, session)); }

int run_session_status(int64_t session, bool json) {
  const auto store = existing_fleet_store();
  if (json)
    print_json(session_status_json(*store, session));
  else
    print_session_status(*store, session);
  return 0;
}

}  // namespace attune
