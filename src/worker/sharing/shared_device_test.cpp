// SPDX-License-Identifier: MIT
#include "worker/sharing/shared_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "testing/pipe.h"

namespace attune {
namespace {

class SharedDeviceTest : public testing::Test {
 protected:
  std::shared_ptr<SharedDevice> device_ = std::make_shared<SharedDevice>();
  DeviceUser a_{device_}, b_{device_}, c_{device_};
};

TEST_F(SharedDeviceTest, ManyPrepareAtATime) {
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(b_.acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare)) << "it has its turn until it ends it";
}

TEST_F(SharedDeviceTest, OneSamplesAloneOnceThoseBeforeItAreDone) {
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(b_.acquire(SharedDevice::Use::prepare));
  EXPECT_FALSE(c_.acquire(SharedDevice::Use::sample));
  a_.release();
  EXPECT_FALSE(c_.acquire(SharedDevice::Use::sample));
  EXPECT_FALSE(is_readable(c_.descriptor()));
  b_.release();
  EXPECT_TRUE(is_readable(c_.descriptor()));
  EXPECT_TRUE(c_.acquire(SharedDevice::Use::sample));
  EXPECT_FALSE(is_readable(c_.descriptor())) << "it was called once";
  EXPECT_FALSE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample));
  c_.release();
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample));
}

TEST_F(SharedDeviceTest, NobodyOvertakesOneWhoWaitsToSample) {
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample));
  EXPECT_FALSE(c_.acquire(SharedDevice::Use::prepare));
  a_.release();
  EXPECT_FALSE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(b_.acquire(SharedDevice::Use::sample));
  b_.release();
  EXPECT_TRUE(c_.acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
}

TEST_F(SharedDeviceTest, OneThatGivesUpWaitingHoldsNobodyUp) {
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample));
  EXPECT_FALSE(c_.acquire(SharedDevice::Use::prepare));
  b_.release();
  EXPECT_TRUE(is_readable(c_.descriptor()));
  EXPECT_TRUE(c_.acquire(SharedDevice::Use::prepare));
  b_.release();
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample)) << "a turn that it never had was not ended twice";
}

TEST_F(SharedDeviceTest, OneThatEndsIsNoLongerWaitedFor) {
  std::optional<DeviceUser> gone(std::in_place, device_);
  EXPECT_TRUE(gone->acquire(SharedDevice::Use::prepare));
  EXPECT_TRUE(gone->may_start_worker());
  EXPECT_FALSE(a_.acquire(SharedDevice::Use::sample));
  gone.reset();
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::sample));
}

TEST_F(SharedDeviceTest, AWorkerStartsWhileNobodySamplesOrWaitsTo) {
  EXPECT_TRUE(a_.may_start_worker());
  EXPECT_TRUE(a_.acquire(SharedDevice::Use::prepare));
  a_.release();
  EXPECT_FALSE(b_.acquire(SharedDevice::Use::sample)) << "the end of its request is not the end of its worker's start";
  EXPECT_FALSE(c_.may_start_worker()) << "somebody waits to sample";
  a_.worker_started();
  EXPECT_TRUE(b_.acquire(SharedDevice::Use::sample));
  EXPECT_FALSE(a_.may_start_worker());
  b_.release();
  EXPECT_TRUE(a_.may_start_worker());
}

TEST_F(SharedDeviceTest, ThreadsNeverSampleBesideOthers) {
  constexpr int kThreads = 4, kTurns = 2000;
  std::atomic<int> num_sampling = 0, num_there = 0, num_faults = 0, num_samples = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      DeviceUser user(device_);
      for (int turn = 0; turn < kTurns; ++turn) {
        const auto use = (turn + number) % 3 == 0 ? SharedDevice::Use::sample : SharedDevice::Use::prepare;
        while (!user.acquire(use)) {
          if (!is_readable(user.descriptor(), Milliseconds(10'000))) return;  // num_samples tells.
        }
        ++num_there;
        if (use == SharedDevice::Use::sample) {
          num_faults += ++num_sampling != 1 || num_there != 1;
          std::this_thread::yield();
          num_faults += num_there != 1;
          --num_sampling;
          ++num_samples;
        } else {
          num_faults += num_sampling != 0;
        }
        --num_there;
        user.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_faults, 0);
  EXPECT_GE(num_samples, kThreads * (kTurns / 3));
}

}  // namespace
}  // namespace attune
