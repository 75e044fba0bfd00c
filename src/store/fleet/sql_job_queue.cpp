// SPDX-License-Identifier: MIT
#include "store/fleet/sql_job_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/entry_json.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/job_loading.h"
#include "store/fleet/kernels/hex_bytes.h"
#include "store/fleet/kernels/wanted_kernels.h"

namespace attune {
namespace {

constexpr long long kLeaseMs = static_cast<long long>(kLeaseS) * 1000;
constexpr long long kRetryDelayMs = 30'000;
constexpr int kMaxRenewWaitMs = 2000;
constexpr double kExpiryLookS = 5;

/// The steps of a filter, in which contests come first: configurations are then decided early.
std::vector<FleetStep> claim_order(const std::vector<FleetStep>& steps) {
  std::vector<FleetStep> all = steps;
  if (std::ranges::find(all, FleetStep::perf_eval) != all.end()) all.insert(all.begin(), FleetStep::perf_contest);
  return all;
}

/// The same as a list of SQL texts. They are names of this program, not a user's.
std::string list_of(const std::vector<FleetStep>& steps) {
  std::string list;
  for (const FleetStep step : claim_order(steps)) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", name(step));
  return list.empty() ? "''" : list;
}

/// Databases treat NaN and infinities differently.
double finite_or_0(double value) { return std::isfinite(value) ? value : 0; }

/// A renewal is repeated soon and must not delay measurements.
class ShortWait {
 public:
  explicit ShortWait(FleetConnection& connection)
      : connection_(connection), before_ms_(connection.limit_wait(kMaxRenewWaitMs)) {}
  ~ShortWait() { connection_.limit_wait(before_ms_); }
  ShortWait(const ShortWait&) = delete;
  ShortWait& operator=(const ShortWait&) = delete;

 private:
  FleetConnection& connection_;
  int before_ms_;
};

using Leases = std::vector<std::pair<long long, long long>>;  ///< By job and token.

class SqlJobQueue final : public JobQueue {
 public:
  SqlJobQueue(const StoreAddress& address, int max_wait_ms) : sql_(address, max_wait_ms) {}

  std::vector<ClaimedJob> claim(const ClaimFilter& filter, size_t max_count) override {
    const Lock lock(mutex_);
    std::vector<ClaimedJob> claimed;
    if (found_nothing_ && doubtful_.empty() && !has_work(filter)) return claimed;
    found_nothing_ = false;
    const double now_s = steady_clock().now_s();
    bool looks_for_expired = now_s >= next_look_s_;
    for (;;) {
      const Leases expired = looks_for_expired ? expired_leases(filter.session) : Leases();
      sql_.transaction([&] {
        give_back_doubtful(filter.agent);
        claimed.clear();
        queue_again(filter.session, expired, "its agent did not renew the lease",
                    fmt::format(" AND lease_until < {}", sql_.words().now));
        for (const FleetStep step : claim_order(filter.steps)) claim_step(filter, step, max_count, claimed);
        std::ranges::sort(claimed, {}, &ClaimedJob::id);  // RETURNING has no order.
        if (!claimed.empty()) begin_attempts(filter, claimed);
        doubtful_.insert(doubtful_.end(), claimed.begin(), claimed.end());
      });
      doubtful_.clear();
      if (looks_for_expired) next_look_s_ = now_s + kExpiryLookS;
      // An agent without a job looks for expired leases each time.
      found_nothing_ = claimed.empty();
      if (!found_nothing_ || std::exchange(looks_for_expired, true)) return claimed;
    }
  }

  std::vector<int64_t> renew(const std::vector<ClaimedJob>& jobs) override {
    const Lock lock(mutex_);
    std::vector<int64_t> gone;
    const ShortWait wait(sql_.connection());
    sql_.transaction([&] {
      gone.clear();
      for (const ClaimedJob& job : jobs) {
        const size_t renewed =
            may_finish(job.session)
                ? sql_.run(fmt::format("UPDATE job SET lease_until = {} + :l WHERE id = :i AND state = 'leased'"
                                       " AND lease_token = :t",
                                       sql_.words().now),
                           kLeaseMs, job.id, job.token)
                : 0;
        if (renewed == 0) gone.push_back(job.id);
      }
    });
    return gone;
  }

