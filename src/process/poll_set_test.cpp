// SPDX-License-Identifier: MIT
#include "process/poll_set.h"

#include "testing/pipe.h"

namespace attune {
namespace {

TEST(PollSet, IsReadableWhileOneOfItsDescriptorsIs) {
  PollSet set;
  const Pipe first, second;
  set.watch(first.descriptor());
  set.watch(second.descriptor());
  EXPECT_FALSE(is_readable(set.descriptor()));
  second.put();
  EXPECT_TRUE(is_readable(set.descriptor()));
  EXPECT_TRUE(is_readable(set.descriptor())) << "until it is read";
  second.take();
  EXPECT_FALSE(is_readable(set.descriptor()));
  first.put();
  set.forget(first.descriptor());
  EXPECT_FALSE(is_readable(set.descriptor()));
  set.forget(first.descriptor());  // does nothing
  set.watch(first.descriptor());
  EXPECT_TRUE(is_readable(set.descriptor()));
}

TEST(PollSet, WatchesForSpaceToWriteOnRequest) {
  PollSet set;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor reader(ends[0]), writer(ends[1]);
  set.watch(writer.number(), true);
  EXPECT_TRUE(is_readable(set.descriptor()));
  set.watch(writer.number());
  EXPECT_FALSE(is_readable(set.descriptor()));
}

TEST(PollSet, ForgetsWhatIsClosed) {
  PollSet set;
  {
    const Pipe pipe;
    pipe.put();
    set.watch(pipe.descriptor());
    EXPECT_TRUE(is_readable(set.descriptor()));
  }
  EXPECT_FALSE(is_readable(set.descriptor()));
}

TEST(PollSet, IsReadableFromTheEndOfItsTimerOn) {
  PollSet set;
  set.wake_in(Milliseconds(20));
  EXPECT_FALSE(is_readable(set.descriptor()));
  EXPECT_TRUE(is_readable(set.descriptor(), Milliseconds(5000)));
  EXPECT_TRUE(is_readable(set.descriptor()));
  set.wake_in(Milliseconds(60'000));
  EXPECT_FALSE(is_readable(set.descriptor()));
  set.wake_in(Milliseconds(-5));
  EXPECT_TRUE(is_readable(set.descriptor(), Milliseconds(1000))) << "at once";
  set.wake_in(std::nullopt);
  EXPECT_FALSE(is_readable(set.descriptor()));
}

}  // namespace
}  // namespace attune
