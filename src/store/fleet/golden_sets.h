// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/record.h"
#include "store/fleet/fleet_job.h"

namespace attune {

/// The best known result of a configuration on a device. A copy: its session may go on.
struct GoldenEntry {
  std::string device;         ///< DeviceInfo::key().
  std::string configuration;  ///< Id.
  std::string fingerprint;    ///< Of the device that measured it: times of another one are not comparable.
  int64_t session = 0;        ///< Where it was decided.
  std::string added_at;       ///< Set when read.
  Decision decision;
  double us() const noexcept { return decision.comparison.us; }  ///< Median of the winner.
};

/// A golden set on one device.
struct GoldenVersion {
  int64_t number = 0;
  std::string device;
  size_t num_entries = 0;
  std::string changed_at;
};

/// Golden sets of a fleet's store: the best known results by version and device. Every function is one transaction.
/// Throws like FleetStore. Not thread-safe.
class GoldenSets {
 public:
  virtual ~GoldenSets() = default;
  virtual std::vector<GoldenVersion> versions() = 0;
  /// Visits the entries of a version in the order of their configurations' import. An empty device: all.
  virtual void visit(int64_t version, const std::string& device,
                     const std::function<void(const GoldenEntry&)>& visit) = 0;
  virtual std::vector<FleetKernel> kernels(int64_t version, const GoldenEntry& entry) = 0;
  /// An entry and the kernels of its finalists, which the store has.
  struct Addition {
    GoldenEntry entry;
    std::vector<FleetKernel> kernels;
  };
  /// Copies the entries of `base` that the version lacks (0: none), then adds or replaces entries. All or nothing.
  /// Returns how many were copied.
  virtual size_t update(int64_t version, int64_t base, const std::vector<Addition>& additions) = 0;
};

/// Opens a store that exists; `store` as for open_fleet_store().
std::unique_ptr<GoldenSets> open_golden_sets(const std::string& store);

}  // namespace attune
