// SPDX-License-Identifier: MIT
#include "worker/sharing/shared_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace attune {

bool SharedDevice::is_free_for(Use use) const { return !is_sampling_ && (use == Use::prepare || num_preparing_ == 0); }

void SharedDevice::admit(Use use) {
  if (use == Use::sample)
    is_sampling_ = true;
  else
    ++num_preparing_;
}

void SharedDevice::leave(Use use) {
  if (use == Use::sample)
    is_sampling_ = false;
  else
    --num_preparing_;
}

/// Gives turns in the order of asking, as far as the device is free for them.
void SharedDevice::call_next() {
  while (!queue_.empty() && is_free_for(*queue_.front()->asked_)) {
    DeviceUser& next = *queue_.front();
    queue_.pop_front();
    admit(*next.asked_);
    next.has_turn_ = true;
    ::eventfd_write(next.called_.number(), 1);
  }
}

DeviceUser::DeviceUser(std::shared_ptr<SharedDevice> device)
    : device_(std::move(device)), called_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (called_.number() < 0) fail(ErrorCode::device, "the process has too many open files to share a device");
}

DeviceUser::~DeviceUser() {
  release();
  worker_started();
}

bool DeviceUser::acquire(SharedDevice::Use use) {
  const Lock lock(device_->mutex_);
  ATTUNE_CHECK(!asked_ || *asked_ == use, "an executor asks for one use of its device at a time");
  if (!asked_) {
    asked_ = use;
    device_->queue_.push_back(this);
    device_->call_next();
  }
  if (!has_turn_) return false;
  eventfd_t count = 0;
  ::eventfd_read(called_.number(), &count);
  return true;
}

void DeviceUser::release() {
  const Lock lock(device_->mutex_);
  end_turn();
  device_->call_next();
}

/// Requires: the caller holds the device's mutex.
void DeviceUser::end_turn() ATTUNE_NO_THREAD_SAFETY_ANALYSIS {
  if (!asked_) return;
  if (std::exchange(has_turn_, false))
    device_->leave(*asked_);
  else
    std::erase(device_->queue_, this);
  asked_.reset();
  eventfd_t count = 0;
  ::eventfd_read(called_.number(), &count);
}

bool DeviceUser::may_start_worker() {
  const Lock lock(device_->mutex_);
  if (starts_worker_) return true;
  const bool is_wanted = std::ranges::any_of(
      device_->queue_, [](const DeviceUser* one) { return *one->asked_ == SharedDevice::Use::sample; });
  if (is_wanted || !device_->is_free_for(SharedDevice::Use::prepare)) return false;
  device_->admit(SharedDevice::Use::prepare);
  return starts_worker_ = true;
}

void DeviceUser::worker_started() {
  const Lock lock(device_->mutex_);
  if (!std::exchange(starts_worker_, false)) return;
  device_->leave(SharedDevice::Use::prepare);
  device_->call_next();
}

}  // namespace attune
