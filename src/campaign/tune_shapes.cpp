// SPDX-License-Identifier: MIT
#include "campaign/tune_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/locations.h"
#include "base/text.h"
#include "base/variable.h"
#include "formats/csv/architectures.h"
#include "formats/csv/shape_list.h"
#include "formats/csv/untuned_table.h"
#include "formats/driver/driver_lines.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_shapes.h"
#include "formats/model_config/model_options.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/attribute_setting.h"
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

/// The family that the options name, or the default one.
const FamilySpec& family_of(const TuneOptions& options) {
  const FamilySpec* named = family_option(options.op);
  return named != nullptr ? *named : default_family();
}

/// Refuses the settings for which `fits` is false: `source` already states their values.
template <typename Fits>
void refuse_settings(const TuneOptions& options, std::string_view source, std::string_view why, Fits&& fits) {
  for (const AttributeSetting& setting : options.settings) {
    if (!fits(setting.attribute))
      fail(ErrorCode::invalid_input, "{} cannot be combined with {}: {}", setting.flag, source, why);
  }
}

TuneShapes read_size(const TuneOptions& options, const DeviceInfo& device) {
  if (options.max_m)
    fail(ErrorCode::invalid_input, "--max-m cannot be combined with {}: it skips shapes of a file",
         options.settings.front().flag);
  const FamilySpec& family = family_of(options);
  TuneShapes shapes;
  for (const AttributeSetting& setting : options.settings) {
    if (is_size(setting.attribute)) shapes.source += (shapes.source.empty() ? "" : " ") + setting.flag;
  }
  std::vector<AttributeSetting> settings = options.settings;
  // The script of the Triton repository, whose flags these are, multiplies fp16 if no type is given.
  if (options.op.empty() && find_setting(settings, "dtype") == nullptr) {
    settings.push_back({"dtype", std::string(name(TuneGemmOptions::kDefaultType)), "--dtype"});
    shapes.notices.push_back(
        fmt::format("using {}; choose another type with --dtype", name(TuneGemmOptions::kDefaultType)));
  }
  shapes.problems = {problem_of_size(family, settings, device)};
  shapes.family = &family;
  return shapes;
}

/// The text of a setting; empty: not given.
std::string typed(const TuneOptions& options, std::string_view attribute) {
  const AttributeSetting* setting = find_setting(options.settings, attribute);
  return setting != nullptr ? setting->value : "";
}

bool has_more_rows(const Problem& problem, const TuneOptions& options) {
  return options.max_m && rows_of(problem).value_or(0) > *options.max_m;
}

/// Adds a notice for each reason why results in the file cannot be used on the device. Their sizes are tuned.
void note_unusable_results(const std::vector<TuneGemmEntry>& entries, const std::string& file, const DeviceInfo& device,
                           std::vector<std::string>& notices) {
  const auto note = [&](const auto& why_unusable) {
    std::string first;
    size_t count = 0;
    for (const TuneGemmEntry& entry : entries) {
      const std::string why = why_unusable(entry);
      if (!why.empty() && ++count == 1) first = fmt::format("{}:{}: {}; only its size is used", file, entry.line, why);
    }
    if (count > 1) first += fmt::format(", as of {} such entries", count);
    if (count > 0) notices.push_back(std::move(first));
  };
  note([](const TuneGemmEntry& entry) { return entry.candidate.empty() ? kernel_flaw_of(entry) : ""; });
  note([&](const TuneGemmEntry& entry) {
    return entry.device.empty() || entry.device == device.key() ? "" : "a result of " + shown(entry.device);
  });
}