  bool commit(const ClaimedJob& job, const JobOutcome& outcome) override {
    const Lock lock(mutex_);
    bool is_stored = false;
    sql_.transaction([&] {
      is_stored = holds(job);
      if (!is_stored) {
        is_stored = has_ended(job, name(outcome.status));  // By a commit whose answer was lost.
        if (!is_stored) discard(job);
        return;
      }
      end_attempt(job, name(outcome.status), storable(outcome.detail));
      if (outcome.status != Status::ok) return fail_job(job, outcome);
      set_state(job, "done", "", "", 0, 0);
      store_results(job, outcome);
    });
    return is_stored;
  }

  void release(const std::vector<ClaimedJob>& jobs) override {
    const Lock lock(mutex_);
    sql_.transaction([&] {
      for (const ClaimedJob& job : jobs) {
        if (holds(job)) give_back(job, "released");
      }
    });
  }

  Deferral defer(const ClaimedJob& job, const std::vector<WantedCandidate>& wanted,
                 const std::vector<ShortListRow>& so_far) override {
    const Lock lock(mutex_);
    Deferral deferral = Deferral::lost;
    sql_.transaction([&] {
      deferral = Deferral::lost;
      if (!holds(job)) return discard(job);
      const size_t num_new = want_kernels(sql_, job, wanted);
      deferral = num_new == 0 ? Deferral::pointless : Deferral::deferred;
      if (num_new == 0) return;
      const std::string why = counted(num_new, "kernel") + " must be compiled first";
      end_attempt(job, name(Status::cancelled), why);
      sql_.run(
          "UPDATE job SET state = 'queued', class = '', detail = :d, not_before = :b, lease_until = 0, agent = ''"
          " WHERE id = :i",
          why, kBlocked, job.id);
      if (job.step == FleetStep::perf_eval && !so_far.empty()) store_short_list(job, so_far);
    });
    return deferral;
  }

  std::map<int64_t, std::vector<WantedCandidate>> wanted(const std::vector<ClaimedJob>& jobs) override {
    const Lock lock(mutex_);
    return wanted_kernels(sql_, jobs);
  }

  BareSearches bare_searches(int64_t session) override {
    const Lock lock(mutex_);
    const long long found = sql_.number(
        fmt::format("SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM event a WHERE a.session = :s1"
                    " AND a.kind = 'lacks_compiler') THEN 0 WHEN EXISTS (SELECT 1 FROM job l JOIN event e"
                    " ON e.session = l.session AND e.agent = l.agent WHERE l.session = :s2 AND l.lease_until > 0"
                    " AND l.state = 'leased' AND e.kind = 'lacks_compiler') THEN 2 WHEN EXISTS (SELECT 1 FROM job j"
                    " WHERE j.session = :s3 AND j.step IN ({}) AND j.state = 'queued' AND j.not_before <= {})"
                    " THEN 1 ELSE 0 END",
                    list_of({FleetStep::perf_eval}), sql_.words().now),
        session, session, session);
    return found == 2 ? BareSearches::running : found == 1 ? BareSearches::waiting : BareSearches::none;
  }

  size_t end_leases(int64_t session, const std::function<bool(const std::string&)>& has_ended) override {
    const Lock lock(mutex_);
    Leases ended;
    sql_.each<long long, long long, std::string>(
        "SELECT id, lease_token, agent FROM job WHERE session = :s AND lease_until > 0 AND state = 'leased'",
        [&](long long id, long long token, const std::string& agent) {
          if (has_ended(agent)) ended.emplace_back(id, token);
        },
        session);
    if (ended.empty()) return 0;
    size_t num_ended = 0;
    sql_.transaction([&] { num_ended = queue_again(session, ended, "its agent has ended"); });
    return num_ended;
  }

  JobCounts counts(const ClaimFilter& filter) override {
    const Lock lock(mutex_);
    JobCounts counts;
    const std::string chosen = fmt::format("j.session = :s AND j.step IN ({})", list_of(filter.steps));
    sql_.each<std::string, long long, long long>(
        fmt::format(
            "SELECT j.state, count(*), sum(CASE WHEN j.state = 'queued' AND j.not_before >= {} THEN 1 ELSE 0 END)"
            " FROM job j WHERE {} GROUP BY j.state",
            kBlocked, chosen),
        [&](const std::string& state, long long count, long long num_blocked) {
          const std::pair<JobState, size_t*> members[] = {{JobState::queued, &counts.queued},
                                                          {JobState::leased, &counts.leased},
                                                          {JobState::done, &counts.done},
                                                          {JobState::failed, &counts.failed},
                                                          {JobState::excluded, &counts.excluded}};
          for (const auto& [one, member] : members) {
            if (name(one) == state) *member = static_cast<size_t>(count);
          }
          counts.blocked += static_cast<size_t>(num_blocked);
        },
        filter.session);
    return counts;
  }

