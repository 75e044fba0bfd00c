// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "formats/driver/driver_lines.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// The source of an import, and the notes that are kept with its configurations.
struct ImportOptions {
  std::string file;  ///< Driver lines, a find-db, or a CSV list of shapes of any op.
  std::string line;  ///< Instead of a file: one driver line.
  DriverOptions driver;
  std::string op;  ///< Family of a CSV list; empty: chosen by family_of_file().
  std::string tag;
  std::string source;         ///< `customer`, `benchmark`, `issue#N`; empty: the file's name.
  bool only_tag = false;      ///< Configurations that are not in the store are not added.
  bool is_recurrent = false;  ///< To be tuned again when a solver changes.
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
};

/// Reads and normalises the problems; stores nothing. Throws invalid_input `lines.txt:17: …` for a broken file and
/// one of another kind, for a source without any configuration, and with DriverOptions::strict for the first skipped
/// line or problem.
ImportedConfigurations read_configurations(const ImportOptions& options);

/// What an import changed.
struct ImportCounts {
  size_t num_new = 0, num_tagged = 0;
  size_t num_unknown = 0;  ///< With only_tag: not in the store, so not tagged.
};
ImportCounts store_configurations(FleetStore& store, const ImportOptions& options,
                                  const ImportedConfigurations& imported);

/// The identity of a normalised problem in a store: the 128-bit hash of its key as 32 hexadecimal digits.
std::string configuration_id(const Problem& problem);

}  // namespace attune
