// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "formats/driver/driver_lines.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/foreign_results.h"

namespace attune {

/// The source of an import, and the notes that are kept with its configurations.
struct ImportOptions {
  /// Driver lines, a find-db, a perf-db, results of fin, YAML sizes, or a CSV list of shapes of any op.
  std::string file;
  std::string line;  ///< Instead of a file: one driver line.
  /// Instead of a file: the text of a GitHub issue, whose fenced blocks have driver lines or CSV lists of shapes.
  std::string issue;
  DriverOptions driver;
  std::string op;  ///< Family of a CSV list; empty: chosen by family_of_file().
  std::string tag;
  std::string source;         ///< `customer`, `benchmark`, `issue#N`; empty: the file's name.
  bool only_tag = false;      ///< Configurations that are not in the store are not added.
  bool is_recurrent = false;  ///< To be tuned again when a solver changes.
  bool with_results = false;  ///< Keep what the file says of solvers as foreign results.
};

/// The configurations of a source, each once.
struct ImportedConfigurations {
  std::vector<FleetConfiguration> configurations;
  std::string name;  ///< Of the source, for messages.
  /// Of driver lines: num_lines = num_blank + num_convolutions + the lines of `skipped`. Of others: num_lines counts
  /// the entries.
  size_t num_lines = 0, num_blank = 0, num_convolutions = 0;
  std::vector<DriverSkip> skipped;
  size_t num_refused = 0;            ///< Problems that their op does not accept.
  std::vector<std::string> notices;  ///< One sentence each, with file and line.
  std::string source;                ///< Under which foreign results are kept.
  std::vector<ForeignResult> foreign;
};

/// Reads and normalises the problems; stores nothing. Throws invalid_input `lines.txt:17: …` for a broken file and
/// one of another kind, for a source without any configuration, with DriverOptions::strict for the first skipped line
/// or problem, and for foreign results of a file that has none.
ImportedConfigurations read_configurations(const ImportOptions& options);

/// What an import changed.
struct ImportCounts {
  size_t num_new = 0, num_tagged = 0;
  size_t num_unknown = 0;  ///< With only_tag: not in the store, so not tagged.
};
/// Foreign results are stored by ForeignResults::replace(). With with_results, throws invalid_input if an imported
/// session has the source.
ImportCounts store_configurations(FleetStore& store, const ImportOptions& options,
                                  const ImportedConfigurations& imported);

/// The identity of a normalised problem in a store: the 128-bit hash of its key as 32 hexadecimal digits.
std::string configuration_id(const Problem& problem);

}  // namespace attune
