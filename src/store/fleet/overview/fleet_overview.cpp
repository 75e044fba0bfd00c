// SPDX-License-Identifier: MIT
#include "store/fleet/overview/fleet_overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "store/fleet/fleet_sql.h"
#include "store/fleet/store_address.h"

namespace attune {
namespace {

constexpr int kMaxSessions = 100, kMaxHeld = 1000, kMaxEvents = 100;
constexpr int kMaxWaitMs = 2'000;

/// `gfx90a/104 AMD Instinct MI250`; empty for an unknown form.
std::string device_text(const std::string& json) {
  const auto facts = nlohmann::json::parse(json, nullptr, false);
  if (!facts.is_object()) return {};
  const auto text = [&](const char* name) {
    const auto found = facts.find(name);
    return found != facts.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto units = facts.find("cu_num");
  const std::string number = units != facts.end() && units->is_number_integer() ? "/" + units->dump() : "";
  return shown(std::string(trim(text("gfx") + number + " " + text("model"))));
}

class OverviewReader {
 public:
  explicit OverviewReader(const StoreAddress& address) : sql_(address, kMaxWaitMs, SchemaUse::as_it_is) {
    overview_.store = address.shown();
  }

  FleetOverview read() {
    sql_.read_transaction([&] {
      read_sessions();
      read_jobs();
      read_held();
      read_events();
    });
    return std::move(overview_);
  }

 private:
  void read_sessions() {
    sql_.each<long long, std::string, std::string, long long, std::string, std::string, std::string>(
        fmt::format("SELECT s.id, s.state, s.reason, s.created_at, e.device, coalesce(c.ticket, ''),"
                    " coalesce(c.image, '') FROM tuning_session s JOIN environment e ON e.id = s.environment"
                    " LEFT JOIN session_custody c ON c.session = s.id ORDER BY s.id DESC LIMIT {}",
                    kMaxSessions),
        [&](long long id, const std::string& state, const std::string& reason, long long created,
            const std::string& device, const std::string& ticket, const std::string& image) {
          overview_.sessions.push_back({.id = id,
                                        .created_ms = created,
                                        .state = state,
                                        .reason = reason,
                                        .ticket = ticket,
                                        .image = image,
                                        .device = device_text(device),
                                        .steps = {},
                                        .failures = {}});
        });
  }

  void read_jobs() {
    if (overview_.sessions.empty()) return;
    const auto session_of = [&](long long id) {
      return std::ranges::find(overview_.sessions, id, &SessionProgressRow::id);
    };
    sql_.each<long long, std::string, std::string, std::string, long long>(
        "SELECT session, step, state, class, count(*) FROM job WHERE session >= :s GROUP BY session, step, state, class"
        " ORDER BY session, step",
        [&](long long id, const std::string& step, const std::string& state, const std::string& failure,
            long long count) {
          const auto session = session_of(id);
          if (session == overview_.sessions.end()) return;
          if (session->steps.empty() || session->steps.back().step != step) session->steps.push_back({step, {}});
          session->steps.back().states[state] += count;
          if (state == "failed" || state == "excluded") session->failures[failure] += count;
        },
        overview_.sessions.back().id);
  }

  void read_held() {
    sql_.each<std::string, long long, long long, std::string, std::string, std::string, long long, long long>(
        fmt::format("SELECT j.agent, j.session, j.id, j.step, j.solver, c.problem, a.began, j.lease_until - {}"
                    " FROM job j JOIN configuration c ON c.id = j.configuration"
                    " JOIN attempt a ON a.job = j.id AND a.token = j.lease_token"
                    " WHERE j.state = 'leased' ORDER BY j.agent, j.id LIMIT {}",
                    sql_.words().now, kMaxHeld),
        [&](const std::string& agent, long long session, long long job, const std::string& step,
            const std::string& solver, const std::string& problem, long long began, long long left_ms) {
          overview_.held.push_back({.agent = agent,
                                    .step = step,
                                    .solver = solver,
                                    .problem = problem,
                                    .session = session,
                                    .job = job,
                                    .since_ms = began,
                                    .lease_left_s = static_cast<double>(left_ms) / 1000});
        });
  }

  void read_events() {
    sql_.each<long long, long long, long long, long long, std::string, std::string, std::string>(
        fmt::format("SELECT id, at, session, job, agent, kind, text FROM event ORDER BY id DESC LIMIT {}", kMaxEvents),
        [&](long long id, long long at, long long session, long long job, const std::string& agent,
            const std::string& kind, const std::string& text) {
          overview_.events.push_back(
              {.id = id, .at_ms = at, .session = session, .job = job, .agent = agent, .kind = kind, .text = text});
        });
  }

  FleetSql sql_;
  FleetOverview overview_;
};

}  // namespace

FleetOverview read_fleet_overview() {
  const StoreAddress address = store_address("");
  std::error_code error;
  if (!address.is_server() && !std::filesystem::exists(address.file, error))
    fail(ErrorCode::invalid_input, "there is no fleet's store yet, attune configs import makes one: '{}'",
         address.shown());
  return OverviewReader(address).read();
}

}  // namespace attune
