// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace attune {

/// What another program measured for a configuration, in the words of its file. It is kept for people: it is never
/// trusted, and no table or export has it.
struct ForeignResult {
  std::string configuration;  ///< Id.
  std::string solver, algorithm;
  std::string time_ms;  ///< Empty: its file states parameters alone, as a perf-db does.
  std::string workspace_bytes, params;
  std::string source = {};  ///< Set when read: the file's name, or what the import called it.
};

/// Results of other programs in a fleet's store. Every function is one transaction. Throws like FleetStore. Not
/// thread-safe.
class ForeignResults {
 public:
  virtual ~ForeignResults() = default;
  /// Replaces all results of a source. Requires: each configuration and solver once.
  virtual void replace(const std::string& source, const std::vector<ForeignResult>& all) = 0;
  /// Ids of the configurations that a source has results of.
  virtual std::vector<std::string> configurations(const std::string& source) = 0;
  /// A configuration's results by source, time and solver.
  virtual std::vector<ForeignResult> of(const std::string& configuration) = 0;
};

/// Opens a store that exists; `store` as for open_fleet_store().
std::unique_ptr<ForeignResults> open_foreign_results(const std::string& store);

}  // namespace attune
