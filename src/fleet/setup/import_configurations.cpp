// SPDX-License-Identifier: MIT
#include "fleet/setup/import_configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "fleet/setup/issue_text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/shape_list.h"
#include "formats/find_db/fin_results.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_shapes.h"
#include "formats/perf_db/perf_db.h"
#include "formats/perf_db/perf_db_shapes.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Why a store cannot keep a foreign result; empty: it can.
std::string why_not_kept(const MiopenResult& result) {
  constexpr size_t kMaxName = 255, kMaxParams = 65'535;  // Bytes of the store's columns.
  const std::array<std::pair<const char*, const std::string*>, 5> texts = {{{"solver", &result.solver},
                                                                            {"algorithm", &result.algorithm},
                                                                            {"time", &result.time_ms},
                                                                            {"workspace", &result.workspace_bytes},
                                                                            {"parameters", &result.params}}};
  for (const auto& [what, text] : texts) {
    const size_t max = text == &result.params ? kMaxParams : kMaxName;
    if (text->size() > max) return fmt::format("the {} of a result has {} bytes, at most {}", what, text->size(), max);
    if (text->find('\0') != std::string::npos) return fmt::format("the {} of a result has a zero byte", what);
  }
  const auto time = parse_double(result.time_ms);
  if (!result.time_ms.empty() && (!time || !std::isfinite(*time) || *time <= 0))
    return fmt::format("the time of a result is no positive number: '{}'", shown(result.time_ms));
  const auto workspace = parse_int(result.workspace_bytes);
  if (!result.workspace_bytes.empty() && (!workspace || *workspace < 0))
    return fmt::format("the workspace of a result is no number of bytes: '{}'", shown(result.workspace_bytes));
  return {};
}

/// Gathers normalised problems, each once.
class Gathering {
 public:
  Gathering(const ImportOptions& options, ImportedConfigurations& imported) : options_(options), imported_(imported) {}

  /// Returns the configuration's id; empty: its op refuses the problem.
  std::string add(const Problem& problem, size_t line) {
    Problem normal;
    try {
      normal = op_of(problem).normalise(problem, {});
    } catch (const Error& error) {
      const std::string sentence = fmt::format("{}:{}: {}", imported_.name, line, error.what());
      if (options_.driver.strict) fail(ErrorCode::invalid_input, "{}", sentence);
      imported_.notices.push_back(sentence);
      ++imported_.num_refused;
      return {};
    }
    std::string id = configuration_id(normal);
    if (!ids_.insert(id).second) return id;
    imported_.configurations.push_back({.id = id,
                                        .op = std::string(normal.op()),
                                        .key = normal.key(),
                                        .source = imported_.source,
                                        .added_at = {},
                                        .tags = {options_.tag},
                                        .is_recurrent = options_.is_recurrent});
    return id;
  }

  void add(MiopenShapes found) {
    imported_.num_lines = found.num_keys;
    imported_.num_refused = found.num_untunable;
    add_notices(std::move(found.notices));
    std::vector<std::string> ids;
    for (const MiopenShape& one : found.shapes) ids.push_back(add(one.problem, one.line));
    std::set<std::pair<std::string, std::string>> known;  // Two keys may be one configuration.
    for (MiopenResult& one : found.results) {
      const std::string& id = ids[one.shape];
      if (const std::string why = why_not_kept(one); !why.empty())
        fail(ErrorCode::invalid_input, "{}:{}: {}; correct the file, or import it without --results", imported_.name,
             found.shapes[one.shape].line, why);
      if (!id.empty() && known.emplace(id, one.solver).second)
        imported_.foreign.push_back({.configuration = id,
                                     .solver = std::move(one.solver),
                                     .algorithm = std::move(one.algorithm),
                                     .time_ms = std::move(one.time_ms),
                                     .workspace_bytes = std::move(one.workspace_bytes),
                                     .params = std::move(one.params)});
    }
  }

  /// Each notice is about a skipped entry.
  void add_notices(std::vector<std::string> notices) {
    if (options_.driver.strict && !notices.empty()) fail(ErrorCode::invalid_input, "{}", notices.front());
    imported_.notices = std::move(notices);
  }

 private:
  const ImportOptions& options_;
  ImportedConfigurations& imported_;
  std::set<std::string> ids_;
};

