// SPDX-License-Identifier: MIT
#include "compile/shared_compilations.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/machine.h"

namespace attune {
namespace {

uint32_t jobs_or_cores(uint32_t jobs) {
  return jobs > 0 ? jobs : static_cast<uint32_t>(std::max<size_t>(1, allowed_cores().size()));
}

void signal(const Descriptor& event) noexcept {
  const uint64_t once = 1;
  // Fails only when the counter is full, and then it is readable already.
  [[maybe_unused]] const auto ignored = ::write(event.number(), &once, sizeof once);
}

}  // namespace

SharedCompilations::SharedCompilations(uint32_t jobs, Milliseconds patience)
    : num_jobs_(jobs_or_cores(jobs)), patience_(patience) {}

SharedCompilations::Part& SharedCompilations::join() {
  Descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event.number() < 0)
    fail(ErrorCode::device, "cannot wait for other compilers ({}), close other programs", std::strerror(errno));
  const Lock lock(mutex_);
  return parts_.emplace_back(Part{.event = std::move(event), .asked = {}});
}

void SharedCompilations::leave(Part& part) noexcept {
  const Lock lock(mutex_);
  take_all(part);
  parts_.remove_if([&](const Part& one) { return &one == &part; });
}

bool SharedCompilations::attend(Part& part) noexcept {
  const Lock lock(mutex_);
  uint64_t count = 0;
  [[maybe_unused]] const auto ignored =
      ::read(part.event.number(), &count, sizeof count);  // Empty if the pool was not woken.
  part.called = Clock::now();
  part.asked.reset();
  part.waits = false;
  return std::exchange(part.was_dropped, false);
}

SharedCompilations::Begin SharedCompilations::begin(Part& part, const std::string& recipe, bool is_anew) {
  const Lock lock(mutex_);
  if (compiling_.contains(recipe)) {
    part.waits = true;
    return Begin::elsewhere;
  }
  if (!is_anew && ended_.contains(recipe)) return Begin::ended;
  if (!has_place(part)) {
    if (std::find(line_.begin(), line_.end(), &part) == line_.end()) line_.push_back(&part);
    part.waits = true;
    return Begin::no_place;
  }
  compiling_.emplace(recipe, &part);
  std::erase(line_, &part);
  return Begin::ours;
}

bool SharedCompilations::has_place(const Part& part) const {
  const size_t num_free = num_jobs_ - compiling_.size();
  const auto last = std::find(line_.begin(), line_.end(), &part);
  const auto num_ahead = static_cast<size_t>(last - line_.begin());
  return num_free > num_ahead;
}

bool SharedCompilations::is_elsewhere(Part& part, const std::string& recipe) {
  const Lock lock(mutex_);
  const auto found = compiling_.find(recipe);
  if (found == compiling_.end() || found->second == &part) return false;
  part.waits = true;
  return true;
}

std::optional<SharedCompilations::Ended> SharedCompilations::ended(const std::string& recipe) {
  const Lock lock(mutex_);
  const auto found = ended_.find(recipe);
  return found == ended_.end() ? std::nullopt : std::optional(found->second);
}

void SharedCompilations::end(Part& part, const std::string& recipe, const Ended* how) {
  const Lock lock(mutex_);
  const auto found = compiling_.find(recipe);
  if (found == compiling_.end() || found->second != &part) return;
  compiling_.erase(found);
  wake_waiting();
  if (how != nullptr) ended_.insert_or_assign(recipe, *how);
}

void SharedCompilations::leave_line(Part& part) noexcept {
  const Lock lock(mutex_);
  if (std::erase(line_, &part) > 0) wake_waiting();
}

void SharedCompilations::release(Part& part) noexcept {
  const Lock lock(mutex_);
  take_all(part);
}

void SharedCompilations::take_all(Part& part) noexcept {
  std::erase_if(compiling_, [&](const auto& one) { return one.second == &part; });
  std::erase(line_, &part);
  part.waits = false;
  part.asked.reset();
  wake_waiting();
}

bool SharedCompilations::holds_something(const Part& part) const noexcept {
  return std::find(line_.begin(), line_.end(), &part) != line_.end() ||
         std::any_of(compiling_.begin(), compiling_.end(), [&](const auto& one) { return one.second == &part; });
}

void SharedCompilations::wake_waiting() noexcept {
  for (const Part& one : parts_) {
    if (one.waits) signal(one.event);
  }
}

std::optional<SharedCompilations::Clock::time_point> SharedCompilations::look_after_others(Part& part) noexcept {
  const Lock lock(mutex_);
  if (!part.waits) return std::nullopt;
  const Clock::time_point now = Clock::now();
  std::optional<Clock::time_point> next;
  for (Part& other : parts_) {
    if (&other == &part || !holds_something(other)) continue;
    if (other.asked && now >= *other.asked + patience_) {
      take_all(other);
      other.was_dropped = true;
      continue;
    }
    if (!other.asked && now >= other.called + patience_) {
      other.asked = now;
      signal(other.event);
    }
    const Clock::time_point then = other.asked.value_or(other.called) + patience_;
    next = std::min(next.value_or(then), then);
  }
  return next;
}

SharedCompilations::Member::Member(std::shared_ptr<SharedCompilations> shared)
    : shared_(std::move(shared)), part_(shared_->join()) {}

}  // namespace attune
