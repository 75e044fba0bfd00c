// SPDX-License-Identifier: MIT
#include "campaign/tune_inputs.h"

#include <ctime>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/evidence_file.h"
#include "campaign/model_inputs.h"
#include "campaign/open_devices.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/shape_list.h"
#include "formats/csv/table.h"
#include "formats/csv/untuned_table.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/family.h"
#include "ops/op.h"
#include "report/result_table.h"

namespace attune {
namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

/// Adds a shape, or records why it cannot be tuned: a family without an op, or values that the op does not accept.
void add_shape(TuneInputs& inputs, const Problem& problem, const std::string& where, const DeviceInfo& device) {
  try {
    inputs.items.push_back({op_of(problem).normalise(problem, device), std::nullopt});
  } catch (const Error& error) {
    // The syntax was accepted, so this is an unsupported shape and not a broken file.
    inputs.skipped.push_back({where.empty() ? problem.key() : where + " " + problem.key(), error.what()});
  }
}

void read_single_size(const TuneOptions& options, const DeviceInfo& device, TuneInputs& inputs) {
  if (!options.m || !options.n || !options.k) fail(ErrorCode::invalid_input, "one size needs all of -m, -n and -k");
  const std::string op = options.op.empty() ? "gemm_a16w16" : options.op;
  std::vector<std::pair<std::string, std::string>> attributes = {
      {"m", std::to_string(*options.m)}, {"n", std::to_string(*options.n)}, {"k", std::to_string(*options.k)}};
  if (!options.indtype.empty()) attributes.emplace_back("dtype", options.indtype);
  if (!options.outdtype.empty()) attributes.emplace_back("outdtype", options.outdtype);
  if (options.bias) attributes.emplace_back("bias", "1");
  if (options.trans_a) attributes.emplace_back("trans_a", "1");
  if (!options.trans_b) attributes.emplace_back("trans_b", "0");
  const Problem problem(op, std::move(attributes));
  inputs.items.push_back({op_of(problem).normalise(problem, device), std::nullopt});
  inputs.family = find_family(op);
}

void read_yaml_sizes(const TuneOptions& options, const DeviceInfo& device, TuneInputs& inputs) {
  TuneGemmOptions reading;
  reading.dtype = dtype_option(options.indtype, "--dtype");
  reading.outdtype = dtype_option(options.outdtype, "--outdtype");
  if (options.bias) reading.bias = true;
  const auto file = read_tune_gemm(options.size_file, reading);
  inputs.notices = file.notices;
  for (const auto& entry : file.entries) {
    if (options.max_m && entry.problem.integer("m") > *options.max_m) continue;
    add_shape(inputs, entry.problem, options.size_file + ":" + std::to_string(entry.line), device);
  }
  inputs.family = find_family("gemm_a16w16");
  inputs.yaml = options.results_file.empty() ? "tuning_results_" + std::string(device.gfx) + "_" + today() + ".yaml"
                                             : options.results_file;
}

void read_csv_shapes(const TuneOptions& options, const std::string& file, const DeviceInfo& device,
                     TuneInputs& inputs) {
  ShapeOptions reading;
  reading.op = options.op;
  reading.indtype = dtype_option(options.indtype, "--dtype");
  reading.outdtype = dtype_option(options.outdtype, "--outdtype");
  reading.max_m = options.max_m;
  if (options.bias) reading.bias = true;
  if (options.trans_a) reading.trans_a = true;
  if (!options.trans_b) reading.trans_b = false;
  auto list = read_shapes(file, reading);
  inputs.family = list.family;
  inputs.notices.insert(inputs.notices.end(), list.notices.begin(), list.notices.end());
  if (!list.family->tunable)
    fail(ErrorCode::invalid_input, "this version reads the tables of {} but cannot tune it yet: '{}'", list.family->op,
         file);
  for (const auto& shape : list.shapes)
    add_shape(inputs, shape.problem, file + ":" + std::to_string(shape.line), device);
}

/// Chooses the family of a model's shapes to tune; reports and skips families that this build cannot tune.
const FamilySpec* choose_family(const TuneOptions& options, const ModelShapes& shapes, TuneInputs& inputs) {
  const FamilySpec* named = family_option(options.op);
  std::vector<const FamilySpec*> tunable;
  std::vector<std::string> left_out, names;
  for (const FamilySpec* family : families_of(shapes)) {
    if (named && family != named) continue;
    if (family->tunable) {
      tunable.push_back(family);
      names.emplace_back(family->op);
    } else {
      left_out.push_back(fmt::format("{} ({})", family->op, counted(problems_of(shapes, *family).size(), "shape")));
    }
  }
  if (tunable.empty() && left_out.empty())
    fail(ErrorCode::invalid_input, "the model has no products of the family {}, see attune shapes", options.op);
  if (tunable.empty())
    fail(ErrorCode::invalid_input, "this version cannot tune what the model has: {}; attune shapes -o writes the lists",
         join(left_out, ", "));
  if (tunable.size() > 1)
    fail(ErrorCode::invalid_input, "the model has products of several families, tune one after the other with --op: {}",
         join(names, ", "));
  if (!left_out.empty())
    inputs.notices.push_back("this version cannot tune them, so they are left out: " + join(left_out, ", "));
  return tunable.front();
}

void read_model_shapes(const TuneOptions& options, const DeviceInfo& device, TuneInputs& inputs) {
  const ModelShapes shapes = shapes_of_model(options.model, options.indtype, options.outdtype);
  inputs.notices = shapes.notices;
  inputs.family = choose_family(options, shapes, inputs);
  size_t num_large = 0;
  for (const Problem& problem : problems_of(shapes, *inputs.family)) {
    if (options.max_m && problem.integer("m") > *options.max_m)
      ++num_large;
    else
      add_shape(inputs, problem, "", device);
  }
  if (num_large > 0)
    inputs.notices.push_back(
        fmt::format("{} with more than {} rows left out (--max-m)", counted(num_large, "shape"), *options.max_m));
}

/// Returns the family's untuned file in the configuration folder, for a run without -i.
std::string default_input(const TuneOptions& options) {
  const std::string op = options.op.empty() ? "gemm_a16w16" : options.op;
  const FamilySpec* family = find_family(op);
  if (!family) fail(ErrorCode::invalid_input, "unknown family, see `attune list ops`: '{}'", op);
  const auto folder = options.config_dir.empty() ? config_location().path : std::filesystem::path(options.config_dir);
  return (folder / untuned_file_name(*family)).string();
}

void fix_table(const TuneOptions& options, TuneInputs& inputs) {
  const bool single = options.m || options.n || options.k;
  if (!options.output.empty()) {
    inputs.merged_tables = options.output;
    inputs.table = split_table_paths(options.output).front();
  } else if (!options.config_dir.empty() && !single && inputs.yaml.empty()) {
    inputs.table = std::filesystem::path(options.config_dir) / inputs.family->default_file;
    inputs.merged_tables = inputs.table.string();
  } else if (!single && inputs.yaml.empty()) {
    fail(ErrorCode::invalid_input,
         "say where the table goes: -o tuned.csv, or --config-dir DIR for the family's default file");
  }
}

}  // namespace