TuneShapes read_yaml(const TuneOptions& options, const DeviceInfo& device) {
  const FamilySpec& family = *find_family(TuneGemmOptions().op);
  const auto is_of_all = [](std::string_view attribute) { return attribute == "dtype" || attribute == "outdtype"; };
  const auto is_of_a_size = [&](std::string_view attribute) {
    const AttributeSpec* key = find_column(family, attribute);
    return is_of_all(attribute) || attribute == "bias" || (key != nullptr && key->optional);
  };
  refuse_settings(options, "--gemm_size_file", "such a file holds no sizes with it", is_of_a_size);
  TuneGemmOptions reading;
  reading.dtype = dtype_option(typed(options, "dtype"), "--dtype");
  reading.outdtype = dtype_option(typed(options, "outdtype"), "--outdtype");
  const auto set = values_of(family, options.settings);
  const auto file = read_tune_gemm(options.size_file, reading);
  TuneShapes shapes;
  shapes.source = options.size_file;
  shapes.notices = file.notices;
  for (const auto& entry : file.entries) {
    Problem problem = entry.problem;
    for (const auto& [attribute, value] : set) {
      if (!is_of_all(attribute)) problem = problem.with(attribute, value);
    }
    if (has_more_rows(problem, options)) continue;
    add_shape(shapes, problem, options.size_file + ":" + std::to_string(entry.line), device);
  }
  note_unusable_results(file.entries, options.size_file, device, shapes.notices);
  shapes.family = &family;
  return shapes;
}

/// Returns the family's untuned file for a run without -i: in the default folder, else in the configuration folder.
std::string default_input(const TuneOptions& options) {
  const auto name = untuned_file_name(family_of(options));
  const auto file = default_folder(options) / name;
  std::error_code error;
  if (!options.config_dir.empty() || std::filesystem::exists(file, error)) return file.string();
  return (config_location().path / name).string();
}

void check_tunable(const FamilySpec& family, const std::string& source) {
  if (!family.tunable)
    fail(ErrorCode::invalid_input, "this version reads the tables of {} but cannot tune it yet: '{}'", family.op,
         source);
}

/// Takes the problems that the options hold as values.
TuneShapes shapes_of_values(const TuneOptions& options, const DeviceInfo& device) {
  TuneShapes shapes{.family = &family_of(options), .source = "the shapes of a program"};
  check_tunable(*shapes.family, shapes.source);
  for (const Problem& problem : options.problems) add_shape(shapes, problem, "", device);
  return shapes;
}

TuneShapes read_csv(const TuneOptions& options, const DeviceInfo& device) {
  TuneShapes shapes;
  shapes.source = options.input.empty() ? default_input(options) : options.input;
  if (options.input.empty()) shapes.notices.push_back("no -i given: tuning the shapes of " + shapes.source);
  const ShapeList list = read_shapes(shapes.source, {options.op, options.settings, options.max_m});
  shapes.family = list.family;
  shapes.notices.insert(shapes.notices.end(), list.notices.begin(), list.notices.end());
  check_tunable(*list.family, shapes.source);
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

/// The family of a file that holds convolutions.
const FamilySpec& conv_family(const TuneOptions& options, std::string_view file) {
  const FamilySpec& family = family_of_foreign_file("conv", options.op, file);
  if (options.max_m)
    fail(ErrorCode::invalid_input, "--max-m counts rows, and {} holds convolutions, which have none", file);
  return family;
}

/// Reads command lines of MIOpenDriver.
TuneShapes read_driver(const TuneOptions& options, const DeviceInfo& device) {
  const FamilySpec& family = conv_family(options, "a file of MIOpenDriver lines");
  const DriverFile file = read_driver_lines(options.input);
  TuneShapes shapes{.family = &family, .source = options.input, .notices = file.notices};
  const auto set = values_of(family, options.settings);
  std::set<std::string> keys;
  for (const DriverProblem& one : file.problems) {
    Problem problem = one.problem;
    for (const auto& [attribute, value] : set) problem = problem.with(attribute, value);
    if (keys.insert(problem.key()).second)
      add_shape(shapes, problem, options.input + ":" + std::to_string(one.line), device);
  }
  return shapes;
}

/// Reads the problems of MIOpen's find-db.
TuneShapes read_find_db(const TuneOptions& options, const DeviceInfo& device) {
  const FamilySpec& family = conv_family(options, "a find-db");
  refuse_settings(options, "a find-db", "its keys state the problems", [](std::string_view) { return false; });
  MiopenShapes found = read_find_db_shapes(options.input);
  TuneShapes shapes{.family = &family, .source = options.input, .notices = std::move(found.notices)};
  for (const MiopenShape& one : found.shapes)
    add_shape(shapes, one.problem, options.input + ":" + std::to_string(one.line), device);
  return shapes;
}

/// The family of a model's shapes to tune, and a notice about families that this build cannot tune; empty: no notice.
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
  refuse_settings(options, "--model_dir", "the model's config.json states its products",
                  [](std::string_view attribute) { return attribute == "dtype" || attribute == "outdtype"; });
  const ModelShapes model = shapes_of_model(options.model, typed(options, "dtype"), typed(options, "outdtype"));
  const auto [family, notice] = family_of_model(model, options.op);
  TuneShapes shapes{.family = family, .source = options.model.folder, .notices = model.notices};
  if (!notice.empty()) shapes.notices.push_back(notice);
  size_t num_large = 0;
  for (const Problem& problem : problems_of(model, *family)) {
    if (has_more_rows(problem, options))
      ++num_large;
    else
      add_shape(shapes, problem, "", device);
  }
  if (num_large > 0)
    shapes.notices.push_back(
        fmt::format("{} with more than {} rows skipped (--max-m)", counted(num_large, "shape"), *options.max_m));
  return shapes;
}

