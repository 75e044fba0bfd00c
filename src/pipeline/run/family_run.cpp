// SPDX-License-Identifier: MIT
#include "pipeline/run/family_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/line_output.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "core/turn.h"
#include "device/devices.h"
#include "dispatch/table/wanted_requirement.h"
#include "formats/csv/architectures.h"
#include "formats/csv/table_diff.h"
#include "pipeline/device_limits.h"
#include "pipeline/run/family_tables.h"
#include "pipeline/run/shape_json.h"
#include "pipeline/shape_times.h"
#include "pipeline/table_validation.h"
#include "report/diff_json.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The tables of a folder. Throws invalid_input for one that cannot be read.
RuntimeTables readable_tables(const FamilySpec& family, const fs::path& config_dir) {
  RuntimeTables read = tables_in(family, config_dir);
  for (const std::string& why : read.wrong) {
    if (!why.empty()) fail(ErrorCode::invalid_input, "{}", why);
  }
  return read;
}

/// The same as a lookup takes them.
TableSet table_set(const FamilyRun& run, const fs::path& config_dir) {
  RuntimeTables read = readable_tables(*run.family, config_dir);
  TableSet set;
  set.require = parse_requirement(run.tune.require);
  set.max_regret = regret_under(set.require, kDefaultMaxRegret);
  if (read.table) set.tables.push_back(std::move(*read.table));
  return set;
}

/// A device that is open, and what is measured there for a family.
struct OpenFamily {
  DeviceInfo device;
  DeviceShapes shapes;
  Environment environment;
};

/// The one device that the run names, or its lists imply, with the thread limit that the run names. Throws
/// invalid_input for several.
DeviceChoice chosen_device(const FamilyRun& run) {
  check_is_one_device(run.tune.devices);
  DeviceChoice choice = run.tune.devices;
  if (!run.tune.thread_limits.empty()) choice.threads = run.tune.thread_limits.front();
  choice.ids = device_id(choice, architectures_in(run.tune.input));
  return choice;
}

/// Notes in the journal how a run of the device ended.
void end_of_run(JournalRun& recorded) {
  recorded.end(is_interrupted() ? "interrupted" : "done", is_interrupted() ? interrupt_status() : 0);
}

OpenFamily open_family(const FamilyRun& run) {
  const TuneOptions& tune = run.tune;
  const DeviceChoice choice = chosen_device(run);
  const DeviceInfo device = find_device(choice);
  OpenFamily open{.device = device,
                  .shapes = read_device_shapes(tune.input, {tune.op, tune.settings, tune.max_m}, device),
                  .environment = {}};
  print_notes(open.shapes.notices);
  open.environment = open_environment(choice, Isolation::process, tune.kernels, is_interrupted);
  return open;
}

Limits limits_of_run(const TuneOptions& tune) {
  return {.load = milliseconds_of(tune.load_deadline_s), .run = milliseconds_of(tune.run_deadline_s)};
}

Protocol protocol_of(const TuneOptions& tune, const char* procedure) {
  Protocol protocol;
  protocol.cache = parse_cache_policy(tune.inputs);
  protocol.procedure = procedure;
  protocol.seed = tune.seed;
  return protocol;
}

}  // namespace

std::string device_of(const FamilyRun& run) { return find_device(chosen_device(run)).id; }

std::vector<Finding> validate_tables(const FamilySpec& family, const fs::path& config_dir) {
  const RuntimeTables read = readable_tables(family, config_dir);
  if (!read.table) return {};
  const auto documents = read.table->documents();
  const Table table = Table::of({documents.begin(), documents.end()}, &family, WrongRows::listed);
  const TableRules rules{known_limits({}), &registry(), {}};
  std::vector<Finding> findings = validate(table, rules);
  for (const Finding& finding : findings) {
    print_line(stdout, fmt::format("{}: {}: {}", finding.place(), title(finding.kind), finding.detail));
    if (finding.kind == FindingKind::unreadable)
      fail(ErrorCode::invalid_input, "{}: {}", finding.place(), finding.detail);
  }
  return findings;
}

ordered_json time_as_served(const FamilyRun& run, const fs::path& config_dir) {
  const TableSet set = table_set(run, config_dir);
  const OpenFamily open = open_family(run);
  const TableLookup lookup(set, open.device);
  JournalRun recorded(run.tune.journal, open.device);
  wait_for_quiet(open.environment, run.tune.quiet_wait_s, is_interrupted);
  InterleavedOptions how{.protocol = protocol_of(run.tune, "bench/1"), .seed = run.tune.seed};
  how.kernels = open.environment.kernels.get();
  how.limits = limits_of_run(run.tune);
  how.tick = is_interrupted;
  ordered_json shapes = ordered_json::array();
  for (const Shape& shape : open.shapes.shapes) {
    const ShapeTimes times = time_shape(shape, lookup, *open.environment.executor, how);
    if (is_interrupted()) break;
    shapes.push_back(times_json(times));
  }
  end_of_run(recorded);
  return {{"device", open.device.key()}, {"shapes", shapes}};
}

ordered_json changed_rows(const FamilySpec& family, const fs::path& old_config_dir, const fs::path& config_dir) {
  const fs::path before = old_config_dir / family.default_file, after = config_dir / family.default_file;
  std::error_code missing;
  if (!fs::exists(after, missing)) return diff_json({});
  const Table now = Table::read(after.string(), &family);
  if (fs::exists(before, missing)) return diff_json(diff(Table::read(before.string(), &family), now));
  TableDiff all_new;
  for (const TableRow& row : now.rows())
    all_new.added.push_back(
        {.problem = row.problem, .gfx = row.gfx, .num_units = row.num_units, .new_line = row.line, .new_us = row.us});
  return diff_json(all_new);
}

std::vector<ShapeChange> compare_tables(const FamilyRun& run, const fs::path& old_config_dir,
                                        const fs::path& config_dir, const ChangeOptions& change) {
  const TableSet before = table_set(run, old_config_dir), after = table_set(run, config_dir);
  const OpenFamily open = open_family(run);
  const TableLookup before_lookup(before, open.device), after_lookup(after, open.device);
  JournalRun recorded(run.tune.journal, open.device);
  wait_for_quiet(open.environment, run.tune.quiet_wait_s, is_interrupted);
  BeforeAfterOptions how{.change = change, .protocol = protocol_of(run.tune, "compare/1"), .seed = run.tune.seed};
  how.kernels = open.environment.kernels.get();
  how.limits = limits_of_run(run.tune);
  how.tick = is_interrupted;
  std::vector<ShapeChange> shapes;
  for (const Shape& shape : open.shapes.shapes) {
    if (is_interrupted()) break;
    shapes.push_back(shape_change(shape.problem, before_lookup, after_lookup, *open.environment.executor, how.tick));
  }
  measure_changes(shapes, *open.environment.executor, how);
  end_of_run(recorded);
  return shapes;
}

}  // namespace attune
