// SPDX-License-Identifier: MIT
#include "measure/evaluate.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>

#include "attune/error.h"

namespace attune {
namespace {

TEST(Evaluate, MakesAnOutcomeOfEveryException) {
  const auto status = [&](Step step, const std::function<void()>& work) {
    return evaluate(step,
                    [&] {
                      work();
                      return Finding{};
                    })
        .status;
  };
  const auto throws = [](ErrorCode code) { return [code] { throw Error(code, "no"); }; };
  EXPECT_EQ(status(Step::run, [] {}), Status::ok);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::unavailable)), Status::unsupported);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::device)), Status::launch_failed);
  EXPECT_EQ(status(Step::prepare, throws(ErrorCode::invalid_input)), Status::load_failed);
  EXPECT_EQ(status(Step::memory, throws(ErrorCode::device)), Status::out_of_memory);
  EXPECT_EQ(status(Step::run, throws(ErrorCode::device)), Status::launch_failed);
  EXPECT_EQ(status(Step::run, throws(ErrorCode::timeout)), Status::timed_out);
  EXPECT_EQ(status(Step::run, [] { throw std::bad_alloc(); }), Status::out_of_memory);
  EXPECT_EQ(status(Step::prepare, [] { throw std::runtime_error("foreign"); }), Status::load_failed);
  EXPECT_EQ(status(Step::run, [] { throw 7; }), Status::launch_failed);
}

}  // namespace
}  // namespace attune
