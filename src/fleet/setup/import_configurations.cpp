// SPDX-License-Identifier: MIT
#include "fleet/setup/import_configurations.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/csv/shape_list.h"
#include "formats/find_db/find_db.h"
#include "formats/find_db/find_db_shapes.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Gathers normalised problems, each once.
class Gathering {
 public:
  Gathering(const ImportOptions& options, ImportedConfigurations& imported) : options_(options), imported_(imported) {}

  void add(const Problem& problem, size_t line) {
    Problem normal;
    try {
      normal = op_of(problem).normalise(problem, {});
    } catch (const Error& error) {
      const std::string sentence = fmt::format("{}:{}: {}", imported_.name, line, error.what());
      if (options_.driver.strict) fail(ErrorCode::invalid_input, "{}", sentence);
      imported_.notices.push_back(sentence);
      ++imported_.num_refused;
      return;
    }
    const std::string id = configuration_id(normal);
    if (!ids_.insert(id).second) return;
    imported_.configurations.push_back({.id = id,
                                        .op = std::string(normal.op()),
                                        .key = normal.key(),
                                        .line = normal.key(),
                                        .source = source_of(),
                                        .added_at = {},
                                        .tags = {options_.tag},
                                        .is_recurrent = options_.is_recurrent});
  }

  /// Each notice is about a skipped entry.
  void add_notices(std::vector<std::string> notices) {
    if (options_.driver.strict && !notices.empty()) fail(ErrorCode::invalid_input, "{}", notices.front());
    imported_.notices = std::move(notices);
  }

 private:
  std::string source_of() const {
    return options_.source.empty() ? std::filesystem::path(imported_.name).filename().string() : options_.source;
  }

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

void refuse_driver_options(const ImportOptions& options) {
  if (!options.driver.batches.empty() || !options.driver.command.empty())
    fail(ErrorCode::invalid_input, "-b and -c change command lines of MIOpenDriver, and this file has none: '{}'",
         shown(options.file, 500));
}

void refuse_op(const ImportOptions& options, const std::string& name) {
  if (!options.op.empty())
    fail(ErrorCode::invalid_input, "--op is the family of a CSV list of shapes, and this is none: '{}'",
         shown(name, 500));
}

}  // namespace

std::string configuration_id(const Problem& problem) { return hash128(problem.key()).hex(); }

ImportedConfigurations read_configurations(const ImportOptions& options) {
  if (options.file.empty() == options.line.empty())
    fail(ErrorCode::invalid_input, "name one source: a file with -f, or one command line of MIOpenDriver with -d");
  ImportedConfigurations imported;
  imported.name = options.file.empty() ? "-d" : options.file;
  Gathering gathering(options, imported);
  if (!options.line.empty()) {
    refuse_op(options, imported.name);
    add_driver_lines(gathering, imported, parse_driver_lines(options.line, "-d", options.driver));
  } else if (is_driver_file(options.file)) {
    refuse_op(options, imported.name);
    add_driver_lines(gathering, imported, read_driver_lines(options.file, options.driver));
  } else if (is_find_db(options.file)) {
    refuse_op(options, imported.name);
    refuse_driver_options(options);
    FindDbShapes found = read_find_db_shapes(options.file);
    imported.num_lines = found.num_keys;
    imported.num_refused = found.num_untunable;
    gathering.add_notices(std::move(found.notices));
    for (const FindDbShape& one : found.shapes) gathering.add(one.problem, one.line);
  } else {
    refuse_driver_options(options);
    ShapeList list = read_shapes(options.file, {.op = options.op, .settings = {}, .max_rows = {}});
    imported.num_lines = list.shapes.size();
    imported.notices = std::move(list.notices);
    for (const Shape& one : list.shapes) gathering.add(one.problem, one.line);
  }
  if (imported.configurations.empty())
    fail(ErrorCode::invalid_input, "{}",
         imported.notices.empty() ? imported.name + ": there is no configuration in it" : imported.notices.front());
  return imported;
}

ImportCounts store_configurations(FleetStore& store, const ImportOptions& options,
                                  const ImportedConfigurations& imported) {
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
