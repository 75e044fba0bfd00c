// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "cli/fleet/store_commands.h"
#include "cli/miopen/driver_skips.h"
#include "fleet/setup/import_configurations.h"
#include "formats/csv/untuned_table.h"
#include "formats/driver/driver_text.h"
#include "ops/family.h"
#include "ops/op.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ConfigsOptions {
  ImportOptions import;
  std::string batches, command, defaults = "miopen";
  std::string tag, output;
  std::vector<std::string> ids;
  bool recurrent = false, json = false;
};

ordered_json json_of_configuration(const FleetConfiguration& one) {
  ordered_json value = {{"id", one.id},
                        {"op", one.op},
                        {"problem", one.key},
                        {"source", one.source},
                        {"added_at", one.added_at},
                        {"tags", one.tags},
                        {"recurrent", one.is_recurrent}};
  if (one.op == "conv") value["line"] = shown_problem(one.key);
  return value;
}

ordered_json json_of_foreign(const std::vector<ForeignResult>& results) {
  ordered_json list = ordered_json::array();
  for (const ForeignResult& one : results)
    list.push_back({{"source", one.source},
                    {"solver", one.solver},
                    {"algorithm", one.algorithm},
                    {"ms", one.time_ms},
                    {"workspace", one.workspace_bytes},
                    {"params", one.params}});
  return list;
}

void print_foreign(const ForeignResult& one) {
  const std::string time = one.time_ms.empty() ? "" : fmt::format(" {} ms", one.time_ms);
  const std::string params = one.params.empty() ? "" : " " + shown(one.params, 200);
  print_line(stdout, fmt::format("{:<10} {} {}{}{}", "foreign", shown(one.source), shown(one.solver), time, params));
}

/// With -T some configurations of the file are not in the store, and so their results are not kept.
std::vector<ForeignResult> known_results(FleetStore& store, const ImportedConfigurations& imported) {
  std::set<std::string> known;
  store.visit_configurations("", [&](const FleetConfiguration& one) { known.insert(one.id); });
  std::vector<ForeignResult> results;
  for (const ForeignResult& one : imported.foreign) {
    if (known.contains(one.configuration)) results.push_back(one);
  }
  return results;
}

int import_configs(const ConfigsOptions& options) {
  ImportOptions import = options.import;
  if (!options.batches.empty()) import.driver.batches = parse_batches(options.batches);
  if (!options.command.empty()) check_driver_command(options.command);
  import.driver.command = options.command;
  if (options.defaults == "mituna") import.driver.defaults = DriverDefaults::mituna;
  const ImportedConfigurations imported = read_configurations(import);
  const auto store = open_fleet_store("", import.only_tag ? FleetStoreUse::existing : FleetStoreUse::create);
  const ImportCounts counts = store_configurations(*store, import, imported);
  if (import.with_results) open_foreign_results("")->replace(imported.source, known_results(*store, imported));
  if (options.json) {
    print_json({{"source", imported.name},
                {"lines", imported.num_lines},
                {"blank", imported.num_blank},
                {"convolutions", imported.num_convolutions},
                {"skipped", skips_as_json(imported.skipped)},
                {"refused", imported.num_refused},
                {"configurations", imported.configurations.size()},
                {"new", counts.num_new},
                {"tagged", counts.num_tagged},
                {"unknown", counts.num_unknown},
                {"foreign_results", imported.foreign.size()},
                {"notices", imported.notices}});
    return 0;
  }
  print_notes(imported.notices);
  if (counts.num_unknown > 0)
    print_line(stderr, fmt::format("note: {} not in the store, and so not tagged: import without -T to add them",
                                   counts.num_unknown == 1 ? "1 configuration is"
                                                           : fmt::format("{} configurations are", counts.num_unknown)));
  print_line(stdout, fmt::format("{}: {}, {}, {} new, {} tagged {}", imported.name, counted(imported.num_lines, "line"),
                                 counted(imported.configurations.size(), "configuration"), counts.num_new,
                                 counts.num_tagged, import.tag));
  if (import.with_results)
    print_line(stdout,
               fmt::format("{} of {} kept as foreign", counted(imported.foreign.size(), "result"), imported.source));
  return 0;
}

/// Throws invalid_input for a tag without configurations.
std::vector<FleetConfiguration> configurations_of(FleetStore& store, const std::string& tag) {
  std::vector<FleetConfiguration> found;
  store.visit_configurations(tag, [&](const FleetConfiguration& one) { found.push_back(one); });
  if (found.empty() && !tag.empty())
    fail(ErrorCode::invalid_input,
         "no configuration has the tag '{0}', run first: attune configs import -t {0} -f FILE", shown(tag));
  return found;
}

