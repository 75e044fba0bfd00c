// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "device/devices.h"
#include "ops/family.h"
#include "report/json_output.h"
#include "tables/merge.h"
#include "tables/miopen/miopen_merge.h"
#include "tables/row_status.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct TablesOptions {
  std::vector<std::string> tables;  ///< For merge; empty: the run time's.
  std::string op;
  std::filesystem::path output;  ///< Of merge; empty: the family's merged table.
  DeviceChoice devices;
  bool json = false;
};

std::vector<FileCounts> counts_of(const RuntimeTables& tables, const DeviceInfo& device) {
  return tables.table ? file_counts(*tables.table, row_statuses(*tables.table), device) : std::vector<FileCounts>();
}

ordered_json family_json(const RuntimeTables& tables, const DeviceInfo& device) {
  const auto counts = counts_of(tables, device);
  ordered_json files = ordered_json::array();
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    const TableSource& source = tables.sources.files[i];
    ordered_json object = {{"file", source.file.string()}, {"origin", name(source.origin)}};
    if (!tables.wrong[i].empty()) {
      object["skipped"] = tables.wrong[i];
    } else {
      const FileCounts& one = counts[tables.documents[i]];
      object["num_rows"] = one.num_rows;
      object["num_of_device"] = one.num_of_device;
      object["num_without_time"] = one.num_without_time;
      object["num_shadowed"] = one.num_shadowed;
      const Table::SkippedRows& rows = tables.table->skipped()[tables.documents[i]];
      object["num_skipped"] = rows.count;
      if (rows.count > 0) object["why_skipped"] = rows.why_first;
    }
    files.push_back(std::move(object));
  }
  return {{"family", tables.family->op},
          {"variable", tables.sources.variable},
          {"strict", tables.sources.strict && tables.sources.why_none_serves.empty()},
          {"files", files}};
}

void print_family(const RuntimeTables& tables, const DeviceInfo& device) {
  std::string head(tables.family->op);
  if (!tables.sources.variable.empty()) head += ", by " + tables.sources.variable;
  if (tables.sources.strict && tables.sources.why_none_serves.empty()) head += ", which replaces the other tables";
  print_line(stdout, head);
  print_line(stdout,
             fmt::format("  {:<8}  {:>8}  {:>8}  {:>8}  {:>8}  file", "origin", "rows", "here", "no time", "shadowed"));
  const auto counts = counts_of(tables, device);
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    const TableSource& source = tables.sources.files[i];
    if (!tables.wrong[i].empty()) {
      print_line(stdout, fmt::format("  {:<8}  skipped: {}", name(source.origin), tables.wrong[i]));
      continue;
    }
    const FileCounts& one = counts[tables.documents[i]];
    print_line(stdout, fmt::format("  {:<8}  {:>8}  {:>8}  {:>8}  {:>8}  {}", name(source.origin), one.num_rows,
                                   one.num_of_device, one.num_without_time, one.num_shadowed, source.file.string()));
    const Table::SkippedRows& rows = tables.table->skipped()[tables.documents[i]];
    if (rows.count > 0) print_line(stdout, "            " + skipped_rows(rows));
  }
}

int list_tables(const TablesOptions& options) {
  const DeviceInfo device = find_device(options.devices);
  std::vector<RuntimeTables> all;
  for (const FamilySpec* family : wanted_families(options.op)) {
    all.push_back(read_runtime_tables(*family, &device));
    if (all.back().sources.files.empty()) all.pop_back();
  }
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const RuntimeTables& one : all) list.push_back(family_json(one, device));
    print_json({{"device", device.key()}, {"families", list}});
    return 0;
  }
  if (all.empty()) {
    print_line(
        stdout,
        fmt::format(
            "the run time has no tables{}; attune tune writes one, and ATTUNE_CONFIG_{} names the tables to read",
            options.op.empty() ? "" : " of " + options.op,
            options.op.empty() ? "<FAMILY>" : wanted_families(options.op).front()->variable));
    return 0;
  }
  for (const RuntimeTables& one : all) print_family(one, device);
  print_line(stdout, fmt::format("here: rows of {}; shadowed: rows whose key an earlier file has; the first file wins",
                                 device.key()));
  return 0;
}

size_t num_taken_of_device(const std::vector<FileCounts>& files) {
  size_t count = 0;
  for (const FileCounts& file : files) count += file.num_taken_of_device;
  return count;
}

