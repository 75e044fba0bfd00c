// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/variable.h"
#include "store/entry_json.h"
#include "store/fleet/fleet_file.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/job_loading.h"
#include "store/fleet/job_results.h"
#include "store/fleet/kernels/wanted_kernels.h"
#include "store/fleet/sql_job_queue.h"
#include "store/fleet/store_away.h"

namespace attune {
namespace {

/// `alice@node7`
std::string person() {
  const passwd* const user = ::getpwuid(::geteuid());
  return fmt::format("{}@{}", user != nullptr ? user->pw_name : std::to_string(::geteuid()), host_name());
}

std::string versions_text(const Versions& versions) { return nlohmann::json(versions).dump(); }

std::string variables_text(const std::vector<std::string>& variables) {
  return nlohmann::json(variables).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string id_of(const FleetEnvironment& environment) {
  return hash128(environment.fingerprint + "\n" + versions_text(environment.versions) + "\n" +
                 variables_text(environment.variables))
      .hex();
}

JobState job_state(const std::string& text) { return parse_job_state(text).value_or(JobState::queued); }

class SqlFleetStore final : public FleetStore {
 public:
  SqlFleetStore(const StoreAddress& address, int max_wait_ms)
      : address_(address), max_wait_ms_(max_wait_ms), sql_(address, max_wait_ms) {}

  size_t add_configurations(const std::vector<FleetConfiguration>& all) override {
    using Rows = std::vector<std::vector<std::string>>;
    Rows rows, tags;
    std::set<std::vector<std::string>> recurrent;
    for (const FleetConfiguration& one : all) {
      rows.push_back({one.id, one.op, one.key, one.source});
      for (const std::string& name : one.tags) {
        tags.push_back({name, one.id});
        if (one.is_recurrent) recurrent.insert({name, one.id});
      }
    }
    const auto& words = sql_.words();
    const std::string insert = std::string(words.insert_new) + " ", nothing(words.or_nothing);
    size_t num_new = 0;
    sql_.transaction([&] {
      num_new = sql_.insert(insert + "configuration (id, op, problem, source, added_at)",
                            fmt::format("(?, ?, ?, ?, {})", words.now), nothing, rows);
      sql_.insert(insert + "tag (name, configuration, recurrent)", "(?, ?, 0)", nothing, tags);
      sql_.insert("INSERT INTO tag (name, configuration, recurrent)", "(?, ?, 1)",
                  set_to_new("name, configuration", {"recurrent"}), Rows(recurrent.begin(), recurrent.end()));
      sql_.note_new_rows("configuration", rows.size());
      sql_.note_new_rows("tag", tags.size());
    });
    return num_new;
  }

  void visit_configurations(const std::string& tag,
                            const std::function<void(const FleetConfiguration&)>& visit) override {
    for (const FleetConfiguration& one : configurations(tag)) visit(one);
  }

  size_t untag(const std::string& tag, const std::vector<std::string>& configurations) override {
    size_t num_removed = 0;
    sql_.transaction([&] {
      num_removed = 0;
      if (configurations.empty()) num_removed = sql_.run("DELETE FROM tag WHERE name = :n", tag);
      for (const std::string& one : configurations)
        num_removed += sql_.run("DELETE FROM tag WHERE name = :n AND configuration = :c", tag, one);
    });
    return num_removed;
  }

  size_t set_solvers(const std::vector<FleetSolver>& all) override {
    size_t num_new = 0;
    sql_.transaction([&] {
      num_new = 0;
      sql_.run("UPDATE solver SET present = 0");
      for (const FleetSolver& one : all) {
        const bool is_known = sql_.run(
                                  "UPDATE solver SET present = 1, tunable = :t, title = :l"
                                  " WHERE id = :i AND version = :v AND op = :o",
                                  one.is_tunable ? 1 : 0, one.title, one.id, one.version, one.op) > 0;
        if (is_known) continue;
        ++num_new;
        sql_.run("INSERT INTO solver (id, version, op, tunable, title, present) VALUES (:i, :v, :o, :t, :l, 1)", one.id,
                 one.version, one.op, one.is_tunable ? 1 : 0, one.title);
      }
    });
    return num_new;
  }

  std::vector<FleetSolver> solvers() override {
    std::vector<FleetSolver> found;
    sql_.each<std::string, std::string, std::string, long long, std::string>(
        "SELECT id, version, op, tunable, title FROM solver WHERE present = 1 ORDER BY op, id",
        [&](const std::string& id, const std::string& version, const std::string& op, long long tunable,
            const std::string& title) {
          found.push_back({id, version, op, tunable != 0, title});
        });
    return found;
  }

  int64_t begin_session(const FleetEnvironment& environment, const std::string& reason,
                        const SessionCustody& custody) override {
    int64_t id = 0;
    sql_.transaction([&] {
      const std::vector<FleetSolver> present = solvers();
      if (present.empty())
        fail(ErrorCode::invalid_input, "the store knows no solvers yet, run first: attune solvers update");
      std::vector<std::string> names;
      for (const FleetSolver& one : present) names.push_back(fmt::format("{}@{} {}", one.id, one.version, one.op));
      // Older stores have the names themselves, which are too long for an index of a server.
      const std::string names_text = join(names, "\n"), set = hash128(names_text).hex();
      id = find_session(id_of(environment), reason, set, names_text);
      if (id != 0) return check_same(session(id), custody);
      id = insert_session(environment, reason, set, SessionState::open, custody);
      for (const FleetSolver& one : present)
        sql_.run("INSERT INTO session_solver (session, solver, op, version) VALUES (:s, :i, :o, :v)", id, one.id,
                 one.op, one.version);
    });
    return id;
  }

  int64_t import_session(const FleetEnvironment& environment, const std::string& reason,
                         const SessionCustody& custody) override {
    const std::string set = "imported";
    int64_t id = 0;
    sql_.transaction([&] {
      id = find_session(id_of(environment), reason, set, set);
      if (id != 0) {
        const FleetSession found = session(id);
        if (found.custody.source != custody.source)
          fail(ErrorCode::invalid_input,
               "session {} has this reason and is imported from {}, give another with -l: '{}'", id,
               shown(found.custody.source), shown(reason));
        check_ticket(found, custody);
      }
      check_source(id, custody.source);
      if (id == 0) id = insert_session(environment, reason, set, SessionState::closed, custody);
    });
    return id;
  }

  FleetSession session(int64_t id) override {
    auto found = read_sessions("WHERE s.id = :i", id);
    if (found.empty())
      fail(ErrorCode::invalid_input,
           "there is no session {}, `attune session list` shows them; begin one with: "
           "attune session init -l REASON",
           id);
    return std::move(found.front());
  }

  std::vector<FleetSession> sessions() override { return read_sessions("WHERE s.id >= :i", 0); }

  void end_session(int64_t id, SessionState state) override {
    sql_.transaction([&] {
      session(id);
      sql_.run("UPDATE tuning_session SET state = :t WHERE id = :i AND state <> 'aborted'", name(state), id);
      if (state == SessionState::aborted)
        sql_.run(fmt::format("UPDATE job SET state = 'excluded', class = :c, detail = 'the session was aborted',"
                             " not_before = {} WHERE session = :i AND state IN ('queued', 'leased')",
                             kEnded),
                 name(Status::cancelled), id);
    });
  }

  void set_applicability(int64_t session, const std::vector<Applicability>& all) override {
    std::vector<std::vector<std::string>> rows;
    for (const Applicability& one : all)
      rows.push_back({one.configuration, one.solver, one.applies ? "1" : "0", one.reason});
    sql_.transaction([&] {
      sql_.insert("INSERT INTO applicability (session, configuration, solver, applicable, reason)",
                  fmt::format("({}, ?, ?, ?, ?)", session),
                  set_to_new("session, configuration, solver", {"applicable", "reason"}), rows);
      sql_.note_new_rows("applicability", rows.size());
    });
  }

  size_t load_jobs(const JobLoad& load) override {
    size_t num_new = 0;
    sql_.transaction([&] {
      check_open(load.session);
      num_new = load_jobs_into(sql_, load);
    });
    settle(load.session);
    return num_new;
  }

  void visit_jobs(const JobFilter& filter, const std::function<void(const JobRow&)>& visit) override {
    if (!filter.tag.empty()) check_tag(sql_, filter.tag);
    const std::string state = filter.state ? std::string(name(*filter.state)) : std::string();
    sql_.each<long long, std::string, std::string, std::string, std::string, std::string, std::string, std::string,
              std::string, std::string, long long, long long>(
        fmt::format("SELECT j.id, j.step, j.state, j.configuration, c.problem, j.solver, j.reason, j.class, j.detail,"
                    " j.agent, j.attempts, j.lease_until - {} FROM job j JOIN configuration c ON c.id = j.configuration"
                    " WHERE j.session = :s AND (:t1 = '' OR EXISTS (SELECT 1 FROM tag t WHERE t.name = :t2"
                    " AND t.configuration = j.configuration)) AND (:c1 = '' OR j.class = :c2)"
                    " AND (:z1 = '' OR j.state = :z2) ORDER BY j.id",
                    sql_.words().now),
        [&](long long id, const std::string& step, const std::string& at, const std::string& configuration,
            const std::string& problem, const std::string& solver, const std::string& reason,
            const std::string& failure, const std::string& detail, const std::string& agent, long long attempts,
            long long left_ms) {
          visit({.id = id,
                 .step = parse_fleet_step(step).value_or(FleetStep::perf_eval),
                 .state = job_state(at),
                 .configuration = configuration,
                 .problem = problem,
                 .solver = solver,
                 .reason = reason,
                 .failure = failure,
                 .detail = detail,
                 .agent = agent,
                 .attempts = static_cast<int>(attempts),
                 .lease_left_s = static_cast<double>(left_ms) / 1000});
        },
        filter.session, filter.tag, filter.tag, filter.failure, filter.failure, state, state);
  }

  size_t reset_jobs(int64_t session, const std::string& failure) override {
    size_t num_reset = 0;
    sql_.transaction([&] {
      check_open(session);
      // A search that failed for want of a kernel may want it again.
      forget_wants(sql_, session, "j.state IN ('failed', 'excluded') AND (:c1 = '' OR j.class = :c2)", failure,
                   failure);
      num_reset = sql_.run(
          "UPDATE job SET state = 'queued', attempts = 0, not_before = 0, class = '', detail = ''"
          " WHERE session = :s AND state IN ('failed', 'excluded') AND (:c1 = '' OR class = :c2)",
          session, failure, failure);
      settle_jobs(sql_, session);
    });
    settle(session);
    return num_reset;
  }

  std::vector<JobGroup> job_groups(int64_t session) override {
    this->session(session);
    std::vector<JobGroup> groups;
    sql_.each<std::string, std::string, std::string, long long>(
        "SELECT step, state, class, count(*) FROM job WHERE session = :s GROUP BY step, state, class",
        [&](const std::string& step, const std::string& state, const std::string& failure, long long count) {
          groups.push_back({parse_fleet_step(step).value_or(FleetStep::perf_eval), job_state(state), failure,
                            static_cast<size_t>(count)});
        },
        session);
    std::ranges::sort(groups, {}, [](const JobGroup& one) { return std::tuple(one.step, one.state, one.failure); });
    return groups;
  }

  SessionRate rate(int64_t session) override {
    SessionRate rate;
    sql_.each<long long, long long>(
        fmt::format("SELECT count(*), coalesce({0} - min(a.began), 0) FROM attempt a JOIN job j ON j.id = a.job"
                    " WHERE j.session = :s AND a.ended > {0} - 600000 AND a.class <> 'node_lost'"
                    " AND a.class <> 'cancelled'",
                    sql_.words().now),
        [&](long long count, long long over_ms) {
          rate.num_ended = static_cast<size_t>(count);
          rate.over_s = static_cast<double>(over_ms) / 1000;
        },
        session);
    const auto events = [&](const char* kind) {
      return static_cast<size_t>(
          sql_.number("SELECT count(*) FROM event WHERE session = :s AND kind = :k", session, kind));
    };
    rate.num_lost = events("lease_expired");
    rate.num_discarded = events("late_result");
    return rate;
  }

  void add_event(int64_t session, const FleetEvent& event) override {
    sql_.transaction([&] {
      sql_.run(fmt::format("INSERT INTO event (at, session, job, agent, kind, text) VALUES ({}, :s, 0, :a, :k, :t)",
                           sql_.words().now),
               session, event.agent, event.kind, storable(event.text));
    });
  }

  std::vector<FleetEvent> events(int64_t session, const std::string& kind, size_t max_count) override {
    std::vector<FleetEvent> found;
    sql_.each<long long, std::string, std::string>(
        fmt::format("SELECT at, agent, text FROM event WHERE session = :s AND kind = :k ORDER BY id DESC LIMIT {}",
                    max_count),
        [&](long long at, const std::string& agent, const std::string& text) {
          found.push_back({utc_time_text(at), agent, kind, text});
        },
        session, kind);
    return found;
  }

  JobQueue& queue() override {
    if (!queue_) queue_ = open_sql_job_queue(address_, max_wait_ms_);
    return *queue_;
  }

  bool is_server() const override { return address_.is_server(); }

  std::unique_ptr<SharedKernels> open_kernels() override { return open_shared_kernels(address_, max_wait_ms_); }

  void visit_answers(int64_t session, const std::string& tag,
                     const std::function<void(const FleetAnswer&)>& visit) override {
    sql_.read_transaction([&] { visit_answers_now(session, tag, visit); });
  }

 private:
  /// Again, in a transaction that sees what agents have ended during the one before.
  void settle(int64_t session) {
    if (!address_.is_server()) return;
    sql_.transaction([&] { settle_jobs(sql_, session); });
  }

  /// The end of an INSERT that replaces these columns of a row that is there.
  std::string set_to_new(std::string_view keys, const std::vector<std::string>& columns) const {
    std::vector<std::string> changes;
    for (const std::string& one : columns)
      changes.push_back(one + " = " + fmt::format(fmt::runtime(sql_.words().new_value), one));
    return fmt::format(fmt::runtime(sql_.words().on_conflict), keys) + join(changes, ", ");
  }

  void check_open(int64_t id) {
    const FleetSession one = session(id);
    if (one.state != name(SessionState::open))
      fail(ErrorCode::invalid_input, "session {} is {} and takes no jobs, begin another: attune session init -l REASON",
           one.id, one.state);
  }

  void visit_answers_now(int64_t session, const std::string& tag,
                         const std::function<void(const FleetAnswer&)>& visit) {
    this->session(session);
    if (!tag.empty()) check_tag(sql_, tag);
    for (const FleetConfiguration& one : configurations(tag)) {
      FleetAnswer answer{.configuration = one};
      long long job = -1;
      sql_.each<long long, std::string>(
          "SELECT d.job, d.payload FROM decision d JOIN job j ON j.id = d.job WHERE d.session = :s"
          " AND d.configuration = :c AND j.state = 'done'",
          [&](long long id, const std::string& payload) {
            job = id;
            answer.decision = std::get<Decision>(entry_from_json(payload));
          },
          session, one.id);
      if (!answer.decision) {
        answer.missing = why_missing(sql_, session, one.id);
        if (tag.empty() && answer.missing.empty()) continue;
        if (answer.missing.empty()) answer.missing = "no jobs were loaded for it";
      } else {
        read_results(sql_, job, answer);
      }
      visit(answer);
    }
  }

  std::vector<FleetConfiguration> configurations(const std::string& tag) {
    std::vector<FleetConfiguration> all;
    std::map<std::string, size_t> places;
    constexpr const char* kOfTag =
        "(:t1 = '' OR EXISTS (SELECT 1 FROM tag t WHERE t.name = :t2 AND t.configuration = c.id))";
    sql_.each<std::string, std::string, std::string, std::string, long long>(
        fmt::format("SELECT c.id, c.op, c.problem, c.source, c.added_at FROM configuration c WHERE {}"
                    " ORDER BY c.number",
                    kOfTag),
        [&](const std::string& id, const std::string& op, const std::string& problem, const std::string& source,
            long long added_at) {
          places.emplace(id, all.size());
          all.push_back(
              {.id = id, .op = op, .key = problem, .source = source, .added_at = utc_time_text(added_at), .tags = {}});
        },
        tag, tag);
    sql_.each<std::string, std::string, long long>(
        "SELECT configuration, name, recurrent FROM tag ORDER BY name",
        [&](const std::string& id, const std::string& one, long long recurrent) {
          const auto place = places.find(id);
          if (place == places.end()) return;
          all[place->second].tags.push_back(one);
          if (recurrent != 0) all[place->second].is_recurrent = true;
        });
    return all;
  }

  /// Of a transaction. `older_set`: another text for the same solvers. Returns 0 without a match.
  int64_t find_session(const std::string& environment, const std::string& reason, const std::string& set,
                       const std::string& older_set) {
    return sql_.number(
        "SELECT id FROM tuning_session WHERE environment = :e AND reason = :r AND solvers IN (:s, :n) ORDER BY id",
        environment, reason, set, older_set);
  }

  static void check_same(const FleetSession& found, const SessionCustody& custody) {
    if (found.state != name(SessionState::open))
      fail(ErrorCode::invalid_input, "session {} has this reason and is {}, give another with -l: '{}'", found.id,
           found.state, shown(found.reason));
    check_ticket(found, custody);
  }

  static void check_ticket(const FleetSession& found, const SessionCustody& custody) {
    if (!custody.ticket.empty() && custody.ticket != found.custody.ticket)
      fail(ErrorCode::invalid_input, "session {} has this reason and {}, give another with -l: '{}'", found.id,
           found.custody.ticket.empty() ? "no ticket" : fmt::format("the ticket '{}'", shown(found.custody.ticket)),
           shown(found.reason));
  }

  /// Of a transaction. `id`: the session that may have the source; 0: none.
  void check_source(int64_t id, const std::string& source) {
    const int64_t other = sql_.number(
        "SELECT session FROM session_custody WHERE source = :o AND session <> :i ORDER BY session", source, id);
    if (other != 0)
      fail(ErrorCode::invalid_input,
           "session {} has the results of this source, which this would replace; name another with --source, or repeat"
           " that session's import with -l '{}': '{}'",
           other, shown(session(other).reason), shown(source, 500));
  }

  /// Of a transaction.
  int64_t insert_session(const FleetEnvironment& environment, const std::string& reason, const std::string& set,
                         SessionState state, const SessionCustody& custody) {
    const std::string environment_id = id_of(environment);
    sql_.run(fmt::format("{} environment (id, fingerprint, device, versions, variables) VALUES (:i, :f, :d, :v, :a){}",
                         sql_.words().insert_new, sql_.words().or_nothing),
             environment_id, environment.fingerprint, environment.device_json, versions_text(environment.versions),
             variables_text(environment.variables));
    sql_.run(fmt::format("INSERT INTO tuning_session (environment, reason, solvers, created_by, created_at, state)"
                         " VALUES (:e, :r, :s, :b, {}, :t)",
                         sql_.words().now),
             environment_id, reason, set, person(), name(state));
    const int64_t id = sql_.number(std::string(sql_.words().last_id));
    sql_.run("INSERT INTO session_custody (session, image, ticket, source) VALUES (:s, :i, :t, :o)", id, custody.image,
             custody.ticket, custody.source);
    return id;
  }

  std::vector<FleetSession> read_sessions(const std::string& condition, int64_t value) {
    std::vector<FleetSession> found;
    sql_.each<long long, std::string, std::string, long long, std::string, std::string, std::string, std::string,
              std::string, std::string, std::string, std::string>(
        fmt::format("SELECT s.id, s.reason, s.created_by, s.created_at, s.state, e.fingerprint, e.device, e.versions,"
                    " e.variables, coalesce(c.image, ''), coalesce(c.ticket, ''), coalesce(c.source, '')"
                    " FROM tuning_session s JOIN environment e ON e.id = s.environment"
                    " LEFT JOIN session_custody c ON c.session = s.id {} ORDER BY s.id",
                    condition),
        [&](long long id, const std::string& reason, const std::string& created_by, long long created_at,
            const std::string& state, const std::string& fingerprint, const std::string& device,
            const std::string& versions, const std::string& variables, const std::string& image,
            const std::string& ticket, const std::string& source) {
          found.push_back({.id = id,
                           .reason = reason,
                           .created_by = created_by,
                           .created_at = utc_time_text(created_at),
                           .state = state,
                           .environment = {fingerprint, device, nlohmann::json::parse(versions).get<Versions>(),
                                           nlohmann::json::parse(variables).get<std::vector<std::string>>()},
                           .solvers = {},
                           .custody = {image, ticket, source}});
        },
        value);
    for (FleetSession& one : found) {
      sql_.each<std::string, std::string, std::string, long long>(
          "SELECT v.solver, v.version, v.op, s.tunable FROM session_solver v JOIN solver s ON s.id = v.solver"
          " AND s.version = v.version AND s.op = v.op WHERE v.session = :s ORDER BY v.op, v.solver",
          [&](const std::string& id, const std::string& version, const std::string& op, long long tunable) {
            one.solvers.push_back({id, version, op, tunable != 0, ""});
          },
          one.id);
    }
    return found;
  }

  StoreAddress address_;
  int max_wait_ms_;
  FleetSql sql_;
  std::unique_ptr<JobQueue> queue_;
};

}  // namespace

std::string_view name(SessionState state) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"open", "closed", "aborted"};
  return kNames.at(static_cast<size_t>(state));
}

std::unique_ptr<FleetStore> open_fleet_store(const std::string& store, FleetStoreUse use, int max_wait_ms) {
  const StoreAddress address = store_address(store);
  std::error_code ignored;
  if (!address.is_server()) {
    if (store.empty() && variable_or_null("ATTUNE_STORE") == nullptr) check_home_location();
    if (use == FleetStoreUse::existing && !std::filesystem::exists(address.file, ignored))
      fail(ErrorCode::invalid_input,
           "there is no fleet's store yet, begin with: attune configs import -t TAG -f FILE: '{}'", address.shown());
  }
  try {
    if (!address.is_server()) claim_fleet_file(address.file);
    return std::make_unique<SqlFleetStore>(address, max_wait_ms);
  } catch (const StoreAway&) {
    throw;
  } catch (const Error& error) {
    // Which store it is, is the user's choice.
    if (error.code() != ErrorCode::database) throw;
    throw Error(ErrorCode::invalid_input, error.what());
  }
}

}  // namespace attune