/// The configurations that ids, beginnings of ids or problems name. Throws invalid_input.
std::vector<FleetConfiguration> named_configurations(FleetStore& store, const std::vector<std::string>& names) {
  const auto all = configurations_of(store, "");
  std::vector<FleetConfiguration> found;
  for (const std::string& name : names) {
    std::string id = name;
    if (name.find('=') != std::string::npos) {
      const Problem problem = Problem::parse(name);
      id = configuration_id(op_of(problem).normalise(problem, {}));
    }
    const auto is_named = [&](const FleetConfiguration& one) { return one.id.starts_with(id); };
    const auto count = std::ranges::count_if(all, is_named);
    if (count == 0)
      fail(ErrorCode::invalid_input, "the store has no such configuration, `attune configs list` shows them: '{}'",
           shown(name));
    if (count > 1)
      fail(ErrorCode::invalid_input, "{} configurations have ids that begin so, give more digits: '{}'", count,
           shown(name));
    found.push_back(*std::ranges::find_if(all, is_named));
  }
  return found;
}

int list_configs(const ConfigsOptions& options) {
  const auto store = existing_fleet_store();
  const auto found = configurations_of(*store, options.tag);
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const FleetConfiguration& one : found) list.push_back(json_of_configuration(one));
    print_json(list);
    return 0;
  }
  for (const FleetConfiguration& one : found)
    print_line(stdout, fmt::format("{}  {}  {}", one.id.substr(0, 12), one.key, join(one.tags, ",")));
  print_line(stdout, counted(found.size(), "configuration"));
  return 0;
}

int show_configs(const ConfigsOptions& options) {
  const auto store = existing_fleet_store();
  const auto foreign = open_foreign_results("");
  ordered_json list = ordered_json::array();
  for (const FleetConfiguration& one : named_configurations(*store, options.ids)) {
    if (options.json) {
      list.push_back(json_of_configuration(one));
      list.back()["foreign"] = json_of_foreign(foreign->of(one.id));
      continue;
    }
    for (const auto& [label, text] :
         {std::pair("id", one.id), std::pair("problem", one.key), std::pair("line", shown_problem(one.key)),
          std::pair("source", one.source), std::pair("added", one.added_at), std::pair("tags", join(one.tags, ", ")),
          std::pair("recurrent", std::string(one.is_recurrent ? "yes" : "no"))})
      print_line(stdout, fmt::format("{:<10} {}", label, text));
    for (const ForeignResult& result : foreign->of(one.id)) print_foreign(result);
  }
  if (options.json) print_json(list);
  return 0;
}

/// Throws invalid_input if a file is there that would be lost.
void check_driver_output(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) || std::filesystem::file_size(file, ignored) == 0) return;
  if (!is_driver_file(file))
    fail(ErrorCode::invalid_input,
         "the file has no command lines of MIOpenDriver and is kept, name another with -o: '{}'", file.string());
}

