// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/find_db/find_db.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/foreign_results.h"

namespace attune {

/// What another program tuned on one device.
struct ForeignSession {
  MiopenDevice device;
  Versions versions;  ///< `miopen`, `rocm`, if they are known.
  std::string ticket, image;
  std::string source;  ///< The name of its results.
  std::vector<FleetConfiguration> configurations;
  std::vector<ForeignResult> results;
  std::vector<std::string> notices;  ///< One sentence about each configuration that was dropped.
};

/// Reads a find-db, a perf-db or results of fin. `device`: for a file whose name states none; an empty arch: the name
/// must. Throws invalid_input like read_configurations(). For a dump of SQL the sentence has the commands that import
/// it.
ForeignSession read_foreign_file(const std::string& file, const std::string& tag, const std::string& source,
                                 const MiopenDevice& device);

struct SessionImport {
  int64_t session = 0;
  size_t num_configurations = 0;
  size_t num_new = 0;  ///< Configurations that the store did not have.
};

/// Throws invalid_input for an architecture that no device has.
void check_device(const ForeignSession& found);

/// Keeps the configurations, the results as foreign ones, and a closed session that names both. Repeated, it replaces
/// the results of the source.
SessionImport store_foreign_session(FleetStore& store, ForeignResults& results, const ForeignSession& found,
                                    const std::string& reason);

}  // namespace attune
