// SPDX-License-Identifier: MIT
#include "pipeline/run/family_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "core/turn.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "dispatch/table/wanted_requirement.h"
#include "formats/csv/architectures.h"
#include "formats/csv/ban_file.h"
#include "formats/csv/row_choice.h"
#include "pipeline/contest_options.h"
#include "pipeline/device_limits.h"
#include "pipeline/run/family_tables.h"
#include "pipeline/run/shape_json.h"
#include "pipeline/shape_times.h"
#include "pipeline/table_validation.h"
#include "tables/captured_sources.h"
#include "tables/coverage.h"

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

/// The same tables as a lookup takes them. Notices about bans come from validate_tables().
TableSet table_set(const FamilyRun& run, const fs::path& config_dir) {
  RuntimeTables read = readable_tables(*run.family, config_dir);
  TableSet set = empty_table_set(parse_requirement(run.tune.require), kDefaultMaxRegret);
  if (read.table) set.tables.push_back(std::move(*read.table));
  return set;
}

/// An open device, and the shapes to measure there for a family.
struct OpenFamily {
  DeviceInfo device;
  DeviceShapes shapes;
  Environment environment;
};

/// The choice of measuring_device().
DeviceChoice chosen_device(const FamilyRun& run) {
  DeviceChoice choice = run.tune.devices;
  if (!run.tune.thread_limits.empty()) choice.threads = run.tune.thread_limits.front();
  const size_t end = choice.ids.find(',');
  if (end == std::string::npos) {
    choice.ids = device_id(choice, architectures_in(run.tune.input));
    return choice;
  }
  const std::string all = std::exchange(choice.ids, std::string(trim(choice.ids.substr(0, end))));
  if (device_kind(find_device(choice).kind).numbers == DeviceNumbers::core_parts)
    fail(ErrorCode::invalid_input,
         "a run compares on one device, and a part of the host's cores has other rows than all: give one, got '{}'",
         all);
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

ContestSettings contest_settings(const TuneOptions& tune) {
  return {.cache = parse_cache_policy(tune.inputs),
          .seed = tune.seed,
          .limits = {.load = milliseconds_of(tune.load_deadline_s), .run = milliseconds_of(tune.run_deadline_s)}};
}

/// Takes over an earlier call's measurements of a shape, if they were of the same kernels.
void take_measured(ShapeChange& shape, const ordered_json& line) {
  if (line.is_null()) return;
  const ShapeChange earlier = read_change(line);
  const auto is_as_now = [](const ServedKernel& then, const ServedKernel& now) { return then.served == now.served; };
  if (!is_as_now(earlier.before, shape.before) || !is_as_now(earlier.after, shape.after) ||
      earlier.after.baseline != shape.after.baseline)
    return;
  shape.samples = earlier.samples;
  shape.before_us = earlier.before_us;
  shape.after_us = earlier.after_us;
  shape.default_us = earlier.default_us;
  shape.reason = earlier.reason;
}

/// Whether the shape itself has a row of a banned kernel, which a lookup does not see.
bool has_banned_row(const TableSet& set, const Problem& problem, const DeviceInfo& device) {
  return std::ranges::any_of(set.tables, [&](const Table& table) {
    return std::ranges::any_of(table.all(problem, device.gfx, device.num_units), [&](const TableRow* row) {
      return is_of_model(row->device, device.model) &&
             set.bans->find(row->kernel_name, device.key(), problem.key()) != nullptr;
    });
  });
}

/// The step of a line of MeasuredShapes.
constexpr const char *kServed = "before", *kCompared = "after";

}  // namespace

DeviceInfo measuring_device(const FamilyRun& run) { return find_device(chosen_device(run)); }

std::vector<bool> stale_shapes(const FamilyRun& run, const fs::path& config_dir, const std::vector<Problem>& shapes) {
  const TableSet set = table_set(run, config_dir);
  const DeviceInfo device = measuring_device(run);
  const TableLookup lookup(set, device);
  std::vector<bool> stale;
  for (const Problem& shape : shapes) {
    const Problem problem = as_looked_up(shape, device);
    const LookupResult found = lookup.find(
        problem, [&](const Candidate& candidate) { return why_not_here(candidate, problem, device, registry()); });
    // The row of the shape itself may be void while the row of a larger shape serves it.
    const auto is_void = [](const LookupStep& step) {
      return step.match == Match::exact && step.row != nullptr && !step.remark.empty();
    };
    stale.push_back(found.match == Match::fallback || std::ranges::any_of(found.steps, is_void) ||
                    (found.match != Match::exact && has_banned_row(set, problem, device)));
  }
  return stale;
}

