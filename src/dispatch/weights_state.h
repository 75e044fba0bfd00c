// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "attune/weights.h"
#include "device/device.h"
#include "dispatch/table/shape_hash.h"
#include "dispatch/table/weights_layouts.h"

namespace attune {

/// Packed copies and what lookups with them need. Frees the copies.
struct Weights::State {
  State(Device& where, const GemmKey& problem, const LayoutSet& set) : device(where), key(problem), layouts(set) {}
  ~State() {
    for (const Buffer& copy : copies) device.release(copy);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Device& device;  ///< Of the dispatcher; says whose weights they are, too.
  GemmKey key;     ///< Of all problems that they serve, but for M.
  const LayoutSet& layouts;
  std::vector<HalfKey> halves;  ///< Of rows, by layout.
  HalfKey answers;
  std::vector<Buffer> copies;  ///< By layout.
};

}  // namespace attune
