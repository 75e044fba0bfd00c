// SPDX-License-Identifier: MIT
#include "fleet/setup/mituna_database.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "fleet/setup/import_configurations.h"
#include "formats/driver/driver_line.h"
#include "ops/op.h"
#include "store/fleet/fleet_sql.h"

namespace attune {
namespace {

constexpr int kMaxWaitMs = 60'000;

/// A configuration as a command line, of MITuna's conv_config `c`, its input `i` and its weights `w`
/// (https://github.com/ROCm/MITuna, tuna/miopen/driver). Weights have the input's channels, and their dimensions in
/// this order in every layout.
constexpr const char* kDriverLine =
    "CONCAT('MIOpenDriver conv', CASE i.data_type WHEN 'FP32' THEN '' WHEN 'BF16' THEN 'bfp16'"
    " ELSE LOWER(i.data_type) END,"
    " ' -n ', c.batchsize, ' -c ', w.dim1,"
    " CASE WHEN i.layout IN ('NHWC', 'NDHWC') THEN CONCAT(' -H ', i.dim2, ' -W ', i.dim3)"
    " ELSE CONCAT(' -H ', i.dim3, ' -W ', i.dim4) END,"
    " ' -k ', w.dim0, ' -y ', w.dim3, ' -x ', w.dim4, ' -p ', c.pad_h, ' -q ', c.pad_w,"
    " ' -u ', c.conv_stride_h, ' -v ', c.conv_stride_w, ' -l ', c.dilation_h, ' -j ', c.dilation_w,"
    " ' -g ', c.group_count, ' -m ', c.mode, ' -z ', c.pad_mode,"
    " ' -F ', CASE c.direction WHEN 'F' THEN '1' WHEN 'B' THEN '2' WHEN 'W' THEN '4' ELSE c.direction END,"
    " ' --in_layout ', i.layout, ' --fil_layout ', w.layout, ' --out_layout ', c.out_layout,"
    " CASE WHEN c.trans_output_pad_h <> 0 OR c.trans_output_pad_w <> 0"
    " THEN CONCAT(' -Y ', c.trans_output_pad_h, ' -X ', c.trans_output_pad_w) ELSE '' END,"
    " CASE WHEN c.spatial_dim = 3 THEN CONCAT(' --spatial_dim 3 --in_d ',"
    " CASE WHEN i.layout = 'NDHWC' THEN i.dim1 ELSE i.dim2 END, ' --fil_d ', w.dim2, ' --pad_d ', c.pad_d,"
    " ' --conv_stride_d ', c.conv_stride_d, ' --dilation_d ', c.dilation_d) ELSE '' END)";

/// MITuna's word for none.
std::string known(const std::string& text) { return text == "N/A" ? std::string() : text; }

struct OlderSession {
  int64_t id = 0, num_units = 0;
  std::string arch, rocm, miopen, reason, ticket, docker;
};

class MitunaReader {
 public:
  MitunaReader(const StoreAddress& address, std::string tag)
      : address_(address), tag_(std::move(tag)), sql_(address, kMaxWaitMs, SchemaUse::foreign) {}

  ForeignSession read(int64_t session) {
    check_tables();
    sql_.read_transaction([&] {
      found_ = {};
      configurations_.clear();
      read_session(session);
      read_configurations_of(session_.id);
      read_tags();
      read_results(session_.id);
    });
    if (found_.configurations.empty())
      fail(ErrorCode::invalid_input, "session {} has no jobs and no results of convolutions there: '{}'", session_.id,
           address_.shown());
    return std::move(found_);
  }

 private:
  void check_tables() {
    constexpr int kNumTables = 7;
    const auto count = sql_.number(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN"
        " ('session', 'conv_config', 'tensor', 'conv_config_tags', 'conv_job', 'conv_find_db', 'solver')");
    if (count != kNumTables)
      fail(ErrorCode::invalid_input, "the database does not have MITuna's tables, name another with --from: '{}'",
           address_.shown());
  }

  void read_session(int64_t wanted) {
    std::vector<OlderSession> all;
    sql_.each<long long, std::string, long long, std::string, std::string, std::string, std::string, std::string>(
        "SELECT id, arch, num_cu, rocm_v, miopen_v, reason, coalesce(ticket, ''), coalesce(docker, '')"
        " FROM `session` WHERE valid = 1 ORDER BY id",
        [&](long long id, const std::string& arch, long long num_cu, const std::string& rocm, const std::string& miopen,
            const std::string& reason, const std::string& ticket, const std::string& docker) {
          if (wanted == 0 || id == wanted)
            all.push_back({id, num_cu, arch, rocm, miopen, reason, known(ticket), known(docker)});
        });
    if (all.empty())
      fail(ErrorCode::invalid_input, "the database has no {}: '{}'",
           wanted == 0 ? "session" : fmt::format("session {}", wanted), address_.shown());
    if (all.size() > 1) {
      std::vector<std::string> some;
      for (const OlderSession& one : all) {
        if (some.size() < 20) some.push_back(fmt::format("{} ({} {})", one.id, one.arch, shown(one.reason)));
      }
      fail(ErrorCode::invalid_input, "the database has {} sessions, choose one with --session_id: {}", all.size(),
           join(some, ", "));
    }
    session_ = std::move(all.front());
    found_.device = {.arch = session_.arch, .num_units = session_.num_units};
    found_.versions = {{"miopen", session_.miopen}, {"rocm", session_.rocm}};
    found_.ticket = session_.ticket;
    found_.image = session_.docker;
    found_.source = fmt::format("{} session {}", address_.shown(), session_.id);
  }

