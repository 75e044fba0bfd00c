// SPDX-License-Identifier: MIT
#include "server/fleet/fleet_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace attune {

std::shared_ptr<const FleetSight> FleetReader::sight() {
  using std::chrono::steady_clock;
  Lock lock(mutex_);
  while (is_reading_ && !sight_) read_ended_.wait(lock);
  const auto began = steady_clock::now();
  if (sight_ && (is_reading_ || began < next_)) return sight_;
  is_reading_ = true;
  lock.unlock();
  std::shared_ptr<FleetSight> sight;
  try {
    sight = std::make_shared<FleetSight>();
    sight->overview = read_();
  } catch (const Error& error) {
    sight->failure = error.what();
  } catch (...) {
    lock.lock();
    is_reading_ = false;
    read_ended_.notify_all();
    throw;
  }
  lock.lock();
  is_reading_ = false;
  read_ended_.notify_all();
  sight_ = std::move(sight);
  const auto end = steady_clock::now();
  auto pause = std::chrono::duration_cast<steady_clock::duration>((end - began) * (1 / max_share_ - 1));
  if (!sight_->failure.empty()) pause = {};  // It waited for the server and did not load it.
  next_ = end + std::max<steady_clock::duration>(max_age_, pause);
  return sight_;
}

}  // namespace attune
