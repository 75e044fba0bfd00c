// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "device/devices.h"
#include "report/json_output.h"
#include "tables/merge_tables.h"
#include "tables/row_status.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

/// Listed facts about one file of the run time.
struct ListedTable {
  size_t num_rows = 0, num_of_device = 0, num_without_time = 0;
  size_t num_shadowed = 0;  ///< Keys that an earlier file has.
};

/// Returns the facts for each document of the table.
std::vector<ListedTable> listed_tables(const Table& table, const DeviceInfo& device) {
  std::vector<ListedTable> listed(table.documents().size());
  std::vector<std::set<std::string>> shadowed(listed.size());
  for (const RowReport& one : row_statuses(table)) {
    const TableRow& row = *one.row;
    ListedTable& file = listed[row.file];
    ++file.num_rows;
    if (row.gfx == device.gfx && row.num_units == device.num_units) ++file.num_of_device;
    if (!row.us) ++file.num_without_time;
    if (one.status == RowStatus::shadowed) shadowed[row.file].insert(contested_key(table, row));
  }
  for (size_t file = 0; file < listed.size(); ++file) listed[file].num_shadowed = shadowed[file].size();
  return listed;
}

std::vector<ListedTable> listed_tables(const RuntimeTables& tables, const DeviceInfo& device) {
  return tables.table ? listed_tables(*tables.table, device) : std::vector<ListedTable>();
}

ordered_json family_json(const RuntimeTables& tables, const DeviceInfo& device) {
  const auto listed = listed_tables(tables, device);
  ordered_json files = ordered_json::array();
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    const TableSource& source = tables.sources.files[i];
    ordered_json object = {{"file", source.file.string()}, {"origin", name(source.origin)}};
    if (!tables.wrong[i].empty()) {
      object["left_out"] = tables.wrong[i];
    } else {
      const ListedTable& one = listed[tables.documents[i]];
      object["num_rows"] = one.num_rows;
      object["num_of_device"] = one.num_of_device;
      object["num_without_time"] = one.num_without_time;
      object["num_shadowed"] = one.num_shadowed;
      const Table::LeftOut& rows = tables.table->left_out()[tables.documents[i]];
      object["num_left_out"] = rows.count;
      if (rows.count > 0) object["why_left_out"] = rows.why_first;
    }
    files.push_back(std::move(object));
  }
  return {{"family", tables.family->op},
          {"variable", tables.sources.variable},
          {"strict", tables.sources.strict},
          {"files", files}};
}

void print_family(const RuntimeTables& tables, const DeviceInfo& device) {
  std::string head(tables.family->op);
  if (!tables.sources.variable.empty()) head += ", by " + tables.sources.variable;
  if (tables.sources.strict) head += ", which replaces the other tables";
  print_line(stdout, head);
  print_line(stdout,
             fmt::format("  {:<8}  {:>8}  {:>8}  {:>8}  {:>8}  file", "origin", "rows", "here", "no time", "shadowed"));
  const auto listed = listed_tables(tables, device);
  for (size_t i = 0; i < tables.wrong.size(); ++i) {
    const TableSource& source = tables.sources.files[i];
    if (!tables.wrong[i].empty()) {
      print_line(stdout, fmt::format("  {:<8}  left out: {}", name(source.origin), tables.wrong[i]));
      continue;
    }
    const ListedTable& one = listed[tables.documents[i]];
    print_line(stdout, fmt::format("  {:<8}  {:>8}  {:>8}  {:>8}  {:>8}  {}", name(source.origin), one.num_rows,
                                   one.num_of_device, one.num_without_time, one.num_shadowed, source.file.string()));
    const Table::LeftOut& rows = tables.table->left_out()[tables.documents[i]];
    if (rows.count > 0) print_line(stdout, "            " + left_out_rows(rows));
  }
}

int list_tables(const TablesOptions& options) {
  const DeviceInfo device = find_device(options.device);
  std::vector<RuntimeTables> all;
  for (const FamilySpec* family : wanted_families(options.op)) {
    all.push_back(read_runtime_tables(*family));
    if (all.back().sources.files.empty()) all.pop_back();
  }
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const RuntimeTables& one : all) list.push_back(family_json(one, device));
    print_json({{"device", device.key()}, {"families", list}});
    return 0;
  }
  if (all.empty()) {
    print_line(stdout, fmt::format("the run time has no tables{}; attune tune writes one, ATTUNE_CONFIG_{} names them",
                                   options.op.empty() ? "" : " of " + options.op,
                                   options.op.empty() ? "<FAMILY>" : wanted_families(options.op).front()->variable));
    return 0;
  }
  for (const RuntimeTables& one : all) print_family(one, device);
  print_line(stdout,
             fmt::format("here: rows of {}; shadowed: keys that a file before has; the first file wins", device.key()));
  return 0;
}

}  // namespace

void add_tables_command(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("tables", "The tables that the run time reads, in the order in which they win; merge");
  verb->require_subcommand(0, 1);
  auto options = std::make_shared<TablesOptions>();
  verb->add_option("--op", options->op, "One family only");
  verb->add_option("--device", options->device, "Device whose rows are counted; default cpu:0");
  verb->add_flag("--json", options->json, "Machine-readable");
  verb->callback([options, verb, &chosen] {
    if (verb->get_subcommands().empty()) chosen = [options] { return list_tables(*options); };
  });
  auto* merge = verb->add_subcommand("merge", "One table of several: of each key the row that the run time would take");
  merge->add_option("tables", options->tables, "Tables, the first wins, F:F2 for several; default: the run time's");
  merge->add_option("-o,--output", options->output, "Table to write, none of those that are read")->required();
  merge->add_option("--op", options->op, "Family, when no table is named or its name does not tell");
  merge->add_option("--device", options->device, "Device whose rows are counted; default cpu:0");
  merge->add_flag("--json", options->json, "Machine-readable: where each row came from");
  merge->callback([options, &chosen] { chosen = [options] { return merge_tables(*options); }; });
}

}  // namespace attune
