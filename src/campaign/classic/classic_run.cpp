// SPDX-License-Identifier: MIT
#include "campaign/classic/classic_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/publisher.h"
#include "campaign/tune_inputs.h"
#include "campaign/tune_method.h"
#include "device/device_kind.h"
#include "formats/csv/ban_file.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "report/json_output.h"
#include "report/result_table.h"
#include "solver/registry.h"
#include "tuner/classic/classic.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

std::string method_text(ClassicScript script) { return fmt::format("classic {}", name(script)); }

bool is_right(const ClassicResult& result) { return result.winner && result.verified.ok(); }

ordered_json object_of(const Problem& problem, const ClassicResult& result, double seconds) {
  ordered_json object = {{"problem", problem.key()}, {"winner", nullptr}, {"reason", result.reason}};
  if (result.winner) {
    object["winner"] = result.winner->name();
    object["us"] = result.us;
    object["status"] = name(result.verified.status);
    object["detail"] = result.verified.detail;
  }
  object["num_candidates"] = result.num_candidates;
  object["num_failed"] = result.failures.size();
  object["seconds"] = seconds;
  return object;
}

void print_failures(const ClassicResult& result) {
  for (const auto& [candidate, outcome] : result.failures)
    print_line(stderr, fmt::format("  {}: {}, {}", candidate.name(), name(outcome.status), outcome.detail));
}

void print_shape(const Problem& problem, const ClassicResult& result, double seconds) {
  const std::string shape = short_shape(problem);
  if (!result.winner) return print_line(stderr, fmt::format("{}: no winner, {}", shape, result.reason));
  print_line(stdout, fmt::format("{}: {:.2f} µs, {}; the least of {} ({} failed), {}", shape, result.us,
                                 result.winner->name(), counted(result.num_candidates, "candidate"),
                                 result.failures.size(), format_duration(seconds)));
  if (!result.verified.ok())
    print_line(stderr, fmt::format("{}: the winner is wrong: {}, {}", shape, name(result.verified.status),
                                   result.verified.detail));
}

void write_entry(const std::filesystem::path& yaml, const Problem& problem, const ClassicResult& result,
                 const DeviceInfo& device, ClassicScript script) {
  TuneGemmEntry entry = results_entry(problem, *result.winner, result.us, device);
  entry.parameters.emplace_back("method", method_text(script));
  publish_tune_gemm(yaml, {&entry, 1});
}

std::vector<Environment> open_classic_environments(const TuneOptions& options) {
  if (options.thread_limits.size() > 1) fail(ErrorCode::invalid_input, "--search classic takes one number of threads");
  const Isolation isolation = isolation_option(options.isolation);
  DeviceChoice devices = options.devices;
  if (!options.thread_limits.empty()) devices.threads = options.thread_limits.front();
  devices.ids = ids_to_open(devices, isolation, architectures_of_shapes(options));
  return unless_interrupted([&] { return open_environments(devices, isolation, options.kernels, 1, is_interrupted); });
}

/// Reads the inputs and the user's bans, and prints the notices about them.
TuneInputs read_classic_inputs(const TuneOptions& options, TunerOptions& how, const Environment& first) {
  TuneInputs inputs = read_tune_inputs(options, *first.executor);
  for (const WorkItem& item : inputs.items) check_rule_choice(how.rules, registry(), item.problem, first.device());
  how.bans = bans_of_user(inputs.notices);
  inputs.notices.push_back(fmt::format(
      "--search classic measures as tune_gemm {} did, to compare with it, and writes no table", options.classic));
  print_notices(inputs);
  return inputs;
}

}  // namespace

int run_classic(const TuneOptions& options) {
  TunerOptions how = tuner_options(options);
  const ClassicScript script = parse_classic_script(options.classic);
  const InterruptHandler handler;
  const auto environments = open_classic_environments(options);
  if (environments.empty()) return interrupt_status();
  const DeviceInfo& device = environments.front().device();
  set_constants(how, options, device_kind(device.kind));
  const TuneInputs inputs = read_classic_inputs(options, how, environments.front());
  std::vector<ClassicDevice> devices;
  for (const Environment& one : environments) devices.push_back({*one.executor, one.kernels.get()});
  wait_for_quiet(environments.front(), options.quiet_wait_s, is_interrupted);
  bool all_right = !inputs.items.empty();
  ordered_json results = ordered_json::array();
  for (const WorkItem& item : inputs.items) {
    const double began_s = steady_clock().now_s();
    const ClassicResult result = tune_classic(script, devices, item, how, is_interrupted);
    const double seconds = steady_clock().now_s() - began_s;
    if (is_interrupted()) break;
    all_right = all_right && is_right(result);
    results.push_back(object_of(item.problem, result, seconds));
    if (!options.json) print_shape(item.problem, result, seconds);
    if (options.verbose) print_failures(result);
    if (!inputs.yaml.empty() && is_right(result)) write_entry(inputs.yaml, item.problem, result, device, script);
  }
  if (options.json)
    print_json({{"ending", is_interrupted() ? "interrupted" : "done"},
                {"method", method_text(script)},
                {"device", device.key()},
                {"results", std::move(results)}});
  if (is_interrupted()) return interrupt_status();
  return all_right ? 0 : 1;
}

}  // namespace attune