/// Source of the shapes of a run.
enum class ShapeSource : uint8_t { values, model, size, yaml, driver, find_db, csv, default_csv };

ShapeSource source_of(const TuneOptions& options) {
  const std::pair<bool, ShapeSource> sources[] = {{!options.problems.empty(), ShapeSource::values},
                                                  {!options.model.folder.empty(), ShapeSource::model},
                                                  {is_single_size(options), ShapeSource::size},
                                                  {!options.size_file.empty(), ShapeSource::yaml},
                                                  {!options.input.empty(), ShapeSource::csv}};
  const auto is_given = [](const auto& source) { return source.first; };
  if (std::ranges::count_if(sources, is_given) > 1)
    fail(ErrorCode::invalid_input,
         "give one of -i, --gemm_size_file, --model_dir and the sizes of one problem, such as -m -n -k");
  const auto* const given = std::ranges::find_if(sources, is_given);
  if (given == std::end(sources)) return ShapeSource::default_csv;
  if (given->second != ShapeSource::csv) return given->second;
  if (is_driver_file(options.input)) return ShapeSource::driver;
  return is_find_db(options.input) ? ShapeSource::find_db : ShapeSource::csv;
}

}  // namespace

std::filesystem::path default_folder(const TuneOptions& options) {
  if (!options.config_dir.empty()) return options.config_dir;
  if (const char* named = variable_or_null("ATTUNE_CONFIG_DIR")) return named;
  std::error_code error;
  return std::filesystem::is_directory("configs", error) ? "configs" : "";
}

TuneShapes read_tune_shapes(const TuneOptions& options, const DeviceInfo& device) {
  switch (source_of(options)) {
    case ShapeSource::values:
      return shapes_of_values(options, device);
    case ShapeSource::model:
      return read_model(options, device);
    case ShapeSource::size:
      return read_size(options, device);
    case ShapeSource::yaml:
      return read_yaml(options, device);
    case ShapeSource::driver:
      return read_driver(options, device);
    case ShapeSource::find_db:
      return read_find_db(options, device);
    default:
      return read_csv(options, device);
  }
}

std::vector<std::string> architectures_of_shapes(const TuneOptions& options) {
  switch (source_of(options)) {
    case ShapeSource::csv:
      return architectures_in(options.input);
    case ShapeSource::default_csv:
      return architectures_in(default_input(options));
    case ShapeSource::yaml:
      return architectures_in_tune_gemm(options.size_file);
    default:
      return {};
  }
}

}  // namespace attune