  std::vector<ShortListRow> short_lists(int64_t session, const std::string& configuration) override {
    const Lock lock(mutex_);
    std::vector<ShortListRow> rows;
    sql_.each<std::string, std::string, double, long long>(
        "SELECT solver, candidate, median_us, workspace FROM shortlist WHERE session = :s AND configuration = :c"
        " ORDER BY solver, ordinal",
        [&](const std::string& solver, const std::string& candidate, double us, long long workspace) {
          rows.push_back({solver, Candidate::parse(candidate), us, static_cast<uint64_t>(workspace)});
        },
        session, configuration);
    return rows;
  }

 private:
  void claim_step(const ClaimFilter& filter, FleetStep step, size_t max_count, std::vector<ClaimedJob>& claimed) {
    if (claimed.size() >= max_count) return;
    const LeaseRequest request{.session = filter.session,
                               .step = step,
                               .agent = filter.agent,
                               .max_count = max_count - claimed.size(),
                               .lease_ms = kLeaseMs};
    for (LeasedJob& one : sql_.dialect().lease(sql_, request, cursor_))
      claimed.push_back({.id = one.id,
                         .session = filter.session,
                         .step = step,
                         .configuration = std::move(one.configuration),
                         .problem = {},
                         .solver = std::move(one.solver),
                         .token = one.token,
                         .attempt = static_cast<int>(one.attempts) + 1});
  }

  /// Reads the jobs' problems and adds their attempts.
  void begin_attempts(const ClaimFilter& filter, std::vector<ClaimedJob>& claimed) {
    std::vector<std::string> ids;
    std::vector<std::vector<std::string>> rows;
    for (const ClaimedJob& job : claimed) {
      ids.push_back("'" + job.configuration + "'");  // Hexadecimal digits.
      rows.push_back({std::to_string(job.id), std::to_string(job.token), filter.agent});
    }
    std::map<std::string, std::string> problems;
    sql_.each<std::string, std::string>(
        fmt::format("SELECT id, problem FROM configuration WHERE id IN ({})", join(ids, ",")),
        [&](const std::string& id, const std::string& problem) { problems.emplace(id, problem); });
    for (ClaimedJob& job : claimed) job.problem = problems[job.configuration];
    sql_.insert("INSERT INTO attempt (job, token, agent, began, ended, class, detail)",
                fmt::format("(?, ?, ?, {}, 0, '', '')", sql_.words().now), "", rows);
  }

  /// Without this, jobs whose claim was committed and whose answer was lost would wait for the end of their leases.
  void give_back_doubtful(const std::string& agent) {
    for (const ClaimedJob& job : doubtful_) {
      if (sql_.number("SELECT count(*) FROM job WHERE id = :i AND lease_token = :t AND agent = :a"
                      " AND state = 'leased'",
                      job.id, job.token, agent) == 1)
        give_back(job, "the answer to the claim was lost");
    }
  }

  void give_back(const ClaimedJob& job, const std::string& why) {
    end_attempt(job, name(Status::cancelled), why);
    set_state(job, "queued", "", "", 0, 0);
  }

  bool has_state(int64_t session, const char* condition) {
    return sql_.number(fmt::format("SELECT count(*) FROM tuning_session WHERE id = :s AND state {}", condition),
                       session) == 1;
  }
  /// A closed session gives out no jobs, but takes the results of held ones.
  bool may_finish(int64_t session) { return has_state(session, "<> 'aborted'"); }

  bool holds(const ClaimedJob& job) {
    return may_finish(job.session) &&
           sql_.number(fmt::format("SELECT id FROM job WHERE id = :i AND state = 'leased' AND lease_token = :t{}",
                                   sql_.words().for_update),
                       job.id, job.token) == job.id;
  }

  bool has_ended(const ClaimedJob& job, std::string_view outcome) {
    return sql_.number("SELECT count(*) FROM attempt WHERE job = :j AND token = :t AND ended > 0 AND class = :c",
                       job.id, job.token, outcome) == 1;
  }

