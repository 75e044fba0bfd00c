// SPDX-License-Identifier: MIT
#include "cli/miopen/miopen_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/line_output.h"
#include "base/text.h"
#include "cli/miopen/own_candidates.h"
#include "report/json_output.h"
#include "tables/miopen/miopen_findings.h"

namespace attune {
namespace {

std::string finding_line(const std::string& file, const MiopenFinding& one, bool is_database) {
  return fmt::format("{}{}{}: {}: {} ({})", file, is_database ? ": row " : ":", one.line, name(one.kind), one.what,
                     shown(one.key, 200));
}

}  // namespace

int run_miopen_check(const std::string& file, const DeviceChoice& devices, bool json) {
  const MiopenFile kind = miopen_file_or_named(file);
  std::optional<OwnCandidates> candidates;
  if (names_own_solver(file, kind)) {
    candidates.emplace(devices);
    const std::string name = std::filesystem::path(file).filename().string();
    if (const std::string stem = name.substr(0, name.find('.')); stem != candidates->device_name()) {
      print_notes(
          std::vector{fmt::format("parameters are not compared with candidates, the file's name states the "
                                  "device {} and this one is {}",
                                  shown(stem), candidates->device_name())});
      candidates.reset();
    }
  }
  const MiopenFindings found = miopen_findings(
      file, kind,
      !candidates ? CandidateCheck()
                  : [&](const Problem& problem, const std::string& solver, const std::string& params) {
                      return candidates->why_none(problem, solver, params);
                    });
  const auto num_errors =
      static_cast<size_t>(std::ranges::count_if(found.findings, [](const auto& one) { return one.is_error(); }));
  if (json) {
    JsonPrinter printer;
    printer.member("kind", name(kind));
    printer.member("keys", found.num_keys);
    printer.member("entries", found.num_entries);
    printer.begin_list("findings");
    for (const MiopenFinding& one : found.findings)
      printer.item({{"kind", name(one.kind)}, {"line", one.line}, {"key", one.key}, {"what", one.what}});
    printer.end_list();
    printer.end();
    return num_errors == 0 ? 0 : 1;
  }
  const bool is_database = kind == MiopenFile::perf_db || kind == MiopenFile::kernel_db;
  for (const MiopenFinding& one : found.findings) print_line(stdout, finding_line(file, one, is_database));
  print_line(stdout, fmt::format("{}, {} in {}: {}, {}", name(kind), counted(found.num_entries, "value"),
                                 counted(found.num_keys, "key"), counted(num_errors, "defect"),
                                 counted(found.findings.size() - num_errors, "note")));
  return num_errors == 0 ? 0 : 1;
}

}  // namespace attune
