// SPDX-License-Identifier: MIT
#include "campaign/observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::ElementsAre;

class NamedObserver final : public TuneObserver {
 public:
  NamedObserver(std::string name, std::vector<std::string>& told) : name_(std::move(name)), told_(told) {}
  void progress(const Problem& problem, Phase, size_t num_alive) override {
    told_.push_back(name_ + " progress " + problem.text("m") + " " + std::to_string(num_alive));
  }
  void compiling(const Problem& problem, size_t num_candidates) override {
    told_.push_back(name_ + " compiling " + problem.text("m") + " " + std::to_string(num_candidates));
  }
  void finished(const TuneResult& result) override { told_.push_back(name_ + " finished " + result.problem.text("m")); }
  void tick() override { told_.push_back(name_ + " tick"); }

 private:
  std::string name_;
  std::vector<std::string>& told_;
};

TEST(Observers, AreToldEverythingInTheirOrder) {
  std::vector<std::string> told;
  NamedObserver first("first", told), second("second", told), third("third", told);
  Observers all({&first, &second, &third});
  all.progress(test_problem(3), Phase::race, 7);
  EXPECT_THAT(told, ElementsAre("first progress 3 7", "second progress 3 7", "third progress 3 7"));
  told.clear();
  all.compiling(test_problem(4), 9);
  EXPECT_THAT(told, ElementsAre("first compiling 4 9", "second compiling 4 9", "third compiling 4 9"));
  told.clear();
  all.finished(decided(test_problem(5), 1));
  EXPECT_THAT(told, ElementsAre("first finished 5", "second finished 5", "third finished 5"));
  told.clear();
  all.tick();
  EXPECT_THAT(told, ElementsAre("first tick", "second tick", "third tick"));
}

}  // namespace
}  // namespace attune