TuneInputs read_tune_inputs(const TuneOptions& options, const DeviceInfo& device) {
  TuneInputs inputs;
  const bool single = options.m || options.n || options.k, of_model = !options.model.folder.empty();
  inputs.source = "-m -n -k";
  if (int{single} + int{!options.input.empty()} + int{!options.size_file.empty()} + int{of_model} > 1) {
    fail(ErrorCode::invalid_input, "give one of -i, --gemm_size_file, --model_dir and -m -n -k");
  }
  if (of_model) {
    inputs.source = options.model.folder;
    read_model_shapes(options, device, inputs);
  } else if (single) {
    read_single_size(options, device, inputs);
  } else if (!options.size_file.empty()) {
    inputs.source = options.size_file;
    read_yaml_sizes(options, device, inputs);
  } else {
    const std::string file = options.input.empty() ? default_input(options) : options.input;
    inputs.source = file;
    if (options.input.empty()) inputs.notices.push_back("no -i given: tuning the shapes of " + file);
    read_csv_shapes(options, file, device, inputs);
  }
  fix_table(options, inputs);
  if (single && !options.results_file.empty()) inputs.yaml = options.results_file;
  for (const auto& path : {inputs.table, inputs.yaml}) {
    if (!path.empty()) check_output(path);
  }
  if (!inputs.yaml.empty()) check_tune_gemm_results(inputs.yaml);
  if (!options.profile_file.empty()) check_evidence_output(options.profile_file);
  if (options.keep_dir.empty()) return inputs;
  check_output_folder(options.keep_dir);
  if (const auto kept = std::filesystem::path(options.keep_dir) / kKeptCandidates; std::filesystem::exists(kept))
    check_evidence_output(kept);
  return inputs;
}

}  // namespace attune
