// SPDX-License-Identifier: MIT
#include "cli/fleet/run_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/fleet/change_lines.h"
#include "fleet/setup/measuring_protocol.h"
#include "report/json_output.h"

namespace attune {
namespace {

void print_export_json(const SessionExport& made) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array(), lacking = files, sessions = files;
  for (const ExportedFile& file : made.files) {
    files.push_back({{"file", file.path.string()}, {"content", file.content}});
    if (file.changes) files.back()["against_previous"] = changes_as_json(*file.changes);
  }
  for (const auto& [line, reason] : made.lacking) lacking.push_back({{"configuration", line}, {"reason", reason}});
  for (const FleetSession& one : made.sessions) {
    const auto protocol = one.environment.versions.find(kProtocolComponent);
    sessions.push_back({{"id", one.id},
                        {"reason", one.reason},
                        {"ticket", one.custody.ticket},
                        {"image", one.custody.image},
                        {"fingerprint", one.environment.fingerprint},
                        {"protocol", protocol == one.environment.versions.end() ? "" : protocol->second}});
  }
  print_json({{"files", files}, {"sessions", sessions}, {"lacking", lacking}, {"notices", made.notices}});
}

}  // namespace

int run_export(const ExportFlags& flags) {
  const SessionExportOptions& options = flags.options;
  if (!options.find_db && !options.perf_db && !options.kernel_db && !options.table)
    fail(ErrorCode::invalid_input,
         "say what to export: -f the find-db, -p the perf-db, -k the kernel-db, -c the table");
  if ((options.session > 0) == (options.golden_version > 0))
    fail(ErrorCode::invalid_input, "say whose results to export: --session N, or --golden_v N");
  if (options.session > 0 && !options.device.empty())
    fail(ErrorCode::invalid_input, "--device chooses a device of a golden set, and a session has one: omit it");
  const auto store = open_fleet_store("", FleetStoreUse::existing);
  const SessionExport made =
      options.session > 0 ? export_session(*store, options) : export_golden(*store, *open_golden_sets(""), options);
  const int status = made.lacking.empty() ? 0 : 1;
  if (flags.json) {
    print_export_json(made);
    return status;
  }
  for (const ExportedFile& file : made.files) {
    print_line(stdout, fmt::format("{}: {}", file.path.string(), file.content));
    if (!file.changes) continue;
    print_changes(*file.changes);
    print_line(stdout, "against the file before: " + file.changes->summary());
  }
  for (const FleetSession& one : made.sessions) {
    std::string line = fmt::format("results of session {}: {}", one.id, one.reason);
    if (!one.custody.ticket.empty()) line += ", ticket " + one.custody.ticket;
    if (!one.custody.image.empty()) line += ", container image " + one.custody.image;
    if (!made.files.empty()) print_line(stdout, line);
  }
  print_notes(made.notices);
  for (const auto& [line, reason] : made.lacking) print_line(stderr, fmt::format("lacks {}: {}", line, reason));
  if (!made.lacking.empty())
    print_line(stderr, fmt::format("attune: the files lack {}", counted(made.lacking.size(), "configuration")));
  return status;
}

}  // namespace attune
