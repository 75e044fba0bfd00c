// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "store/fleet/fleet_store.h"

namespace attune {

/// Opens the store of an agent. Waits for a server that does not answer, for at most `patience_s`, and prints a note.
/// Null after an interrupt. Throws like open_fleet_store().
std::unique_ptr<FleetStore> open_patiently(double patience_s);

/// Stores the losses of an agent's devices. Used by one thread at a time.
class DeviceLosses {
 public:
  /// `store` must outlive this.
  DeviceLosses(FleetStore& store, int64_t session) : store_(store), session_(session) {}
  /// Each once. A store that does not take it is a note.
  void add(const std::string& why);

 private:
  FleetStore& store_;
  const int64_t session_;
  std::set<std::string> known_;
};

}  // namespace attune
