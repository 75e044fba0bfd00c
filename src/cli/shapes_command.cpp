// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/model_flags.h"
#include "cli/miopen/driver_skips.h"
#include "formats/csv/untuned_table.h"
#include "formats/driver/driver_lines.h"
#include "formats/model_config/model_options.h"
#include "ops/family.h"
#include "ops/op.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct ShapesOptions {
  ModelOptions model;
  std::string dtype, outdtype, op, output;
  std::string driver_lines, batches, command, defaults = "miopen";
  bool strict = false, json = false;
};

/// A shape list to write.
struct OutputFile {
  const FamilySpec* family = nullptr;
  std::filesystem::path path;
  size_t num_shapes = 0;
};

/// Returns one file for one family, or a folder with the families' default names for several.
std::vector<OutputFile> output_files(const ShapesOptions& options, const ModelShapes& shapes) {
  const auto families = families_of(shapes);
  const std::filesystem::path output(options.output);
  const bool is_folder = std::filesystem::is_directory(output);
  if (families.size() > 1 && !is_folder && output.extension() == ".csv") {
    std::vector<std::string> names;
    for (const FamilySpec* family : families) names.emplace_back(family->op);
    fail(ErrorCode::invalid_input,
         "the shapes are of {}, but a file holds one family: choose it with --op, or name a folder: '{}'",
         join(names, ", "), shown(options.output, 500));
  }
  std::vector<OutputFile> files;
  for (const FamilySpec* family : families) {
    const bool below = is_folder || families.size() > 1;
    files.push_back({family, below ? output / untuned_file_name(*family) : output, 0});
  }
  return files;
}

/// Writes all files or none: checks for all predictable failures first.
std::vector<OutputFile> write_files(const ShapesOptions& options, const ModelShapes& shapes) {
  if (options.output.empty()) return {};
  std::vector<OutputFile> files = output_files(options, shapes);
  const bool new_folder = files.size() > 1 && !std::filesystem::exists(options.output);
  for (const OutputFile& file : files) {
    if (!new_folder) check_output(file.path);
    check_untuned_output(file.path, *file.family);
  }
  std::error_code failed;
  if (new_folder) check_output_folder(options.output);
  if (new_folder && !std::filesystem::create_directory(options.output, failed))
    fail(ErrorCode::invalid_input, "cannot create the folder ({}), name another: '{}'", failed.message(),
         shown(options.output, 500));
  for (OutputFile& file : files) {
    const auto problems = problems_of(shapes, *file.family);
    write_file_atomically(file.path, untuned_text(*file.family, problems));
    file.num_shapes = problems.size();
  }
  return files;
}

/// Returns the M of a product's problems, such as `1,512,1024`.
std::string rows_of(const LayerProduct& product) {
  std::vector<std::string> rows;
  for (const Problem& problem : product.problems) rows.push_back(problem.text(product.family->rows));
  return join(rows, ",");
}

/// Returns further details of a product: types, bias, experts.
std::string details_of(const LayerProduct& product) {
  const Problem& problem = product.problems.front();
  if (product.family->op == "fmoe")
    return fmt::format("{} of {} experts, {}", problem.text("topk"), problem.text("expert"), problem.text("q_dtype_w"));
  if (problem.has("q_dtype_w")) return problem.text("q_dtype_w");
  if (!problem.has("dtype")) return "";
  return problem.text("dtype") + (problem.integer_or("bias", 0) != 0 ? " bias" : "");
}

void print_table(const ModelShapes& shapes) {
  size_t name_width = 7, family_width = 6, types_width = 5;
  for (const LayerProduct& product : shapes.products) {
    name_width = std::max(name_width, product.name.size());
    family_width = std::max(family_width, product.family->op.size());
    types_width = std::max(types_width, details_of(product).size());
  }
  const auto print = [&](std::string_view name, std::string_view family, const auto& n, const auto& k,
                         const std::string& types, const std::string& rows) {
    print_line(stdout, fmt::format("{:<{}}  {:<{}}  {:>7}  {:>6}  {:<{}}  {}", name, name_width, family, family_width,
                                   n, k, types, types_width, rows));
  };
  print("product", "family", "N", "K", "types", "M");
  for (const LayerProduct& product : shapes.products)
    print(product.name, product.family->op, product.n, product.k, details_of(product), rows_of(product));
}

void print_as_json(const ModelShapes& shapes, const std::vector<OutputFile>& files) {
  ordered_json products = ordered_json::array(), written = ordered_json::array();
  for (const LayerProduct& product : shapes.products) {
    ordered_json problems = ordered_json::array();
    for (const Problem& problem : product.problems) problems.push_back(problem.key());
    products.push_back({{"name", product.name},
                        {"family", product.family->op},
                        {"n", product.n},
                        {"k", product.k},
                        {"problems", problems}});
  }
  for (const OutputFile& file : files)
    written.push_back({{"family", file.family->op}, {"file", file.path.string()}, {"shapes", file.num_shapes}});
  print_json({{"products", products}, {"notices", shapes.notices}, {"files", written}});
}

