// SPDX-License-Identifier: MIT
#include "server/fleet/fleet_reader.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/error.h"

namespace attune {
namespace {

TEST(FleetReader, ReadsAtMostOnceInAWhile) {
  int num_reads = 0;
  FleetReader reader(
      [&] {
        ++num_reads;
        return FleetOverview{.store = std::to_string(num_reads), .sessions = {}, .held = {}, .events = {}};
      },
      std::chrono::hours(1));
  EXPECT_EQ(reader.sight()->overview.store, "1");
  EXPECT_EQ(reader.sight()->overview.store, "1");
  EXPECT_EQ(num_reads, 1);
}

TEST(FleetReader, ReadsInAShareOfTheTime) {
  int num_reads = 0;
  FleetReader reader(
      [&] {
        ++num_reads;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return FleetOverview();
      },
      std::chrono::milliseconds(0), 0.01);
  for (int i = 0; i < 20; ++i) reader.sight();
  EXPECT_EQ(num_reads, 1) << "5 s must pass";
}

TEST(FleetReader, SaysWhyThereIsNothingAndTriesAgain) {
  bool is_away = true;
  FleetReader reader(
      [&]() -> FleetOverview {
        if (is_away) fail(ErrorCode::database, "the server is away");
        return {.store = "here", .sessions = {}, .held = {}, .events = {}};
      },
      std::chrono::milliseconds(0));
  EXPECT_EQ(reader.sight()->failure, "the server is away");
  EXPECT_EQ(reader.sight()->overview.store, "");
  is_away = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(reader.sight()->failure, "");
  EXPECT_EQ(reader.sight()->overview.store, "here");
}

TEST(FleetReader, ASlowFailureDoesNotPutOffTheNextRead) {
  bool is_away = true;
  FleetReader reader(
      [&]() -> FleetOverview {
        if (!is_away) return {.store = "here", .sessions = {}, .held = {}, .events = {}};
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        fail(ErrorCode::database, "the server is away");
      },
      std::chrono::milliseconds(0), 0.01);
  EXPECT_EQ(reader.sight()->failure, "the server is away");
  is_away = false;
  EXPECT_EQ(reader.sight()->overview.store, "here") << "5 s need not pass";
}

TEST(FleetReader, OthersGetTheLastSightWhileOneThreadReads) {
  int num_reads = 0;
  std::promise<void> begun, may_end;
  FleetReader reader(
      [&] {
        if (++num_reads == 2) {
          begun.set_value();
          may_end.get_future().wait();
        }
        return FleetOverview{.store = std::to_string(num_reads), .sessions = {}, .held = {}, .events = {}};
      },
      std::chrono::milliseconds(0), 1);
  EXPECT_EQ(reader.sight()->overview.store, "1");
  auto slow = std::async(std::launch::async, [&] { return reader.sight(); });
  begun.get_future().wait();
  auto other = std::async(std::launch::async, [&] { return reader.sight(); });
  const bool is_answered = other.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  may_end.set_value();
  EXPECT_TRUE(is_answered);
  EXPECT_EQ(other.get()->overview.store, "1");
  EXPECT_EQ(slow.get()->overview.store, "2");
}

}  // namespace
}  // namespace attune
