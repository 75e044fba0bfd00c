// SPDX-License-Identifier: MIT
#include "tables/miopen/miopen_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_key.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/miopen_conv.h"
#include "formats/miopen_solvers.h"
#include "formats/perf_db/perf_db.h"
#include "formats/perf_db/perf_db_shapes.h"
#include "solver/registry.h"

namespace attune {
namespace {

using Kind = MiopenFinding::Kind;

/// What the names of solvers and keys are compared with.
class MiopenNames {
 public:
  explicit MiopenNames(const std::filesystem::path& file) : device_(device_of_miopen_file(file)) {
    const std::string name = file.filename().string();
    is_of_miopen_ = device_ || name.find(".HIP.") != std::string::npos;
  }

  /// Empty: the program that reads the file has the solver.
  std::string solver_defect(std::string_view solver) const {
    if (is_miopen_solver(solver)) return {};
    const bool is_own = is_own_solver(solver);
    if (is_own && !is_of_miopen_) return {};
    if (is_own) return fmt::format("{} is a solver of this program, MIOpen drops a key with it", solver);
    return fmt::format("MIOpen has no solver {}, nor has this program", shown(solver));
  }

  std::string units_defect(int64_t num_units) const {
    if (!device_ || num_units == 0 || num_units == device_->num_units) return {};
    return fmt::format("the key is for {} compute units, the file's name for {}", num_units, device_->num_units);
  }

  /// Of a kernel's arguments: `-mcpu=gfx90a:xnack-`.
  std::string target_defect(std::string_view arguments) const {
    constexpr std::string_view kTarget = "-mcpu=";
    const size_t at = arguments.find(kTarget);
    if (!device_ || at == std::string_view::npos) return {};
    const std::string_view rest = arguments.substr(at + kTarget.size());
    const std::string_view arch = rest.substr(0, rest.find_first_of(": "));
    if (arch == device_->arch) return {};
    return fmt::format("the kernel is for {}, the file's name for {}", shown(arch), device_->arch);
  }

  static bool is_own_solver(std::string_view solver) {
    return std::ranges::any_of(registry().entries(), [&](const SolverEntry& entry) { return entry.id == solver; });
  }

 private:
  std::optional<MiopenDevice> device_;
  bool is_of_miopen_ = false;
};

std::optional<FindDbKey> key_of(const FindDbRecord& record) {
  try {
    return FindDbKey::parse(record.key);
  } catch (const Error&) {
    return std::nullopt;  // One of its defects.
  }
}

MiopenFindings find_db_findings(const std::filesystem::path& path) {
  const FindDb db = FindDb::read_with_defects(path);
  const MiopenNames names(path);
  MiopenFindings found{MiopenFile::find_db, db.records().size(), db.num_entries(), {}};
  const auto add = [&](Kind kind, size_t line, std::string_view key, std::string what) {
    if (!what.empty()) found.findings.push_back({kind, static_cast<int64_t>(line), std::string(key), std::move(what)});
  };
  for (const FindDbDefect& one : db.defects())
    add(one.is_time ? Kind::unusable_time : Kind::defect, one.line, one.key, one.what);
  for (const FindDbDefect& one : db.repeated_keys()) add(Kind::repeated_key, one.line, one.key, one.what);
  for (const FindDbRecord& record : db.records()) {
    for (const FindDbEntry& entry : record.entries) {
      if (!entry.solver.empty()) add(Kind::unknown_solver, record.line, record.key, names.solver_defect(entry.solver));
    }
    const auto key = key_of(record);
    if (!key) continue;
    add(Kind::other_device, record.line, record.key, names.units_defect(key->num_units));
    add(Kind::untunable, record.line, record.key, why_untunable(*key));
  }
  return found;
}

/// The place of a row or a config: a text's line, else the id.
template <typename Part>
int64_t place_of(const Part& part) {
  return part.line > 0 ? static_cast<int64_t>(part.line) : part.id;
}

/// Gathers the findings of a perf-db, SQLite or text.
class PerfDbCheck {
 public:
  PerfDbCheck(const PerfDb& db, const MiopenNames& names, const CandidateCheck& check, MiopenFindings& found)
      : db_(db), names_(names), check_(check), found_(found) {
    for (const PerfDbConfig& config : db.configs) configs_.emplace(config.id, &config);
  }

  void run() {
    std::set<std::pair<int64_t, std::string>> known;
    for (const PerfDbRow& row : db_.rows) {
      if (!known.emplace(row.config, row.solver).second)
        add(Kind::repeated_key, row, row.solver, fmt::format("config {} has a row of the solver before", row.config));
      check_row(row);
    }
    std::map<std::string, int64_t> keys;
    std::unordered_set<int64_t> used;
    for (const PerfDbRow& row : db_.rows) used.insert(row.config);
    for (const PerfDbConfig& config : db_.configs) {
      const std::string key = perf_db_key(config);
      if (const std::string defect = defect_of(config); !defect.empty())
        add(Kind::defect, config, key, "its " + defect);
      else
        add(Kind::untunable, config, key, why_without_problem(config));
      if (const auto [first, is_new] = keys.emplace(key, place_of(config)); !is_new)
        add(Kind::repeated_key, config, key, fmt::format("the key of config {} again", first->second));
      if (!used.contains(config.id)) add(Kind::unused, config, key, "no row names this config");
    }
  }

