// SPDX-License-Identifier: MIT
#include "server/fleet/fleet_reader.h"

#include <algorithm>

#include "base/error.h"

namespace attune {

std::shared_ptr<const FleetSight> FleetReader::sight() {
  using std::chrono::steady_clock;
  const Lock lock(mutex_);
  const auto began = steady_clock::now();
  if (sight_ && began < next_) return sight_;
  FleetSight sight;
  try {
    sight.overview = read_();
  } catch (const Error& error) {
    sight.failure = error.what();
  }
  sight_ = std::make_shared<const FleetSight>(std::move(sight));
  const auto end = steady_clock::now();
  const auto pause = std::chrono::duration_cast<steady_clock::duration>((end - began) * (1 / max_share_ - 1));
  next_ = end + std::max<steady_clock::duration>(max_age_, pause);
  return sight_;
}

}  // namespace attune