  void read_configurations_of(int64_t session) {
    sql_.each<long long, std::string>(
        fmt::format("SELECT c.id, {} FROM conv_config c JOIN tensor i ON i.id = c.input_tensor"
                    " JOIN tensor w ON w.id = c.weight_tensor WHERE c.valid = 1 AND c.id IN"
                    " (SELECT config FROM conv_job WHERE session = :s1 AND valid = 1"
                    " UNION SELECT config FROM conv_find_db WHERE session = :s2 AND valid = 1) ORDER BY c.id",
                    kDriverLine),
        [&](long long id, const std::string& line) { add_configuration(id, line); }, session, session);
  }

  void add_configuration(int64_t id, const std::string& line) {
    std::string defect;
    const DriverLine parsed = parse_driver_line(line, {});
    if (parsed.kind == DriverLine::Kind::bad) defect = parsed.text;
    if (parsed.kind == DriverLine::Kind::other_operator) defect = fmt::format("its type '{}' is unknown", parsed.text);
    try {
      if (defect.empty()) {
        const Problem problem = op_of(parsed.problems.front()).normalise(parsed.problems.front(), {});
        FleetConfiguration one{.id = configuration_id(problem),
                               .op = std::string(problem.op()),
                               .key = problem.key(),
                               .source = found_.source,
                               .added_at = {},
                               .tags = {}};
        if (!tag_.empty()) one.tags.push_back(tag_);
        configurations_.emplace(id, one);
        found_.configurations.push_back(std::move(one));
      }
    } catch (const Error& error) {
      defect = error.what();
    }
    if (!defect.empty()) found_.notices.push_back(fmt::format("conv_config {} is left out: {}", id, defect));
  }

  void read_tags() {
    sql_.each<long long, std::string, long long>(
        "SELECT config, tag, recurrent FROM conv_config_tags WHERE valid = 1 ORDER BY id",
        [&](long long config, const std::string& tag, long long recurrent) {
          const auto known = configurations_.find(config);
          if (known == configurations_.end()) return;
          FleetConfiguration one = known->second;  // Each tag has a mark of its own.
          one.tags = {tag};
          one.is_recurrent = recurrent != 0;
          found_.configurations.push_back(std::move(one));
        });
  }

  void read_results(int64_t session) {
    std::set<std::pair<std::string, std::string>> known;  // Two rows: HIP and OpenCL.
    sql_.each<long long, std::string, std::string, double, std::string, std::string>(
        "SELECT f.config, s.solver, coalesce(f.alg_lib, ''), f.kernel_time, f.workspace_sz, coalesce(f.params, '')"
        " FROM conv_find_db f JOIN solver s ON s.id = f.solver WHERE f.session = :s AND f.valid = 1"
        " ORDER BY f.config, f.opencl, s.solver",
        [&](long long config, const std::string& solver, const std::string& algorithm, double ms,
            const std::string& workspace, const std::string& params) {
          const auto of = configurations_.find(config);
          if (of == configurations_.end() || !known.emplace(of->second.id, solver).second) return;
          // −1: not timed.
          const bool is_timed = std::isfinite(ms) && ms > 0;
          found_.results.push_back({.configuration = of->second.id,
                                    .solver = solver,
                                    .algorithm = algorithm,
                                    .time_ms = is_timed ? fmt::format("{:.6g}", ms) : std::string(),
                                    .workspace_bytes = workspace.starts_with('-') ? std::string() : workspace,
                                    .params = params});
        },
        session);
  }

  const StoreAddress address_;
  const std::string tag_;
  FleetSql sql_;
  OlderSession session_;
  std::map<int64_t, FleetConfiguration> configurations_;  ///< By their ids there.
  ForeignSession found_;
};

}  // namespace

ForeignSession read_mituna_session(const std::string& address, int64_t session, const std::string& tag) {
  try {
    return MitunaReader(older_database_address(address), tag).read(session);
  } catch (Error& error) {
    error.add_context("reading MITuna's database");
    throw;
  }
}

}  // namespace attune