 private:
  template <typename Part>
  void add(Kind kind, const Part& part, const std::string& key, std::string what) {
    if (!what.empty()) found_.findings.push_back({kind, place_of(part), key, std::move(what)});
  }

  void check_row(const PerfDbRow& row) {
    const auto config = configs_.find(row.config);
    if (config == configs_.end())
      add(Kind::orphan, row, row.solver, fmt::format("it names the config {}, which is not there", row.config));
    const std::string key =
        row.line > 0 && config != configs_.end() ? perf_db_key(*config->second) : std::string(row.solver);
    if (row.params.empty()) add(Kind::defect, row, key, fmt::format("{} has no parameters", row.solver));
    add(Kind::unknown_solver, row, key, names_.solver_defect(row.solver));
    if (!check_ || config == configs_.end() || row.params.empty() || !MiopenNames::is_own_solver(row.solver)) return;
    if (const auto problem = problem_of_config(*config->second))
      add(Kind::no_candidate, row, key, check_(*problem, row.solver, row.params).value_or(""));
  }

  /// Empty: it has one.
  static std::string why_without_problem(const PerfDbConfig& config) {
    try {
      miopen_conv_of(config);
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  static std::optional<Problem> problem_of_config(const PerfDbConfig& config) {
    if (!why_without_problem(config).empty()) return std::nullopt;
    return problem_of(miopen_conv_of(config));
  }

  const PerfDb& db_;
  const MiopenNames& names_;
  const CandidateCheck& check_;
  MiopenFindings& found_;
  std::unordered_map<int64_t, const PerfDbConfig*> configs_;
};

MiopenFindings perf_db_findings(const std::filesystem::path& path, MiopenFile file, const CandidateCheck& check) {
  std::vector<PerfDbDefect> defects;
  const PerfDb db = file == MiopenFile::perf_db ? read_perf_db(path) : read_perf_db_text_with_defects(path, defects);
  MiopenFindings found{file, db.configs.size(), db.rows.size(), {}};
  for (PerfDbDefect& one : defects)
    found.findings.push_back({one.is_repeated ? Kind::repeated_key : Kind::defect, static_cast<int64_t>(one.line),
                              std::move(one.key), std::move(one.what)});
  const MiopenNames names(path);
  PerfDbCheck(db, names, check, found).run();
  return found;
}

MiopenFindings kernel_db_findings(const std::filesystem::path& path) {
  std::vector<KernelDbDefect> defects;
  const KernelDb db = read_kernel_db_with_defects(path, defects);
  MiopenFindings found{MiopenFile::kernel_db, db.kernels.size(), db.kernels.size(), {}};
  for (KernelDbDefect& one : defects)
    found.findings.push_back({Kind::defect, one.id, std::move(one.name), std::move(one.what)});
  const MiopenNames names(path);
  std::map<std::pair<std::string, std::string>, int64_t> known;
  for (const KernelDbRow& row : db.kernels) {
    if (const auto [first, is_new] = known.emplace(std::pair(row.name, row.args), row.id); !is_new)
      found.findings.push_back(
          {Kind::repeated_key, row.id, row.name, fmt::format("the name and arguments of row {} again", first->second)});
    if (std::string defect = names.target_defect(row.args); !defect.empty())
      found.findings.push_back({Kind::other_device, row.id, row.name, std::move(defect)});
  }
  return found;
}

}  // namespace

std::string_view name(Kind kind) noexcept {
  constexpr std::array<std::string_view, 9> kNames = {"defect",         "unusable time",  "repeated key",
                                                      "orphan",         "unknown solver", "no candidate",
                                                      "another device", "untunable",      "unused"};
  return kNames[static_cast<size_t>(kind)];
}

MiopenFindings miopen_findings(const std::filesystem::path& path, MiopenFile file, const CandidateCheck& check) {
  MiopenFindings found = file == MiopenFile::find_db     ? find_db_findings(path)
                         : file == MiopenFile::kernel_db ? kernel_db_findings(path)
                                                         : perf_db_findings(path, file, check);
  std::ranges::stable_sort(found.findings, {}, &MiopenFinding::kind);
  return found;
}

bool names_own_solver(const std::filesystem::path& path, MiopenFile file) {
  if (file != MiopenFile::perf_db && file != MiopenFile::perf_db_text) return false;
  std::vector<PerfDbDefect> ignored;
  const PerfDb db = file == MiopenFile::perf_db ? read_perf_db(path) : read_perf_db_text_with_defects(path, ignored);
  return std::ranges::any_of(db.rows, [](const PerfDbRow& row) { return MiopenNames::is_own_solver(row.solver); });
}

}  // namespace attune
