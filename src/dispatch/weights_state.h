// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "attune/key.h"
#include "attune/weights.h"
#include "device/device.h"
#include "device/own_buffer.h"
#include "dispatch/table/shape_hash.h"
#include "dispatch/table/weights_layouts.h"

namespace attune {

/// Packed copies of weights and what lookups with them need. Owns the copies; the device outlives them.
struct Weights::State {
  State(Device& where, const Key& problem, const LayoutSet& set) : device(where), key(problem), layouts(set) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Device& device;  ///< The dispatcher's device; also identifies the dispatcher.
  Key key;         ///< Key of all problems that the weights serve; its M is ignored.
  const LayoutSet& layouts;
  std::vector<GroupKey> groups;  ///< Group keys of rows, by layout.
  GroupKey answers;
  struct Copy {
    OwnBuffer block;
    std::vector<uint64_t> offsets;  ///< Of each packed operand in the block.
  };
  std::vector<Copy> copies;  ///< By layout.
};

}  // namespace attune
