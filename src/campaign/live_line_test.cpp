// SPDX-License-Identifier: MIT
#include "campaign/live_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/tuner_doubles.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kCleared = "\r\033[K";

class DisplayOfProgress : public testing::Test {
 protected:
  void open(bool on_terminal) {
    display_.emplace([this] { return line_; }, on_terminal, clock_);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
  }
  /// Closes the display. Returns the text that was printed on standard error since open().
  std::string printed() {
    display_.reset();
    printed_out_ = testing::internal::GetCapturedStdout();
    return testing::internal::GetCapturedStderr();
  }

  SetClock clock_;
  ProgressLine line_{1, 4, "1 of 4 shapes decided", "racing 24 candidates", "best 1.5×"};
  std::optional<LiveLine> display_;
  std::string printed_out_;  ///< On standard output.
};

TEST_F(DisplayOfProgress, PrintsAPlainLineEveryNineSecondsWithoutATerminal) {
  open(false);
  clock_.at_s += 8.9;
  display_->update();
  display_->redraw();
  clock_.at_s += 0.2;
  display_->update();
  display_->update();
  EXPECT_EQ(printed(), "1 of 4 shapes decided, 9.1 s: racing 24 candidates; best 1.5×\n");
}

TEST_F(DisplayOfProgress, PassesPlainLinesOn) {
  std::vector<std::string> told;
  const auto listen = [&](const std::string& line) { told.push_back(line); };
  for (const bool on_terminal : {false, true}) {
    LiveLine display([this] { return line_; }, on_terminal, clock_, listen);
    clock_.at_s += 10;
    display.update();
  }
  EXPECT_THAT(told, testing::ElementsAre("1 of 4 shapes decided, 10.0 s: racing 24 candidates; best 1.5×"));
}

TEST_F(DisplayOfProgress, SaysThatARunStarts) {
  open(false);
  line_.doing = line_.remarks = "";
  clock_.at_s += 10;
  display_->update();
  EXPECT_EQ(printed(), "1 of 4 shapes decided, 10.0 s: starting\n");
}

TEST_F(DisplayOfProgress, DrawsALineWithABarOnATerminal) {
  open(true);
  clock_.at_s += 2;
  display_->redraw();
  EXPECT_EQ(printed(), std::string(kCleared) +
                           "██████░░░░░░░░░░░░░░░░░░ 1 of 4 shapes decided, 2.0 s  racing 24 candidates; best 1.5×" +
                           kCleared);
}

TEST_F(DisplayOfProgress, TheBarOfARunWithoutShapesIsFull) {
  open(true);
  line_.num_ended = line_.num_all = 0;
  display_->redraw();
  EXPECT_THAT(printed(), Not(HasSubstr("░")));
}

TEST_F(DisplayOfProgress, UpdatesATerminalTenTimesASecond) {
  open(true);
  display_->update();
  clock_.at_s += 0.09;
  line_.counts = "2 of 4 shapes decided";
  display_->update();
  clock_.at_s += 0.02;
  line_.counts = "3 of 4 shapes decided";
  display_->update();
  const std::string text = printed();
  EXPECT_THAT(text, HasSubstr("1 of 4"));
  EXPECT_THAT(text, Not(HasSubstr("2 of 4")));
  EXPECT_THAT(text, HasSubstr("3 of 4"));
}

TEST_F(DisplayOfProgress, RemovesTheLiveLineBeforeALineIsPrinted) {
  open(true);
  display_->redraw();
  display_->print_line("a result", true);
  display_->print_line("a note", false);
  display_->hide();
  const std::string text = printed();
  EXPECT_EQ(printed_out_, "a result\n");
  EXPECT_THAT(text, StartsWith(kCleared));
  EXPECT_THAT(text, testing::EndsWith(std::string(kCleared) + "a note\n")) << "it is removed once";
}

TEST(FirstCells, CountCharactersAndNotBytes) {
  EXPECT_EQ(first_cells("a×b█c", 3), "a×b");
  EXPECT_EQ(first_cells("a×b█c", 4), "a×b█");
  EXPECT_EQ(first_cells("abc", 3), "abc");
  EXPECT_EQ(first_cells("abc", 9), "abc");
  EXPECT_EQ(first_cells("×", 0), "");
}

}  // namespace
}  // namespace attune