void print_merge_json(const Merge& merge, const TablesOptions& options, const DeviceInfo& device) {
  const Table& table = merge.table();
  ordered_json rows = ordered_json::array(), files = ordered_json::array();
  for (const RowReport& one : merge.rows()) {
    if (one.status != RowStatus::taken) continue;
    rows.push_back({{"key", one.row->problem.key()},
                    {"device", fmt::format("{}/{}", one.row->gfx, one.row->num_units)},
                    {"file", table.documents()[one.row->file].name()},
                    {"line", one.row->line}});
  }
  const auto counts = file_counts(table, merge.rows(), device);
  for (size_t file = 0; file < counts.size(); ++file) {
    files.push_back({{"file", table.documents()[file].name()},
                     {"num_rows", counts[file].num_rows},
                     {"num_taken", counts[file].num_taken}});
  }
  print_json({{"output", options.output.string()},
              {"family", table.family().op},
              {"device", device.key()},
              {"num_of_device", num_taken_of_device(counts)},
              {"files", files},
              {"rows", rows}});
}

void print_merge(const Merge& merge, const TablesOptions& options, const DeviceInfo& device) {
  const Table& table = merge.table();
  const auto statuses = count_statuses(merge.rows());
  const auto counts = file_counts(table, merge.rows(), device);
  print_line(stdout, fmt::format("{} of {} in '{}', {} of them for {}", counted(statuses[0], "row"), table.family().op,
                                 options.output.string(), num_taken_of_device(counts), device.key()));
  for (size_t file = 0; file < counts.size(); ++file) {
    print_line(stdout, fmt::format("  {:>8} of {:>8}  {}", counts[file].num_taken,
                                   counted(counts[file].num_rows, "row"), table.documents()[file].name()));
  }
  for (size_t status = 1; status < statuses.size(); ++status) {
    if (statuses[status] > 0)
      print_line(stdout,
                 fmt::format("  {:>8} skipped: each {}", statuses[status], name(static_cast<RowStatus>(status))));
  }
}

/// Merges find-dbs, perf-dbs or kernel-dbs.
int merge_files_of_miopen(const TablesOptions& options) {
  static_cast<void>(family_of_foreign_file("conv", options.op, "a file of MIOpen"));
  if (options.output.empty()) fail(ErrorCode::invalid_input, "name the merged file of MIOpen with -o");
  const std::vector<std::filesystem::path> inputs(options.tables.begin(), options.tables.end());
  const MiopenMerge merge = merge_miopen_files(inputs, options.output);
  if (options.json) {
    ordered_json files = ordered_json::array();
    for (const MergedInput& one : merge.inputs)
      files.push_back({{"file", one.file}, {"num_values", one.num_values}, {"num_taken", one.num_taken}});
    print_json({{"output", options.output.string()},
                {"kind", name(merge.kind)},
                {"num_keys", merge.num_keys},
                {"num_values", merge.num_values},
                {"files", files}});
    return 0;
  }
  print_line(stdout, fmt::format("{}, {} of {} in '{}'", name(merge.kind), counted(merge.num_values, "value"),
                                 counted(merge.num_keys, "key"), options.output.string()));
  for (const MergedInput& one : merge.inputs)
    print_line(stdout, fmt::format("  {:>8} of {:>8}  {}", one.num_taken, counted(one.num_values, "value"), one.file));
  return 0;
}

int merge_tables(TablesOptions options) {
  if (!options.tables.empty() && miopen_file_or_named(options.tables.front()) != MiopenFile::none)
    return merge_files_of_miopen(options);
  const DeviceInfo device = find_device(options.devices);
  const Merge merge = read_merge(options.tables, options.op, options.output);
  if (options.output.empty()) options.output = merged_table(merge.table().family());
  print_notes(merge.notices());
  write_merge(merge, options.output);
  if (options.json)
    print_merge_json(merge, options, device);
  else
    print_merge(merge, options, device);
  return 0;
}

void add_tables_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(0, 1);
  auto options = std::make_shared<TablesOptions>();
  command.add_option("--op", options->op, "Only this family");
  add_device_flags(command, options->devices, "Device whose rows are counted; default: the first GPU, else cpu:0");
  add_json_flag(command, options->json);
  command.callback([options, &command, &chosen] {
    if (command.get_subcommands().empty()) chosen = [options] { return list_tables(*options); };
  });
  auto* merge = command.add_subcommand(
      "merge", "Merge several tables into one: for each key the row that the run time would use");
  merge->add_option("tables", options->tables,
                    "Tables by precedence, F:F2 for several, or files of MIOpen; default: the tables of the run time");
  merge->add_option("-o,--output", options->output,
                    "Table to write, not one of those that are read; default: the family's table in the folder "
                    "`merged` of `attune paths`");
  merge->add_option("--op", options->op, "Family, if no table is named or its name does not identify it");
  add_device_flags(*merge, options->devices, "Device whose rows are counted; default: the first GPU, else cpu:0");
  merge->add_flag("--json", options->json, "Machine-readable: where each row came from");
  merge->callback([options, &chosen] { chosen = [options] { return merge_tables(*options); }; });
}

}  // namespace

Command tables_command() {
  return {CommandGroup::tables, "tables", "List the tables that the run time reads, by precedence, or merge them",
          add_tables_flags};
}

}  // namespace attune
