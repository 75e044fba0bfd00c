// SPDX-License-Identifier: MIT
#include "search/strategy/lane_allocator.h"

namespace attune {
namespace {

class Turns final : public LaneAllocator {
 public:
  size_t next(std::span<const LaneState> lanes) override {
    size_t lane = next_;
    while (lanes[lane].idle) lane = (lane + 1) % lanes.size();
    next_ = (lane + 1) % lanes.size();
    return lane;
  }

 private:
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<LaneAllocator> take_turns() { return std::make_unique<Turns>(); }

}  // namespace attune