void add_driver_lines(Gathering& gathering, ImportedConfigurations& imported, DriverFile file) {
  imported.num_lines = file.num_lines;
  imported.num_blank = file.num_blank;
  imported.num_convolutions = file.num_convolutions;
  imported.skipped = std::move(file.skipped);
  imported.notices = std::move(file.notices);
  for (const DriverProblem& one : file.problems) gathering.add(one.problem, one.line);
}

void refuse_driver_options(const ImportOptions& options, const std::string& name) {
  if (!options.driver.batches.empty() || !options.driver.command.empty())
    fail(ErrorCode::invalid_input, "-b and -c change command lines of MIOpenDriver, and this file has none: '{}'",
         shown(name, 500));
}

void refuse_op(const ImportOptions& options, const std::string& name) {
  if (!options.op.empty())
    fail(ErrorCode::invalid_input, "--op is the family of a CSV list of shapes, and this is none: '{}'",
         shown(name, 500));
}

using MiopenReader = MiopenShapes (*)(const std::filesystem::path&, bool with_results);

/// The reader of a file that names problems of `conv` and what solvers reached; null: it is of another kind.
MiopenReader miopen_reader(const std::string& file) {
  if (is_find_db(file)) return &read_find_db_shapes;
  const bool is_named_database = file.ends_with(".db") || file.ends_with(".udb") || file.ends_with(".kdb");
  if (is_named_database || is_perf_db_text(file) || is_perf_db_sqlite(file)) return &read_perf_db_shapes;
  return !is_yaml(file) && is_fin_results(file) ? &read_fin_results : nullptr;
}

void add_file(Gathering& gathering, ImportedConfigurations& imported, const ImportOptions& options) {
  if (is_driver_file(options.file)) {
    refuse_op(options, imported.name);
    return add_driver_lines(gathering, imported, read_driver_lines(options.file, options.driver));
  }
  refuse_driver_options(options, imported.name);
  if (const MiopenReader read = miopen_reader(options.file); read != nullptr) {
    refuse_op(options, imported.name);
    return gathering.add(read(options.file, options.with_results));
  }
  if (is_yaml(options.file)) {
    refuse_op(options, imported.name);
    const TuneGemmFile sizes = read_tune_gemm(options.file);
    imported.num_lines = sizes.entries.size();
    imported.notices = sizes.notices;
    for (const TuneGemmEntry& one : sizes.entries) gathering.add(one.problem, one.line);
    return;
  }
  ShapeList list = read_shapes(options.file, {.op = options.op, .settings = {}, .max_rows = {}});
  imported.num_lines = list.shapes.size();
  imported.notices = std::move(list.notices);
  for (const Shape& one : list.shapes) gathering.add(one.problem, one.line);
}

/// The driver lines of all blocks as one text in which each line has its number in the issue.
std::string with_line_numbers(const std::vector<FencedBlock>& blocks) {
  std::string text;
  size_t line = 1;
  for (const FencedBlock& block : blocks) {
    text.append(block.first_line - line, '\n').append(block.text);
    line = block.first_line + static_cast<size_t>(std::ranges::count(block.text, '\n'));
  }
  return text;
}

/// Null: a block that is no CSV list of shapes.
std::optional<CsvDocument> shape_table(const FencedBlock& block, const std::string& name) {
  const std::string_view header = split(trim(block.text), '\n').front();
  if (header.find(',') == std::string_view::npos) return std::nullopt;
  if (!is_shape_table(CsvDocument::parse(header, name, block.first_line))) return std::nullopt;
  return CsvDocument::parse(block.text, name, block.first_line);
}

