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
  explicit MitunaReader(const MitunaChoice& choice)
      : choice_(choice),
        address_(older_database_address(choice.address)),
        sql_(address_, kMaxWaitMs, SchemaUse::foreign) {}

  ForeignSession read() {
    check_tables();
    sql_.read_transaction([&] {
      found_ = {};
      configurations_.clear();
      choice_.golden_version == 0 ? read_session() : read_golden();
    });
    if (found_.configurations.empty())
      fail(ErrorCode::invalid_input, "the database has no jobs and no results of convolutions there: '{}'",
           found_.source);
    return std::move(found_);
  }

 private:
  void check_tables() {
    const bool is_golden = choice_.golden_version != 0;
    const int num_tables = is_golden ? 5 : 7;
    const auto count = sql_.number(
        fmt::format("SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN"
                    " ('conv_config', 'tensor', 'conv_config_tags', 'solver', {})",
                    is_golden ? "'conv_golden'" : "'session', 'conv_job', 'conv_find_db'"));
    if (count != num_tables)
      fail(ErrorCode::invalid_input, "the database does not have MITuna's tables, name another with --from: '{}'",
           address_.shown());
  }

  void read_session() {
    const OlderSession session = chosen_session();
    found_.device = {.arch = session.arch, .num_units = session.num_units};
    found_.versions = {{"miopen", session.miopen}, {"rocm", session.rocm}};
    found_.ticket = session.ticket;
    found_.image = session.docker;
    found_.source = fmt::format("{} session {}", address_.shown(), session.id);
    read_configurations_of(
        "SELECT config FROM conv_job WHERE session = :s1 AND valid = 1"
        " UNION SELECT config FROM conv_find_db WHERE session = :s2 AND valid = 1",
        session.id, session.id);
    read_tags();
    read_results("conv_find_db f JOIN solver s ON s.id = f.solver WHERE f.session = :s", session.id);
  }

  void read_golden() {
    const MiopenDevice device = chosen_device();
    found_.device = device;
    found_.source = fmt::format("{} golden {} {}", address_.shown(), choice_.golden_version,
                                miopen_device_name(device.arch, device.num_units));
    read_configurations_of(
        "SELECT config FROM conv_golden WHERE golden_miopen_v = :v AND arch = :a AND num_cu = :n AND valid = 1",
        choice_.golden_version, device.arch, device.num_units);
    read_tags();
    read_results(
        "conv_golden f JOIN solver s ON s.id = f.solver"
        " WHERE f.golden_miopen_v = :v AND f.arch = :a AND f.num_cu = :n",
        choice_.golden_version, device.arch, device.num_units);
  }

  /// The device of the golden version.
  MiopenDevice chosen_device() {
    std::vector<MiopenDevice> all;
    std::vector<std::string> names;
    sql_.each<std::string, long long>(
        "SELECT DISTINCT arch, num_cu FROM conv_golden WHERE golden_miopen_v = :v AND valid = 1 ORDER BY arch, num_cu",
        [&](const std::string& arch, long long num_cu) {
          const bool is_chosen = arch == choice_.device.arch && num_cu == choice_.device.num_units;
          if (!choice_.device.arch.empty() && !is_chosen) return;
          all.push_back({arch, num_cu});
          names.push_back(fmt::format("{} {}", arch, num_cu));
        },
        choice_.golden_version);
    if (all.empty())
      fail(ErrorCode::invalid_input, "the database has no golden version {}{}: '{}'", choice_.golden_version,
           choice_.device.arch.empty() ? "" : " of this device", address_.shown());
    if (all.size() > 1)
      fail(ErrorCode::invalid_input, "golden version {} has several devices, choose one with --arch and --num_cu: {}",
           choice_.golden_version, join(names, ", "));
    return all.front();
  }

  OlderSession chosen_session() {
    const int64_t wanted = choice_.session;
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
    return std::move(all.front());
  }

  /// `ids`: selects their ids there.
  template <typename... Values>
  void read_configurations_of(std::string_view ids, const Values&... values) {
    sql_.each<long long, std::string>(
        fmt::format("SELECT c.id, {} FROM conv_config c JOIN tensor i ON i.id = c.input_tensor"
                    " JOIN tensor w ON w.id = c.weight_tensor WHERE c.valid = 1 AND c.id IN ({}) ORDER BY c.id",
                    kDriverLine, ids),
        [&](long long id, const std::string& line) { add_configuration(id, line); }, values...);
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
        if (!choice_.tag.empty()) one.tags.push_back(choice_.tag);
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

  /// `rows`: tables `f` of results and `s` of solvers, and a condition.
  template <typename... Values>
  void read_results(std::string_view rows, const Values&... values) {
    std::set<std::pair<std::string, std::string>> known;  // Two rows: HIP and OpenCL.
    sql_.each<long long, std::string, std::string, double, std::string, std::string>(
        fmt::format("SELECT f.config, s.solver, coalesce(f.alg_lib, ''), f.kernel_time, f.workspace_sz,"
                    " coalesce(f.params, '') FROM {} AND f.valid = 1 ORDER BY f.config, f.opencl, s.solver",
                    rows),
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
        values...);
  }

  const MitunaChoice& choice_;
  const StoreAddress address_;
  FleetSql sql_;
  std::map<int64_t, FleetConfiguration> configurations_;  ///< By their ids there.
  ForeignSession found_;
};

}  // namespace

ForeignSession read_mituna(const MitunaChoice& choice) {
  try {
    return MitunaReader(choice).read();
  } catch (Error& error) {
    error.add_context("reading MITuna's database");
    throw;
  }
}

}  // namespace attune
