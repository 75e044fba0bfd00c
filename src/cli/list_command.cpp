// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/device_view.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/kernel_flag.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/python_flag.h"
#include "cli/flags/run_flags.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "formats/device_info/device_info.h"
#include "ops/op.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver/static/rule_choice.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ListOptions {
  std::string what, problem, info_file;
  DeviceChoice devices;
  std::string rules{kDefaultRuleSet};
  std::vector<std::string> where;
  bool pruned = false, json = false;
};

int list_solvers(bool json) {
  ordered_json list = ordered_json::array();
  print_notes(registry().notices());
  for (const SolverEntry& entry : registry().entries()) {
    const std::string reason = Registry::why_unavailable(entry);
    if (json) {
      list.push_back({{"id", entry.id},
                      {"title", entry.title},
                      {"available", reason.empty()},
                      {"reason", reason},
                      {"version", entry.solver ? std::string(entry.solver->version()) : ""},
                      {"thread_pool", entry.solver ? std::string(entry.solver->thread_pool()) : ""}});
    } else {
      std::printf("%-16s %s%s%s\n", entry.id.c_str(), entry.title.c_str(),
                  reason.empty() ? "" : "  UNAVAILABLE: ", reason.c_str());
    }
  }
  if (json) print_json(list);
  return 0;
}

int list_known_devices(bool json) {
  ordered_json list = ordered_json::array();
  print_notes(registry().notices());
  print_notes(device_notices());
  for (const DeviceInfo& device : list_devices()) {
    if (json) {
      list.push_back(device_json(device));
    } else {
      std::printf("%-8s %-24s %11s  %6.1f GiB  %s\n", device.id.c_str(), device.gfx.c_str(), units_text(device).c_str(),
                  static_cast<double>(device.memory_bytes) / (1 << 30), device.model.c_str());
    }
  }
  if (json) print_json(list);
  return 0;
}

int list_ops(bool json) {
  ordered_json list = ordered_json::array();
  print_notes(registry().notices());
  for (const FamilySpec& family : families()) {
    if (json) {
      ordered_json attributes = ordered_json::array();
      if (const Op* op = find_op(family.op)) {
        for (const AttributeSpec& attribute : op->family().key)
          attributes.push_back({{"name", attribute.name},
                                {"default", attribute.default_value},
                                {"help", attribute.help},
                                {"values", attribute.allowed}});
      }
      ordered_json key = ordered_json::array();
      for (const AttributeSpec& column : family.key)
        key.push_back({{"attribute", column.name}, {"column", column.column}, {"default", column.default_value}});
      list.push_back({{"op", family.op},
                      {"number", static_cast<int>(family.number)},
                      {"title", family.title},
                      {"table", family.default_file},
                      {"variable", "ATTUNE_CONFIG_" + std::string(family.variable)},
                      {"tunable", family.tunable},
                      {"key", key},
                      {"attributes", attributes}});
    } else {
      std::printf("%-34s %-46s %s\n", std::string(family.op).c_str(), std::string(family.default_file).c_str(),
                  family.tunable ? "tunable" : "tables only");
    }
  }
  if (json) print_json(list);
  return 0;
}

int list_candidates(const ListOptions& options) {
  if (options.problem.empty())
    fail(ErrorCode::invalid_input, "give a problem: attune list candidates \"gemm_a16w16 m=64 n=64 k=64 dtype=fp32\"");
  DeviceView view({options.devices, options.info_file, {}});
  const DeviceInfo& device = view.device();
  const Problem problem = parse_problem(options.problem, device);
  ordered_json list = ordered_json::array();
  const RuleChoice rules = parse_rule_choice(options.rules, options.where, registry());
  check_rule_choice(rules, registry(), problem, device);
  for (Contender& contender : view.contenders(problem)) {
    contender.space = rules.apply(contender.space, contender.solver);
    ordered_json object = {{"solver", contender.solver},
                           {"version", contender.version},
                           {"supported", contender.support.yes},
                           {"reason", contender.support.reason}};
    if (!contender.support.yes) {
      if (!options.json) std::printf("%s: %s\n", contender.solver.c_str(), contender.support.reason.c_str());
      list.push_back(std::move(object));
      continue;
    }
    const PruneResult pruned = prune(contender.space, problem, device, 0);
    object["size"] = contender.space.size();
    object["allowed"] = pruned.allowed.size();
    object["rejected"] = pruned.rejected_by;
    object["sampled"] = pruned.sampled;
    if (options.json) {
      object["candidates"] = ordered_json::array();
      object["numbers"] = contender.parts.empty() ? ordered_json(pruned.allowed) : ordered_json::array();
      for (const uint64_t index : pruned.allowed)
        object["candidates"].push_back(
            Candidate{contender.solver, contender.version, contender.space.at(index)}.name());
      list.push_back(std::move(object));
      continue;
    }
    print_line(stdout, contender.solver + ": " + pruned.count_text(contender.space));
    for (const uint64_t index : pruned.allowed) {
      const Candidate candidate{contender.solver, contender.version, contender.space.at(index)};
      const std::string number = contender.parts.empty() ? "  #" + std::to_string(index) : "";
      std::printf("  %s%s%s\n", candidate.name().c_str(), number.c_str(),
                  candidate.config == contender.default_config ? "  (default)" : "");
    }
    if (!options.pruned) continue;
    for (const Rule& rule : contender.space.search_rules()) {
      std::printf("  %llu excluded by %s: %s (%s)\n", static_cast<unsigned long long>(pruned.num_rejected_by(rule.id)),
                  rule.id.c_str(), rule.reason.c_str(), rule.expression.c_str());
    }
  }
  if (options.json) print_json(list);
  return 0;
}

int run_list(const ListOptions& options) {
  if (options.what.empty())
    fail(ErrorCode::invalid_input, "name what to list: solvers, devices, ops or candidates (of a problem)");
  if (options.what != "candidates" && !options.info_file.empty())
    fail(ErrorCode::invalid_input, "--device-info is for `attune list candidates` only");
  if (options.what != "candidates" && !options.problem.empty())
    fail(ErrorCode::invalid_input, "attune list {} takes no argument '{}'; see attune list --help", options.what,
         shown(options.problem));
  if (options.what != "candidates" && (!options.where.empty() || options.rules != kDefaultRuleSet))
    fail(ErrorCode::invalid_input, "--rules and --where are for `attune list candidates` only");
  if (options.what == "solvers") return list_solvers(options.json);
  if (options.what == "devices") return list_known_devices(options.json);
  if (options.what == "ops") return list_ops(options.json);
  return list_candidates(options);
}

void add_list_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ListOptions>();
  command.add_option("what", options->what, "solvers, devices, ops or candidates")
      ->check(one_of({"solvers", "devices", "ops", "candidates"}));
  command.add_option("problem", options->problem, "For candidates: \"gemm_a16w16 m=64 n=64 k=64 dtype=fp32\"");
  add_device_flags(command, options->devices, "For candidates, by default of the first GPU, else of cpu:0");
  add_device_info_flag(command, options->info_file);
  add_rule_flags(command, options->rules, options->where);
  add_python_flag(command);
  add_kernel_flag(command);
  command.add_flag("--pruned", options->pruned, "Also list the configs that rules exclude, and why");
  add_json_flag(command, options->json);
  command.callback([options, &chosen] { chosen = [options] { return run_list(*options); }; });
}

}  // namespace

Command list_command() {
  return {CommandGroup::inspect, "list", "List solvers, devices, ops, or the candidates of a problem", add_list_flags};
}

}  // namespace attune
