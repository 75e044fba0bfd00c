// SPDX-License-Identifier: MIT
#include "campaign/tune_inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/existing_rows.h"
#include "campaign/tune_method.h"
#include "compile/compiler.h"
#include "device/device_kind.h"
#include "formats/csv/table.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "measure/bench.h"
#include "ops/op.h"
#include "report/evidence_file.h"
#include "report/output_files.h"
#include "solver/modules/library_settings.h"
#include "solver/registry.h"

namespace attune {
namespace {

/// Returns the tables of a run. A classic search has none, because a row cannot say that it was found so.
OutputTables table_files(const TuneOptions& options, const FamilySpec& family) {
  if (options.search == kClassicSearch) return {};
  if (!options.output.empty()) return {split_table_paths(options.output).front(), options.output};
  if (is_single_size(options) || !options.size_file.empty()) return {};
  const auto table = default_folder(options) / family.default_file;
  return {table, table.string()};
}

/// Returns the YAML file of winners; empty: none.
std::filesystem::path yaml_file(const TuneOptions& options, const DeviceInfo& device) {
  if (!options.size_file.empty() && options.results_file.empty())
    return "tuning_results_" + std::string(options.search == kClassicSearch ? "classic_" : "") + device.gfx + "_" +
           utc_text("%Y-%m-%d") + ".yaml";
  return is_single_size(options) || !options.size_file.empty() ? options.results_file : "";
}

void check_outputs(const TuneOptions& options, const std::filesystem::path& table, const std::filesystem::path& yaml) {
  for (const auto& path : {table, yaml}) {
    if (!path.empty()) check_output(path);
  }
  if (is_yaml(table.native()))
    fail(ErrorCode::invalid_input,
         "-o names a CSV table, and this is a file of YAML, which --tuning_results_file writes for a size or a list in "
         "YAML: '{}'",
         shown(table.native(), 500));
  const std::vector<OutputFile> outputs = {{"--gemm_size_file", options.size_file},
                                           {"-o", table},
                                           {"--tuning_results_file", yaml},
                                           {"--profile_file", options.profile_file}};
  check_distinct_outputs(outputs, {"--journal", journal_file(options.journal)});
  if (!yaml.empty()) check_tune_gemm_results(yaml);
  if (!options.profile_file.empty()) check_evidence_output(options.profile_file);
  if (options.keep_dir.empty()) return;
  check_output_folder(options.keep_dir);
  if (const auto kept = std::filesystem::path(options.keep_dir) / kKeptCandidates; std::filesystem::exists(kept))
    check_evidence_output(kept);
}

/// Returns notices about this machine and environment.
std::vector<std::string> surroundings(const DeviceInfo& device, const TuneOptions& options) {
  const std::vector<std::string>& variables = options.variables;
  std::vector<std::string> notices;
  if (options.warmup && options.search != "exhaustive")
    notices.push_back(
        fmt::format("--warmup {} has no effect: it counts the untimed rounds of --search exhaustive, and --search {} "
                    "chooses its own",
                    *options.warmup, options.search));
  if (parse_timed_values(options.init_type) != TimedValues::randn)
    notices.push_back(
        fmt::format("kernels are timed with the values {} (--init_type); the rows do not say so", options.init_type));
  if (!variables.empty()) {
    notices.push_back(fmt::format("these variables are set in the environment and may slow libraries down: {}",
                                  fmt::join(variables, ", ")));
  }
  const auto online = static_cast<int64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (units_are_cores(device) && device.num_units < online) {
    notices.push_back(fmt::format("the rows are for {}: this machine has {} cores",
                                  counted(static_cast<size_t>(device.num_units), "thread"), online));
  }
  std::string missing;
  for (const SolverEntry& entry : registry().entries()) {
    if (!entry.solver) missing += (missing.empty() ? "" : ", ") + entry.id;
  }
  if (!missing.empty())
    notices.push_back("solvers that are not available on this machine (`attune list solvers` states why): " + missing);
  for (const Compiler* const compiler : compilers()) {
    if (std::string notice = compiler->targets(device.gfx) ? compiler->notice() : ""; !notice.empty())
      notices.push_back(std::move(notice));
  }
  for (const char* variable : {"GEMM_A4W4_BLOCKWISE_HIP_CLANG_PATH", "ATTUNE_HIP_CLANG_PATH"}) {
    if (std::getenv(variable)) notices.push_back(fmt::format("{} is set, but this build has no HIP solver", variable));
  }
  if (const auto cache = path_if_any(cache_location); !cache.empty() && is_mounted_noexec(cache))
    notices.push_back(
        fmt::format("compiled kernels are kept in a folder that is mounted noexec: this run times them, but "
                    "programs cannot load them, set ATTUNE_CACHE to another: '{}'",
                    cache.string()));
  return notices;
}

/// Refuses `--init_type` for problems whose operands it does not describe.
void check_values(const TuneOptions& options, const TuneShapes& shapes) {
  if (parse_timed_values(options.init_type) == TimedValues::randn) return;
  for (const Problem& problem : shapes.problems) {
    for (const TensorSpec& spec : op_of(problem).tensors(problem)) {
      if (spec.use == Use::scale || spec.use == Use::index || spec.use == Use::output || has_timed_values(spec))
        continue;
      fail(ErrorCode::invalid_input,
           "--init_type {} gives values of fp32, bf16 and fp16, but the operand {} of {} is {}; leave it out",
           options.init_type, spec.role, problem.op(), name(spec.dtype));
    }
  }
}

}  // namespace

std::vector<std::string> library_variables() {
  std::vector<std::string> set;
  for (const std::string_view variable : recorded_settings()) {
    if (const char* value = std::getenv(variable.data())) set.push_back(fmt::format("{}={}", variable, value));
  }
  return set;
}

TuneInputs read_tune_inputs(const TuneOptions& options, Executor& executor) {
  const DeviceInfo& device = executor.device();
  TuneShapes shapes = read_tune_shapes(options, device);
  check_values(options, shapes);
  const OutputTables tables = table_files(options, *shapes.family);
  if (options.output.empty() && options.config_dir.empty() && !tables.output.empty())
    shapes.notices.push_back("no -o given: writing " + tables.output.string());
  const std::filesystem::path yaml = yaml_file(options, device);
  check_outputs(options, tables.output, yaml);
  ExistingRows existing = read_existing_rows(options, shapes, tables, executor);
  std::vector<std::string> notices = std::move(shapes.notices);
  notices.insert(notices.end(), existing.notices.begin(), existing.notices.end());
  for (std::string& notice : surroundings(device, options)) notices.push_back(std::move(notice));
  return {.family = shapes.family,
          .source = std::move(shapes.source),
          .items = std::move(existing.items),
          .skipped = std::move(shapes.skipped),
          .notices = std::move(notices),
          .table = tables.output,
          .yaml = yaml};
}

void print_notices(const TuneInputs& inputs) {
  print_notes(inputs.notices);
  for (const SkippedShape& one : inputs.skipped)
    print_line(stderr, fmt::format("skipped {}: {}", one.shape, one.reason));
}

}  // namespace attune