void add_issue(Gathering& gathering, ImportedConfigurations& imported, const ImportOptions& options) {
  std::vector<FencedBlock> driver;
  std::vector<ShapeList> lists;
  std::vector<std::string> notices;
  size_t num_lines = 0;
  for (FencedBlock& block : fenced_blocks(read_file(options.issue, kMaxCsvFileBytes))) {
    num_lines += static_cast<size_t>(std::ranges::count(block.text, '\n'));
    if (block.text.find("MIOpenDriver") != std::string::npos) {
      driver.push_back(std::move(block));
    } else if (const auto table = shape_table(block, imported.name)) {
      lists.push_back(read_shapes(*table, {.op = options.op, .settings = {}, .max_rows = {}}));
    } else {
      notices.push_back(
          fmt::format("{}:{}: a fenced block skipped, it has neither command lines of MIOpenDriver nor a "
                      "CSV list of shapes",
                      imported.name, block.first_line));
    }
  }
  if (driver.empty() && lists.empty())
    fail(ErrorCode::invalid_input,
         "{}: no configuration stands in a fenced block, ask the issue's author for command lines of MIOpenDriver "
         "(MIOPEN_ENABLE_LOGGING_CMD=1 prints them) or a CSV list of shapes, between two lines of ```",
         imported.name);
  if (options.driver.strict && !notices.empty()) fail(ErrorCode::invalid_input, "{}", notices.front());
  if (driver.empty()) {
    refuse_driver_options(options, imported.name);
  } else {
    const std::string text = with_line_numbers(driver);
    add_driver_lines(gathering, imported, parse_driver_lines(text, imported.name, options.driver));
    const auto num_lines_of = [](const std::string& one) { return static_cast<size_t>(std::ranges::count(one, '\n')); };
    size_t num_outside = num_lines_of(text);
    for (const FencedBlock& block : driver) num_outside -= num_lines_of(block.text);
    imported.num_blank -= num_outside;
  }
  if (lists.empty()) refuse_op(options, imported.name);
  imported.num_lines = num_lines;
  for (ShapeList& list : lists) {
    for (const Shape& one : list.shapes) gathering.add(one.problem, one.line);
    std::ranges::move(list.notices, std::back_inserter(imported.notices));
  }
  std::ranges::move(notices, std::back_inserter(imported.notices));
}

void check_source(FleetStore& store, const std::string& source) {
  for (const FleetSession& one : store.sessions()) {
    if (one.custody.source == source)
      fail(ErrorCode::invalid_input,
           "session {} has the results of this source, which --results would replace; name another with --source: '{}'",
           one.id, shown(source, 500));
  }
}

}  // namespace

std::string configuration_id(const Problem& problem) { return hash128(problem.key()).hex(); }

ImportedConfigurations read_configurations(const ImportOptions& options) {
  if (!options.file.empty() + !options.line.empty() + !options.issue.empty() != 1)
    fail(ErrorCode::invalid_input,
         "name one source: a file with -f, one command line of MIOpenDriver with -d, or an issue's text with "
         "--from-issue");
  ImportedConfigurations imported;
  imported.name = !options.file.empty() ? options.file : !options.issue.empty() ? options.issue : "-d";
  imported.source = options.source.empty() ? std::filesystem::path(imported.name).filename().string() : options.source;
  Gathering gathering(options, imported);
  if (!options.issue.empty()) {
    add_issue(gathering, imported, options);
  } else if (options.line.empty()) {
    add_file(gathering, imported, options);
  } else {
    refuse_op(options, imported.name);
    add_driver_lines(gathering, imported, parse_driver_lines(options.line, "-d", options.driver));
  }
  if (imported.configurations.empty())
    fail(ErrorCode::invalid_input, "{}",
         imported.notices.empty() ? imported.name + ": there is no configuration in it" : imported.notices.front());
  if (options.with_results && imported.foreign.empty())
    fail(ErrorCode::invalid_input,
         "--results keeps what a find-db, a perf-db or results of fin state, and this has "
         "none: '{}'",
         shown(imported.name, 500));
  if (imported.source.find('\0') != std::string::npos)
    fail(ErrorCode::invalid_input, "the name of a source has a zero byte: '{}'", shown(imported.source));
  return imported;
}

ImportCounts store_configurations(FleetStore& store, const ImportOptions& options,
                                  const ImportedConfigurations& imported) {
  if (options.with_results) check_source(store, imported.source);
  std::vector<FleetConfiguration> chosen = imported.configurations;
  std::set<std::string> known, tagged;
  store.visit_configurations("", [&](const FleetConfiguration& one) {
    known.insert(one.id);
    for (const std::string& tag : one.tags) {
      if (tag == options.tag) tagged.insert(one.id);
    }
  });
  ImportCounts counts;
  if (options.only_tag)
    counts.num_unknown = std::erase_if(chosen, [&](const FleetConfiguration& one) { return !known.contains(one.id); });
  for (const FleetConfiguration& one : chosen) counts.num_tagged += tagged.contains(one.id) ? 0 : 1;
  counts.num_new = store.add_configurations(chosen);
  return counts;
}

}  // namespace attune