std::vector<TableFinding> validate_tables(const FamilySpec& family, const fs::path& config_dir) {
  const RuntimeTables read = readable_tables(family, config_dir);
  if (!read.table) return {};
  std::vector<std::string> notices;
  const TableRules rules{known_limits({}), &registry(), {}, bans_of_user(notices)};
  for (const std::string& notice : notices) print_line(stdout, "note: " + notice);
  std::vector<TableFinding> findings = validate(*read.table, rules);
  for (const TableFinding& finding : findings) {
    print_line(stdout, fmt::format("{}: {}: {}", finding.place(), title(finding.kind), finding.detail));
    if (finding.kind == FindingKind::unreadable)
      fail(ErrorCode::invalid_input, "{}: {}", finding.place(), finding.detail);
  }
  return findings;
}

ordered_json time_as_served(const FamilyRun& run, const fs::path& config_dir, MeasuredShapes& measured) {
  const TableSet set = table_set(run, config_dir);
  const OpenFamily open = open_family(run);
  const TableLookup lookup(set, open.device);
  JournalRun recorded(run.tune.journal, open.device);
  wait_for_quiet(open.environment, run.tune.quiet_wait_s, is_interrupted);
  const auto how = contest_options<InterleavedOptions>(contest_settings(run.tune), open.environment, "bench/1");
  ordered_json shapes = ordered_json::array();
  for (const Shape& shape : open.shapes.shapes) {
    ordered_json timed = measured.find(kServed, run.family->op, shape.problem.key());
    if (timed.is_null()) {
      timed = times_json(time_shape(shape, lookup, *open.environment.executor, how));
      if (is_interrupted()) break;
      measured.add(kServed, run.family->op, timed);
    }
    shapes.push_back(std::move(timed));
  }
  end_of_run(recorded);
  return {{"device", open.device.key()}, {"fingerprint", open.device.fingerprint()}, {"shapes", shapes}};
}

TableDiff changed_rows(const FamilySpec& family, const fs::path& old_config_dir, const fs::path& config_dir) {
  const fs::path before = old_config_dir / family.default_file, after = config_dir / family.default_file;
  std::error_code missing;
  if (!fs::exists(after, missing)) return {};
  const auto now = TableStream::open(after.string(), &family);
  if (fs::exists(before, missing)) return diff(TableStream::open(before.string(), &family), now);
  std::vector<CsvDocument> without_rows;
  without_rows.push_back(CsvDocument::parse(now.documents().front().header_text(), before.string()));
  return diff(TableStream(std::move(without_rows), &family), now);
}

std::vector<ShapeChange> compare_tables(const FamilyRun& run, const TablesOfRun& tables, const ChangeOptions& change,
                                        MeasuredShapes& measured) {
  const TableSet before = table_set(run, tables.before), after = table_set(run, tables.after);
  const OpenFamily open = open_family(run);
  const TableLookup before_lookup(before, open.device), after_lookup(after, open.device);
  JournalRun recorded(run.tune.journal, open.device);
  auto how = contest_options<BeforeAfterOptions>(contest_settings(run.tune), open.environment, "compare/1");
  how.change = change;
  how.measured = [&](const ShapeChange& shape) { measured.add(kCompared, run.family->op, change_json(shape)); };
  std::vector<ShapeChange> shapes;
  for (const Shape& shape : open.shapes.shapes) {
    if (is_interrupted()) break;
    ShapeChange one = shape_change(shape.problem, before_lookup, after_lookup, *open.environment.executor, how.tick);
    if (one.reason.empty()) take_measured(one, measured.find(kCompared, run.family->op, shape.problem.key()));
    shapes.push_back(std::move(one));
  }
  // If every kernel stays, nothing is measured, and the run need not wait for other programs.
  if (std::ranges::any_of(shapes, [&](const ShapeChange& one) { return is_to_be_measured(one, change); }))
    wait_for_quiet(open.environment, run.tune.quiet_wait_s, is_interrupted);
  measure_changes(shapes, *open.environment.executor, how);
  end_of_run(recorded);
  return shapes;
}

}  // namespace attune
