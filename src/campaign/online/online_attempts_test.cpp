// SPDX-License-Identifier: MIT
#include "campaign/online/online_attempts.h"

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/version.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Attempts : public testing::Test {
 protected:
  OnlineAttempts read() const { return OnlineAttempts(file_); }
  /// Does something with the attempts of the file, and saves them.
  template <typename Change>
  void change(Change&& change) const {
    OnlineAttempts attempts = read();
    change(attempts);
    attempts.save();
  }
  TemporaryFolder folder_{"attempts_test"};
  std::filesystem::path file_ = folder_.path() / "attempts.csv";
  Problem one_ = test_problem(1), two_ = test_problem(2);
};

TEST_F(Attempts, ABegunShapeIsSuspectUntilItIsDone) {
  EXPECT_FALSE(read().is_suspect(one_));
  change([&](OnlineAttempts& attempts) { attempts.begin(one_); });
  EXPECT_TRUE(read().is_suspect(one_));
  EXPECT_FALSE(read().is_suspect(two_));
  change([&](OnlineAttempts& attempts) { attempts.done(one_); });
  EXPECT_FALSE(read().is_suspect(one_));
}

TEST_F(Attempts, AnAttemptThatEndedNormallyDoesNotCount) {
  change([&](OnlineAttempts& attempts) { attempts.begin(one_), attempts.begin(two_), attempts.begin(two_); });
  change([&](OnlineAttempts& attempts) { attempts.undone(one_), attempts.undone(two_); });
  EXPECT_FALSE(read().is_suspect(one_));
  EXPECT_TRUE(read().is_suspect(two_)) << "it was begun once more";
}

TEST_F(Attempts, AShapeIsGivenUpAfterItsLastAttempt) {
  change([&](OnlineAttempts& attempts) {
    for (int64_t i = 0; i < OnlineAttempts::kMaxStarts; ++i) {
      EXPECT_EQ(attempts.given_up(one_), "") << i;
      attempts.begin(one_);
    }
  });
  EXPECT_EQ(read().given_up(one_), "its tuning was started 5 times, and the program was ended each time");
}

TEST_F(Attempts, AShapeThatLacksMemoryWaitsTwiceAsLongEachTimeUpToALimit) {
  int64_t now = 1'000'000, longest = 0;
  EXPECT_FALSE(read().is_waiting(one_, now));
  for (int64_t i = 0; i < 12; ++i) {
    int64_t wait = 0;
    change([&](OnlineAttempts& attempts) { attempts.begin(one_), wait = attempts.postpone(one_, now); });
    EXPECT_EQ(wait, std::min(OnlineAttempts::kFirstWaitS << i, OnlineAttempts::kMaxWaitS));
    EXPECT_TRUE(read().is_waiting(one_, now + wait - 1));
    EXPECT_FALSE(read().is_waiting(one_, now + wait));
    EXPECT_FALSE(read().is_waiting(two_, now));
    longest = wait;
    now += wait;
  }
  EXPECT_FALSE(read().is_waiting(one_, now - 2 * longest)) << "the clock was set back";
  EXPECT_FALSE(read().is_suspect(one_));
  EXPECT_EQ(read().given_up(one_), "") << "it is never given up for that";
  change([&](OnlineAttempts& attempts) { attempts.begin(one_), attempts.undone(one_), attempts.postpone(one_, now); });
  EXPECT_TRUE(read().is_waiting(one_, now + OnlineAttempts::kMaxWaitS - 1)) << "an interrupted try changes nothing";
  change([&](OnlineAttempts& attempts) { attempts.done(one_); });
  EXPECT_FALSE(read().is_waiting(one_, now));
}

TEST_F(Attempts, AFileWithoutWaitsIsRead) {
  write_file_atomically(file_, fmt::format("problem,attune,begun,given_up\n{},{},0,because\n", one_.key(), kVersion));
  EXPECT_EQ(read().given_up(one_), "because");
  EXPECT_FALSE(read().is_waiting(one_, 0));
}

TEST_F(Attempts, AReasonIsKeptOnOneShortLine) {
  change([&](OnlineAttempts& attempts) { attempts.give_up(one_, "a, \"b\"\nc" + std::string(1000, 'x')); });
  const std::string reason = read().given_up(one_);
  EXPECT_THAT(reason, HasSubstr("a, \"b\""));
  EXPECT_EQ(reason.find('\n'), std::string::npos);
  EXPECT_LT(reason.size(), 600u);
  EXPECT_FALSE(read().is_suspect(one_)) << "nothing is under way";
}

TEST_F(Attempts, AllAreForgottenAndTheGivenUpOnesReturned) {
  change([&](OnlineAttempts& attempts) { attempts.begin(one_), attempts.give_up(two_, "no"); });
  change([&](OnlineAttempts& attempts) { EXPECT_THAT(attempts.forget_all(), UnorderedElementsAre(two_)); });
  EXPECT_FALSE(read().is_suspect(one_));
  EXPECT_EQ(read().given_up(two_), "");
}

TEST_F(Attempts, ThoseOfAnotherVersionDoNotCount) {
  change([&](OnlineAttempts& attempts) { attempts.give_up(one_, "no"); });
  std::string text = read_file(file_);
  const auto at = text.find(std::string(",") + kVersion + ",");
  ASSERT_NE(at, std::string::npos);
  text.replace(at + 1, std::string(kVersion).size(), "0.0.0");
  write_file_atomically(file_, text);
  EXPECT_EQ(read().given_up(one_), "");
}

TEST_F(Attempts, AnUnreadableFileAndForeignRowsAreIgnored) {
  write_file_atomically(file_, "\"torn");
  EXPECT_EQ(read().given_up(one_), "");
  write_file_atomically(file_, fmt::format("problem,attune,begun,given_up\nno shape,{},many,because\n", kVersion));
  change([&](OnlineAttempts& attempts) { EXPECT_THAT(attempts.forget_all(), IsEmpty()); });
}

}  // namespace
}  // namespace attune
