// SPDX-License-Identifier: MIT
#include "store/fleet/sql_job_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/sha256.h"
#include "store/entry_json.h"
#include "store/fleet/fleet_dialect.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/job_loading.h"

namespace attune {
namespace {

using fleet_dialect::kNow;

constexpr long long kLeaseMs = static_cast<long long>(kLeaseS) * 1000;
constexpr long long kRetryDelayMs = 30'000;
constexpr int kMaxRenewWaitMs = 2000;

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
  explicit ShortWait(SqlConnection& connection)
      : connection_(connection), before_ms_(connection.limit_wait(kMaxRenewWaitMs)) {}
  ~ShortWait() { connection_.limit_wait(before_ms_); }
  ShortWait(const ShortWait&) = delete;
  ShortWait& operator=(const ShortWait&) = delete;

 private:
  SqlConnection& connection_;
  int before_ms_;
};

class SqlJobQueue final : public JobQueue {
 public:
  SqlJobQueue(const std::filesystem::path& file, int max_wait_ms) : sql_(file, max_wait_ms) {}

  std::vector<ClaimedJob> claim(const ClaimFilter& filter, size_t max_count) override {
    const Lock lock(mutex_);
    std::vector<ClaimedJob> claimed;
    sql_.transaction([&] {
      claimed.clear();
      end_expired_leases(filter.session);
      if (!has_state(filter.session, "= 'open'")) return;
      for (const FleetStep step : claim_order(filter.steps)) claim_step(filter, step, max_count, claimed);
      std::ranges::sort(claimed, {}, &ClaimedJob::id);  // RETURNING has no order.
      for (ClaimedJob& job : claimed) {
        sql_.each<std::string>(
            "SELECT problem FROM configuration WHERE id = :c",
            [&](const std::string& problem) { job.problem = problem; }, job.configuration);
        sql_.run(fmt::format("INSERT INTO attempt (job, token, agent, began, ended, class, detail)"
                             " VALUES (:j, :t, :a, {}, 0, '', '')",
                             kNow),
                 job.id, job.token, filter.agent);
      }
    });
    return claimed;
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
                                       kNow),
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
      if (!is_stored) return discard(job);
      end_attempt(job, name(outcome.status), outcome.detail);
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
        if (!holds(job)) continue;
        end_attempt(job, name(Status::cancelled), "released");
        set_state(job, "queued", "", "", 0, 0);
      }
    });
  }

  size_t end_leases(int64_t session, const std::function<bool(const std::string&)>& has_ended) override {
    const Lock lock(mutex_);
    size_t num_ended = 0;
    sql_.transaction([&] {
      std::vector<std::pair<long long, long long>> ended;
      sql_.each<long long, long long, std::string>(
          "SELECT id, lease_token, agent FROM job WHERE session = :s AND state = 'leased'",
          [&](long long id, long long token, const std::string& agent) {
            if (has_ended(agent)) ended.emplace_back(id, token);
          },
          session);
      queue_again(session, ended, "its agent has ended");
      num_ended = ended.size();
    });
    return num_ended;
  }

  JobCounts counts(const ClaimFilter& filter) override {
    const Lock lock(mutex_);
    JobCounts counts;
    const std::string chosen = fmt::format("j.session = :s AND j.step IN ({})", list_of(filter.steps));
    sql_.each<std::string, long long>(
        fmt::format("SELECT j.state, count(*) FROM job j WHERE {} GROUP BY j.state", chosen),
        [&](const std::string& state, long long count) {
          const std::pair<JobState, size_t*> members[] = {{JobState::queued, &counts.queued},
                                                          {JobState::leased, &counts.leased},
                                                          {JobState::done, &counts.done},
                                                          {JobState::failed, &counts.failed},
                                                          {JobState::excluded, &counts.excluded}};
          for (const auto& [one, member] : members) {
            if (name(one) == state) *member = static_cast<size_t>(count);
          }
        },
        filter.session);
    counts.blocked = static_cast<size_t>(
        sql_.number(fmt::format("SELECT count(*) FROM job j WHERE {} AND j.state = 'queued' AND j.not_before >= {}",
                                chosen, kBlocked),
                    filter.session));
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
    const std::string ready = fmt::format(
        "j.session = :s AND j.state = 'queued' AND j.step = :t AND j.not_before <= {} AND {}", kNow, kIsUnblocked);
    sql_.each<long long, std::string, std::string, long long, long long>(
        fmt::format(fmt::runtime(fleet_dialect::kClaim), ready, kNow),
        [&](long long id, const std::string& configuration, const std::string& solver, long long token,
            long long attempts) {
          claimed.push_back({.id = id,
                             .session = filter.session,
                             .step = step,
                             .configuration = configuration,
                             .problem = {},
                             .solver = solver,
                             .token = token,
                             .attempt = static_cast<int>(attempts) + 1});
        },
        kLeaseMs, filter.agent, filter.session, name(step), max_count - claimed.size());
  }

  bool has_state(int64_t session, const char* condition) {
    return sql_.number(fmt::format("SELECT count(*) FROM tuning_session WHERE id = :s AND state {}", condition),
                       session) == 1;
  }
  /// A closed session gives out no jobs, but takes the results of held ones.
  bool may_finish(int64_t session) { return has_state(session, "<> 'aborted'"); }

  bool holds(const ClaimedJob& job) {
    return may_finish(job.session) &&
           sql_.number("SELECT count(*) FROM job WHERE id = :i AND state = 'leased' AND lease_token = :t", job.id,
                       job.token) == 1;
  }

  void end_expired_leases(int64_t session) {
    std::vector<std::pair<long long, long long>> expired;
    sql_.each<long long, long long>(
        fmt::format("SELECT id, lease_token FROM job WHERE session = :s AND state = 'leased' AND lease_until < {}",
                    kNow),
        [&](long long id, long long token) { expired.emplace_back(id, token); }, session);
    queue_again(session, expired, "its agent did not renew the lease");
  }

  /// Ends leases, by job and token, without an attempt.
  void queue_again(int64_t session, const std::vector<std::pair<long long, long long>>& leases,
                   const std::string& why) {
    for (const auto& [id, token] : leases) {
      sql_.run("UPDATE job SET state = 'queued', agent = '', lease_until = 0 WHERE id = :i", id);
      sql_.run(fmt::format("UPDATE attempt SET ended = {}, class = 'node_lost', detail = :d"
                           " WHERE job = :j AND token = :t",
                           kNow),
               why, id, token);
      add_event(session, id, "", "lease_expired", why);
    }
  }

  void add_event(int64_t session, int64_t job, const std::string& agent, const std::string& kind,
                 const std::string& text) {
    sql_.run(
        fmt::format("INSERT INTO event (at, session, job, agent, kind, text) VALUES ({}, :s, :j, :a, :k, :t)", kNow),
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
    sql_.run(fmt::format("UPDATE attempt SET ended = {}, class = :c, detail = :d WHERE job = :j AND token = :t", kNow),
             outcome, detail, job.id, job.token);
  }

  void set_state(const ClaimedJob& job, std::string_view state, std::string_view failure, const std::string& detail,
                 int counted, long long delay_ms) {
    sql_.run(fmt::format(
                 "UPDATE job SET state = :s, class = :c, detail = :d, attempts = attempts + :n,"
                 " not_before = CASE WHEN :w1 > 0 THEN {} + :w2 ELSE 0 END, lease_until = 0, agent = '' WHERE id = :i",
                 kNow),
             state, failure, detail, counted, delay_ms, delay_ms, job.id);
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
    if (sql_.number("SELECT count(*) FROM kernel_bytes WHERE sha256 = :d", digest) == 0) {
      sql_.connection().guard([&] {
        soci::session& session = sql_.connection().session();
        soci::blob bytes(session);
        if (!kernel.bytes.empty()) bytes.write(0, kernel.bytes.data(), kernel.bytes.size());
        const auto size = static_cast<long long>(kernel.bytes.size());
        session << "INSERT INTO kernel_bytes (sha256, size, bytes) VALUES (:d, :s, :b)", soci::use(digest, "d"),
            soci::use(size, "s"), soci::use(bytes, "b");
      });
    }
    sql_.run("INSERT INTO kernel (job, name, arguments, sha256) VALUES (:j, :n, :a, :d)", job.id, kernel.name,
             kernel.arguments, digest);
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
                         kNow),
             job.session, job.configuration, job.id, decision.winner.name(), decision.baseline.name(),
             finite_or_0(decision.comparison.ratio), name(decision.verdict), entry_to_json(Entry(decision)));
  }

  Mutex mutex_;
  FleetSql sql_;  ///< Used while mutex_ is held.
};

}  // namespace

std::unique_ptr<JobQueue> open_sql_job_queue(const std::filesystem::path& file, int max_wait_ms) {
  return std::make_unique<SqlJobQueue>(file, max_wait_ms);
}

}  // namespace attune