/// Lists the convolutions of a file with lines of MIOpenDriver. Problems that the op refuses are named and skipped.
int run_driver_shapes(const ShapesOptions& options) {
  if (!options.model.folder.empty() || !options.outdtype.empty())
    fail(ErrorCode::invalid_input, "-i reads command lines of MIOpenDriver: omit --model_dir and --outdtype");
  const FamilySpec& family = family_of_foreign_file("conv", options.op, "a file of MIOpenDriver lines");
  DriverOptions reading{.command = options.command, .strict = options.strict};
  if (!options.batches.empty()) reading.batches = parse_batches(options.batches);
  if (!options.command.empty()) check_driver_command(options.command);
  if (options.defaults == "mituna") reading.defaults = DriverDefaults::mituna;
  const DriverFile file = read_driver_lines(options.driver_lines, reading);
  std::vector<Problem> problems;
  std::vector<std::string> notices = file.notices;
  for (const DriverProblem& one : file.problems) {
    try {
      const Problem typed = options.dtype.empty() ? one.problem : one.problem.with("dtype", options.dtype);
      problems.push_back(op_of(typed).normalise(typed, {}));
    } catch (const Error& error) {
      notices.push_back(fmt::format("{}:{}: {}", options.driver_lines, one.line, error.what()));
    }
  }
  const bool any_refused = notices.size() > file.notices.size();
  if (any_refused && (options.strict || problems.empty()))
    fail(ErrorCode::invalid_input, "{}", notices[file.notices.size()]);
  if (!options.output.empty()) {
    check_output(options.output);
    check_untuned_output(options.output, family);
    write_file_atomically(options.output, untuned_text(family, problems));
  }
  if (options.json) {
    ordered_json keys = ordered_json::array();
    for (const Problem& problem : problems) keys.push_back(problem.key());
    print_json({{"lines", file.num_lines},
                {"blank", file.num_blank},
                {"convolutions", file.num_convolutions},
                {"skipped", skips_as_json(file.skipped)},
                {"problems", keys},
                {"notices", notices}});
    return 0;
  }
  for (const std::string& notice : notices) print_line(stderr, "note: " + notice);
  if (options.output.empty()) {
    for (const Problem& problem : problems) print_line(stdout, problem.key());
  }
  print_line(
      options.output.empty() ? stderr : stdout,
      fmt::format("{} in {}{}", counted(problems.size(), "problem"), counted(file.num_convolutions, "convolution"),
                  options.output.empty() ? "" : ", written to " + options.output));
  return 0;
}

int run_shapes(const ShapesOptions& options) {
  if (!options.driver_lines.empty()) return run_driver_shapes(options);
  if (!options.batches.empty() || !options.command.empty() || options.strict)
    fail(ErrorCode::invalid_input, "-b, -c and --strict are for the lines of -i");
  if (options.model.folder.empty())
    fail(ErrorCode::invalid_input,
         "give the model with --model_dir DIR, the folder of its config.json, or lines of MIOpenDriver with -i");
  const FamilySpec* family = family_option(options.op);
  ModelShapes shapes = shapes_of_model(options.model, options.dtype, options.outdtype);
  if (family) std::erase_if(shapes.products, [&](const LayerProduct& product) { return product.family != family; });
  if (shapes.products.empty())
    fail(ErrorCode::invalid_input, "the model has no products of the family {}, omit --op to see all", family->op);
  const auto files = write_files(options, shapes);
  if (options.json) {
    print_as_json(shapes, files);
    return 0;
  }
  for (const std::string& notice : shapes.notices) print_line(stderr, "note: " + notice);
  print_table(shapes);
  for (const OutputFile& file : files)
    print_line(stdout,
               fmt::format("{} of {} in {}", counted(file.num_shapes, "shape"), file.family->op, file.path.string()));
  return 0;
}

void add_shapes_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<ShapesOptions>();
  add_model_flags(command, options->model, "Options");
  command.add_option("-i,--driver_lines", options->driver_lines,
                     "Instead of a model: a file of command lines of MIOpenDriver (docs/formats/driver.md)");
  command.add_option("-b,--batches", options->batches, "Of -i: each line once for each batch size, such as 1,2,4");
  command.add_option("-c,--command", options->command,
                     "Of -i: operator of all convolutions, and so their type, such as convfp16");
  command
      .add_option("--defaults", options->defaults,
                  "Of -i: values that a line leaves out, of MIOpenDriver or of the older importer (n 32)")
      ->capture_default_str()
      ->check(CLI::IsMember({"miopen", "mituna"}));
  command.add_flag("--strict", options->strict, "Of -i: fail at the first line that is no convolution");
  command.add_option("--dtype,--indtype", options->dtype,
                     "Data type: bf16, fp16 or fp32; overrides the model's torch_dtype");
  command.add_option("--outdtype", options->outdtype, "Result type; default: the data type");
  command.add_option("--op", options->op, "Only the shapes of one family");
  command.add_option("-o,--untune_file", options->output,
                     "Write the shapes for attune tune -i: one family into this file, several into this folder");
  add_json_flag(command, options->json);
  command.footer(
      "Examples:\n"
      "  attune shapes --model_dir Llama-3.1-70B --tp 8 --nsets 1,512,4096 -o llama70B_bf16_untuned_gemm.csv\n"
      "  attune shapes --model_dir DeepSeek-V3 --tp 8 -o lists/\n"
      "  attune shapes -i resnet50.txt -b 1,4 -o conv_untuned.csv");
  command.callback([options, &chosen] { chosen = [options] { return run_shapes(*options); }; });
}

}  // namespace

Command shapes_command() {
  return {CommandGroup::inspect, "shapes", "List the shapes of a model, or the convolutions of a file of driver lines",
          add_shapes_flags};
}

}  // namespace attune
