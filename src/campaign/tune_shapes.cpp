// SPDX-License-Identifier: MIT
#include "campaign/tune_shapes.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/locations.h"
#include "base/text.h"
#include "formats/csv/shape_list.h"
#include "formats/csv/untuned_table.h"
#include "formats/model_config/model_options.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Adds a shape, or records why it cannot be tuned: a family without an op, or values that the op does not accept.
void add_shape(TuneShapes& shapes, const Problem& problem, const std::string& where, const DeviceInfo& device) {
  try {
    shapes.problems.push_back(op_of(problem).normalise(problem, device));
  } catch (const Error& error) {
    // The syntax was accepted, so this is an unsupported shape and not a broken file.
    shapes.skipped.push_back({where.empty() ? problem.key() : where + " " + problem.key(), error.what()});
  }
}

TuneShapes read_size(const TuneOptions& options, const DeviceInfo& device) {
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
  TuneShapes shapes;
  shapes.source = "-m -n -k";
  shapes.problems = {op_of(problem).normalise(problem, device)};
  shapes.family = find_family(op);
  return shapes;
}

TuneShapes read_yaml(const TuneOptions& options, const DeviceInfo& device) {
  TuneGemmOptions reading;
  reading.dtype = dtype_option(options.indtype, "--dtype");
  reading.outdtype = dtype_option(options.outdtype, "--outdtype");
  if (options.bias) reading.bias = true;
  const auto file = read_tune_gemm(options.size_file, reading);
  TuneShapes shapes;
  shapes.source = options.size_file;
  shapes.notices = file.notices;
  for (const auto& entry : file.entries) {
    if (options.max_m && entry.problem.integer("m") > *options.max_m) continue;
    add_shape(shapes, entry.problem, options.size_file + ":" + std::to_string(entry.line), device);
  }
  shapes.family = find_family("gemm_a16w16");
  return shapes;
}

/// Returns the family's untuned file in the configuration folder, for a run without -i.
std::string default_input(const TuneOptions& options) {
  const std::string op = options.op.empty() ? "gemm_a16w16" : options.op;
  const FamilySpec* family = find_family(op);
  if (!family) fail(ErrorCode::invalid_input, "unknown family, see `attune list ops`: '{}'", op);
  const auto folder = options.config_dir.empty() ? config_location().path : std::filesystem::path(options.config_dir);
  return (folder / untuned_file_name(*family)).string();
}

TuneShapes read_csv(const TuneOptions& options, const DeviceInfo& device) {
  TuneShapes shapes;
  shapes.source = options.input.empty() ? default_input(options) : options.input;
  if (options.input.empty()) shapes.notices.push_back("no -i given: tuning the shapes of " + shapes.source);
  ShapeOptions reading;
  reading.op = options.op;
  reading.indtype = dtype_option(options.indtype, "--dtype");
  reading.outdtype = dtype_option(options.outdtype, "--outdtype");
  reading.max_m = options.max_m;
  if (options.bias) reading.bias = true;
  if (options.trans_a) reading.trans_a = true;
  if (!options.trans_b) reading.trans_b = false;
  const ShapeList list = read_shapes(shapes.source, reading);
  shapes.family = list.family;
  shapes.notices.insert(shapes.notices.end(), list.notices.begin(), list.notices.end());
  if (!list.family->tunable)
    fail(ErrorCode::invalid_input, "this version reads the tables of {} but cannot tune it yet: '{}'", list.family->op,
         shapes.source);
  const CapturedLimits* const limits = options.captured_limits;
  size_t num_others = 0;
  for (const auto& shape : list.shapes) {
    if (limits != nullptr && !limits->contains(shape.problem, device.num_units))
      ++num_others;
    else
      add_shape(shapes, shape.problem, shapes.source + ":" + std::to_string(shape.line), device);
  }
  if (num_others > 0)
    shapes.notices.push_back(
        fmt::format("{} of the capture were called under other thread limits only and are left to "
                    "the runs for those (--threads chooses)",
                    counted(num_others, "shape")));
  return shapes;
}

/// The family of a model's shapes to tune, and a notice about families that this build cannot tune; empty: there are
/// none.
struct ModelFamily {
  const FamilySpec* family = nullptr;
  std::string notice;
};
ModelFamily family_of_model(const ModelShapes& shapes, const std::string& op) {
  const FamilySpec* named = family_option(op);
  std::vector<const FamilySpec*> tunable;
  std::vector<std::string> skipped, names;
  for (const FamilySpec* family : families_of(shapes)) {
    if (named && family != named) continue;
    if (family->tunable) {
      tunable.push_back(family);
      names.emplace_back(family->op);
    } else {
      skipped.push_back(fmt::format("{} ({})", family->op, counted(problems_of(shapes, *family).size(), "shape")));
    }
  }
  if (tunable.empty() && skipped.empty())
    fail(ErrorCode::invalid_input, "the model has no products of the family {}, `attune shapes` lists them", op);
  if (tunable.empty())
    fail(ErrorCode::invalid_input,
         "this version cannot tune the products of the model: {}; attune shapes -o writes their lists",
         join(skipped, ", "));
  if (tunable.size() > 1)
    fail(ErrorCode::invalid_input,
         "the model has products of several families, tune them one after the other with --op: {}", join(names, ", "));
  if (skipped.empty()) return {tunable.front(), ""};
  return {tunable.front(), "this version cannot tune these families and skips them: " + join(skipped, ", ")};
}

TuneShapes read_model(const TuneOptions& options, const DeviceInfo& device) {
  const ModelShapes model = shapes_of_model(options.model, options.indtype, options.outdtype);
  const auto [family, notice] = family_of_model(model, options.op);
  TuneShapes shapes{.family = family, .source = options.model.folder, .notices = model.notices};
  if (!notice.empty()) shapes.notices.push_back(notice);
  size_t num_large = 0;
  for (const Problem& problem : problems_of(model, *family)) {
    if (options.max_m && problem.integer("m") > *options.max_m)
      ++num_large;
    else
      add_shape(shapes, problem, "", device);
  }
  if (num_large > 0)
    shapes.notices.push_back(
        fmt::format("{} with more than {} rows skipped (--max-m)", counted(num_large, "shape"), *options.max_m));
  return shapes;
}

}  // namespace

TuneShapes read_tune_shapes(const TuneOptions& options, const DeviceInfo& device) {
  const bool is_size = is_single_size(options), of_model = !options.model.folder.empty();
  if (int{is_size} + int{!options.input.empty()} + int{!options.size_file.empty()} + int{of_model} > 1)
    fail(ErrorCode::invalid_input, "give one of -i, --gemm_size_file, --model_dir and -m -n -k");
  if (of_model) return read_model(options, device);
  if (is_size) return read_size(options, device);
  if (!options.size_file.empty()) return read_yaml(options, device);
  return read_csv(options, device);
}

}  // namespace attune