  /// Reads without locks: else each of many agents that look would wait for the claims of the others.
  Leases expired_leases(int64_t session) {
    Leases expired;
    sql_.each<long long, long long>(
        fmt::format("SELECT id, lease_token FROM job WHERE session = :s AND lease_until > 0 AND lease_until < {}"
                    " AND state = 'leased' ORDER BY id",
                    sql_.words().now),
        [&](long long id, long long token) { expired.emplace_back(id, token); }, session);
    return expired;
  }

  /// Whether a job may be claimed or a lease has expired: one query, for agents that wait.
  bool has_work(const ClaimFilter& filter) {
    const auto now = sql_.words().now;
    return sql_.number(
               fmt::format("SELECT CASE WHEN EXISTS (SELECT 1 FROM job j WHERE j.session = :s AND j.step IN ({})"
                           " AND j.state = 'queued' AND j.not_before <= {}) OR EXISTS (SELECT 1 FROM job l"
                           " WHERE l.session = :s2 AND l.lease_until > 0 AND l.lease_until < {}"
                           " AND l.state = 'leased') THEN 1 ELSE 0 END",
                           list_of(filter.steps), now, now),
               filter.session, filter.session) != 0;
  }

  /// Ends leases that are still there and meet a condition, without an attempt. Returns how many.
  size_t queue_again(int64_t session, const Leases& leases, const std::string& why, const std::string& condition = "") {
    size_t num_ended = 0;
    for (const auto& [id, token] : leases) {
      if (sql_.run("UPDATE job SET state = 'queued', agent = '', lease_until = 0, not_before = 0 WHERE id = :i"
                   " AND lease_token = :t AND state = 'leased'" +
                       condition,
                   id, token) == 0)
        continue;
      ++num_ended;
      sql_.run(fmt::format("UPDATE attempt SET ended = {}, class = 'node_lost', detail = :d"
                           " WHERE job = :j AND token = :t",
                           sql_.words().now),
               why, id, token);
      add_event(session, id, "", "lease_expired", why);
    }
    return num_ended;
  }

  void add_event(int64_t session, int64_t job, const std::string& agent, const std::string& kind,
                 const std::string& text) {
    sql_.run(fmt::format("INSERT INTO event (at, session, job, agent, kind, text) VALUES ({}, :s, :j, :a, :k, :t)",
                         sql_.words().now),
             session, job, agent, kind, text);
  }

  void discard(const ClaimedJob& job) {
    std::string agent;
    sql_.each<std::string>(
        "SELECT agent FROM attempt WHERE job = :j AND token = :t", [&](const std::string& one) { agent = one; }, job.id,
        job.token);
    add_event(job.session, job.id, agent, "late_result",
              fmt::format("a result came after its lease (token {}) had ended and was discarded", job.token));
  }

  void end_attempt(const ClaimedJob& job, std::string_view outcome, const std::string& detail) {
    sql_.run(fmt::format("UPDATE attempt SET ended = {}, class = :c, detail = :d WHERE job = :j AND token = :t",
                         sql_.words().now),
             outcome, detail, job.id, job.token);
  }

  void set_state(const ClaimedJob& job, std::string_view state, std::string_view failure, const std::string& detail,
                 int counted, long long delay_ms) {
    const std::string not_before = state != name(JobState::queued) ? std::to_string(kEnded)
                                   : delay_ms > 0                  ? fmt::format("{} + {}", sql_.words().now, delay_ms)
                                                                   : "0";
    sql_.run(fmt::format("UPDATE job SET state = :s, class = :c, detail = :d, attempts = attempts + {},"
                         " not_before = {}, lease_until = 0, agent = '' WHERE id = :i",
                         counted, not_before),
             state, failure, storable(detail), job.id);
    if (state != name(JobState::queued)) free_blocked(sql_, job.session, job.configuration);
  }

  void fail_job(const ClaimedJob& job, const JobOutcome& outcome) {
    const std::string_view failure = name(outcome.status);
    if (!counts_as_attempt(outcome.status)) return set_state(job, "queued", failure, outcome.detail, 0, 0);
    if (outcome.status == Status::unsupported) return set_state(job, "excluded", failure, outcome.detail, 1, 0);
    if (!may_be_retried(outcome.status)) return set_state(job, "failed", failure, outcome.detail, 1, 0);
    const long long attempts = 1 + sql_.number("SELECT attempts FROM job WHERE id = :i", job.id);
    const bool is_last = attempts >= kMaxAttempts;
    set_state(job, is_last ? "excluded" : "queued", failure, outcome.detail, 1, is_last ? 0 : kRetryDelayMs);
  }