int export_configs(const ConfigsOptions& options) {
  const auto store = existing_fleet_store();
  const auto found = configurations_of(*store, options.tag);
  if (found.empty())
    fail(ErrorCode::invalid_input,
         "the store has no configurations yet, run first: attune configs import -t TAG -f FILE");
  const FamilySpec& family = *find_family(found.front().op);
  std::vector<Problem> problems;
  for (const FleetConfiguration& one : found) {
    if (one.op != family.op)
      fail(ErrorCode::invalid_input, "the configurations are of {} and {}, choose those of one op with -t", family.op,
           one.op);
    problems.push_back(Problem::parse(one.key));
  }
  const bool is_table = family.op != "conv" || options.output.ends_with(".csv");
  std::string text;
  if (is_table) {
    text = untuned_text(family, problems);
  } else {
    for (const Problem& problem : problems) text += driver_line_of(problem) + "\n";
  }
  if (options.output.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  check_output(options.output);
  if (is_table)
    check_untuned_output(options.output, family);
  else
    check_driver_output(options.output);
  write_file_atomically(options.output, text);
  print_line(stdout, fmt::format("{} in {}", counted(problems.size(), "configuration"), options.output));
  return 0;
}

int tag_configs(const ConfigsOptions& options) {
  const auto store = existing_fleet_store();
  auto chosen = named_configurations(*store, options.ids);
  for (FleetConfiguration& one : chosen) {
    one.tags = {options.tag};
    one.is_recurrent = options.recurrent;
  }
  store->add_configurations(chosen);
  print_line(stdout, fmt::format("{} tagged {}", counted(chosen.size(), "configuration"), options.tag));
  return 0;
}

int untag_configs(const ConfigsOptions& options) {
  const auto store = existing_fleet_store();
  std::vector<std::string> ids;
  for (const FleetConfiguration& one : named_configurations(*store, options.ids)) ids.push_back(one.id);
  configurations_of(*store, options.tag);  // Refuses a tag that is not there.
  const size_t num_removed = store->untag(options.tag, ids);
  print_line(stdout, fmt::format("{} no longer tagged {}", counted(num_removed, "configuration"), options.tag));
  return 0;
}

void add_import_command(CLI::App& configs, Action& chosen) {
  auto options = std::make_shared<ConfigsOptions>();
  ImportOptions& import = options->import;
  auto* command = configs.add_subcommand(
      "import",
      "Add the problems of a file: command lines of MIOpenDriver, a find-db or perf-db, results of fin, sizes as YAML, "
      "or a CSV list of shapes");
  command->add_option("-t,--tag", import.tag, "Name of the set")->required()->check(label_error);
  command->add_option("-f,--file", import.file, "The file");
  command->add_option("-d,--driver", import.line, "Instead of a file: one command line of MIOpenDriver");
  command->add_option(
      "--from-issue", import.issue,
      "Instead of a file: the text of a GitHub issue, whose fenced blocks hold such command lines or CSV");
  command->add_option("-b,--batches", options->batches, "Each line once for each batch size, such as 1,2,4");
  command->add_option("-c,--command", options->command,
                      "Operator of all convolutions, and so their type, such as convfp16");
  command
      ->add_option("--defaults", options->defaults,
                   "Values that a line leaves out, of MIOpenDriver or of the older importer (n 32)")
      ->capture_default_str()
      ->check(one_of({"miopen", "mituna"}));
  command->add_option("--op", import.op, "Family of a CSV list, if its name does not identify it");
  command->add_flag("-T,--tag-only", import.only_tag, "Tag configurations that are in the store, and add none");
  command->add_flag("--strict", import.driver.strict, "Store nothing if a line or problem must be left out");
  command
      ->add_option("--source", import.source,
                   "Where they come from: customer, benchmark, issue#N; default: the file's name")
      ->check(label_error);
  command->add_flag("--recurrent", import.is_recurrent, "Mark them for repeated tuning; `configs list` shows the mark");
  command->add_flag("--results", import.with_results,
                    "Keep the times and parameters of the file as foreign results: `configs show` lists them, and "
                    "nothing else uses them");
  add_json_flag(*command, options->json);
  command->callback([options, &chosen] { chosen = [options] { return import_configs(*options); }; });
}

void add_configs_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  add_import_command(command, chosen);
  auto options = std::make_shared<ConfigsOptions>();
  const auto add = [&](const char* name, const char* help, int (*run)(const ConfigsOptions&)) {
    auto* part = command.add_subcommand(name, help);
    part->callback([options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
    return part;
  };
  auto* list = add("list", "List the configurations of a tag, or all", &list_configs);
  list->add_option("-t,--tag", options->tag, "Only those of this tag");
  add_json_flag(*list, options->json);
  constexpr const char* kIds = "Ids or their beginnings, or problems such as \"conv direction=fwd n=1 …\"";
  auto* show = add("show", "Show configurations: where they come from, and their tags", &show_configs);
  show->add_option("configuration", options->ids, kIds)->required();
  add_json_flag(*show, options->json);
  auto* written =
      add("export", "Write a tag's configurations as driver lines, or as a CSV list of shapes", &export_configs);
  written->add_option("-t,--tag", options->tag, "Only those of this tag");
  written->add_option("-o,--output", options->output, "The file, .csv for a list of shapes; default: standard output");
  auto* tag = add("tag", "Give configurations a further tag", &tag_configs);
  tag->add_option("-t,--tag", options->tag, "Name of the set")->required()->check(label_error);
  tag->add_flag("--recurrent", options->recurrent, "Mark them for repeated tuning; `configs list` shows the mark");
  tag->add_option("configuration", options->ids, kIds)->required();
  auto* untag = add("untag", "Take a tag from configurations, or from all that have it", &untag_configs);
  untag->add_option("-t,--tag", options->tag, "Name of the set")->required();
  untag->add_option("configuration", options->ids, kIds);
  command.footer(
      "Examples:\n"
      "  attune configs import -t resnet50 -f resnet50.txt -b 4\n"
      "  attune configs export -t resnet50 -o resnet50_canonical.txt");
}

}  // namespace

Command configs_command() {
  return {CommandGroup::tune, "configs", "Keep the problems that sessions tune: import, list, show, export, tag",
          add_configs_flags};
}

}  // namespace attune
