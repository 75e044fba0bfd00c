// SPDX-License-Identifier: MIT
#include "server/http/waiting_clients.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace attune {
namespace {

/// Two ends of a connection.
struct SocketPair {
  SocketPair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0); }
  ~SocketPair() {
    for (const int one : ends) ::close(one);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  bool is_ended() const {
    pollfd one{ends[1], POLLRDHUP, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  std::array<int, 2> ends{};
};

TEST(WaitingClients, TheOneThatHasWaitedLongestIsEndedFirst) {
  const std::array<SocketPair, 3> pairs;
  WaitingClients waiting;
  EXPECT_FALSE(waiting.end_longest());
  for (const SocketPair& one : pairs) waiting.add(one.ends[0]);
  waiting.add(pairs[0].ends[0]);  // It waits already.
  waiting.remove(pairs[1].ends[0]);
  EXPECT_TRUE(waiting.end_longest());
  EXPECT_TRUE(pairs[0].is_ended());
  EXPECT_FALSE(pairs[2].is_ended());
  EXPECT_TRUE(waiting.end_longest());
  EXPECT_TRUE(pairs[2].is_ended());
  EXPECT_FALSE(pairs[1].is_ended()) << "nobody waits for it";
  EXPECT_FALSE(waiting.end_longest());
}

TEST(WaitingClients, OneThatHasMadeRoomMakesNoneAgain) {
  const SocketPair pair;
  WaitingClients waiting;
  waiting.add(pair.ends[0]);
  EXPECT_TRUE(waiting.end_longest());
  waiting.work(pair.ends[0]);
  EXPECT_FALSE(waiting.end_longest());
}

TEST(WaitingClients, IfNoneWaitsOneThatIsWorkedForEndsAfterItsAnswer) {
  const std::array<SocketPair, 3> pairs;
  WaitingClients waiting;
  for (size_t i = 0; i < 2; ++i) {
    waiting.add(pairs[i].ends[0]);
    waiting.work(pairs[i].ends[0]);
  }
  waiting.add(pairs[2].ends[0]);
  EXPECT_TRUE(waiting.end_longest());
  EXPECT_TRUE(pairs[2].is_ended()) << "it waits";
  EXPECT_TRUE(waiting.end_longest());
  EXPECT_TRUE(waiting.must_end(pairs[0].ends[0]));
  EXPECT_FALSE(pairs[0].is_ended()) << "its answer is being made";
  EXPECT_FALSE(waiting.must_end(pairs[1].ends[0]));
  EXPECT_TRUE(waiting.end_longest());
  EXPECT_TRUE(waiting.must_end(pairs[1].ends[0]));
  EXPECT_FALSE(waiting.end_longest());
  waiting.add(pairs[0].ends[0]);  // Its client does not take the answer.
  EXPECT_TRUE(pairs[0].is_ended());
  EXPECT_FALSE(waiting.must_end(pairs[0].ends[0]));
}

TEST(WaitingClients, AreAllEndedWithTheServerAndNoneWaitsAfterwards) {
  const std::array<SocketPair, 4> pairs;
  WaitingClients waiting;
  for (const SocketPair& one : pairs) {
    if (&one != &pairs[2]) waiting.add(one.ends[0]);
  }
  waiting.remove(pairs[1].ends[0]);
  waiting.end_all();
  EXPECT_TRUE(pairs[0].is_ended());
  EXPECT_FALSE(pairs[1].is_ended()) << "its answer is being made";
  EXPECT_TRUE(pairs[3].is_ended());
  waiting.add(pairs[2].ends[0]);
  EXPECT_TRUE(pairs[2].is_ended()) << "it came late";
}

}  // namespace
}  // namespace attune