  void store_results(const ClaimedJob& job, const JobOutcome& outcome) {
    if (job.step == FleetStep::perf_eval) store_short_list(job, outcome.short_list);
    sql_.run("DELETE FROM result WHERE job = :j", job.id);
    sql_.run("DELETE FROM kernel WHERE job = :j", job.id);
    long long ordinal = 0;
    for (const ShortListRow& row : outcome.finalists)
      sql_.run(
          "INSERT INTO result (job, ordinal, solver, candidate, median_us, workspace)"
          " VALUES (:j, :o, :s, :c, :u, :w)",
          job.id, ordinal++, row.solver, row.candidate.name(), finite_or_0(row.us), row.workspace_bytes);
    for (const FleetKernel& kernel : outcome.kernels) store_kernel(job, kernel);
    if (outcome.decision) store_decision(job, *outcome.decision);
  }

  void store_short_list(const ClaimedJob& job, const std::vector<ShortListRow>& rows) {
    sql_.run("DELETE FROM shortlist WHERE session = :s AND configuration = :c AND solver = :o", job.session,
             job.configuration, job.solver);
    long long ordinal = 0;
    for (const ShortListRow& row : rows)
      sql_.run(
          "INSERT INTO shortlist (session, configuration, solver, ordinal, candidate, median_us, workspace)"
          " VALUES (:s, :c, :o, :n, :a, :u, :w)",
          job.session, job.configuration, job.solver, ordinal++, row.candidate.name(), finite_or_0(row.us),
          row.workspace_bytes);
  }

  void store_kernel(const ClaimedJob& job, const FleetKernel& kernel) {
    const std::string digest = sha256(kernel.bytes);
    const auto& words = sql_.words();
    // As digits in the statement: SOCI has no blobs of MariaDB.
    if (sql_.number("SELECT count(*) FROM kernel_bytes WHERE sha256 = :d", digest) == 0)
      sql_.run(fmt::format("{} kernel_bytes (sha256, size, bytes) VALUES (:d, :s, {}){}", words.insert_new,
                           fmt::format(fmt::runtime(words.bytes), hex_of_bytes(kernel.bytes)), words.or_nothing),
               digest, kernel.bytes.size());
    // Solvers may share one.
    sql_.run(fmt::format("{} kernel (job, name, arguments, sha256) VALUES (:j, :n, :a, :d){}", words.insert_new,
                         words.or_nothing),
             job.id, kernel.name, kernel.arguments, digest);
  }

  /// A decision of a search is not replaced by one without.
  void store_decision(const ClaimedJob& job, const Decision& decision) {
    if (job.step == FleetStep::find_eval &&
        sql_.number("SELECT count(*) FROM decision d JOIN job j ON j.id = d.job WHERE d.session = :s"
                    " AND d.configuration = :c AND j.step = 'perf_contest'",
                    job.session, job.configuration) > 0)
      return;
    sql_.run("DELETE FROM decision WHERE session = :s AND configuration = :c", job.session, job.configuration);
    sql_.run(fmt::format("INSERT INTO decision (session, configuration, job, decided_at, winner, baseline, ratio,"
                         " verdict, payload) VALUES (:s, :c, :j, {}, :w, :b, :r, :v, :p)",
                         sql_.words().now),
             job.session, job.configuration, job.id, decision.winner.name(), decision.baseline.name(),
             finite_or_0(decision.comparison.ratio), name(decision.verdict), entry_to_json(Entry(decision)));
  }

  Mutex mutex_;
  FleetSql sql_;  ///< Used while mutex_ is held, as all below.
  LeaseCursor cursor_;
  double next_look_s_ = 0;      ///< For expired leases.
  bool found_nothing_ = false;  ///< By the last claim.
  /// Jobs of claims whose answers were lost: the agent may hold them.
  std::vector<ClaimedJob> doubtful_;
};

}  // namespace

std::unique_ptr<JobQueue> open_sql_job_queue(const StoreAddress& address, int max_wait_ms) {
  return std::make_unique<SqlJobQueue>(address, max_wait_ms);
}

}  // namespace attune
