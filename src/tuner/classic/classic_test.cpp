// SPDX-License-Identifier: MIT
#include "tuner/classic/classic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const Problem kClassicProduct = Problem::parse("gemm_a16w16 m=16 n=16 k=32 dtype=fp32 outdtype=fp32 bias=0");

Candidate candidate_of_a(int a) { return {"x.gemm", "1", Config::parse(fmt::format("a={}", a))}; }

/// A contender with the configs a=1 … a=`num_configs`.
Contender scripted_contender(int num_configs) {
  Contender one;
  one.solver = "x.gemm";
  one.version = one.versions[one.solver] = std::string(1, '1');
  one.default_config = Config::parse("a=1");
  std::vector<Config> configs;
  for (int a = 1; a <= num_configs; ++a) configs.push_back(candidate_of_a(a).config);
  one.space = SearchSpace::listed(std::move(configs));
  return one;
}

/// An executor whose answers a test states. The candidate a=3 takes 5 µs, every other one 10 + a.
class ScriptedExecutor final : public Executor {
 public:
  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override {
    answer_ = std::visit([this](auto& one) { return done(one); }, request);
  }
  int descriptor() const override { return -1; }
  std::optional<Answer> take() override { return std::exchange(answer_, std::nullopt); }
  void close(ProblemId) override { admitted_.clear(); }
  void drop(Slot slot) override { admitted_.erase(slot); }
  void abort() override {}

  std::vector<Contender> contenders = {scripted_contender(4)};
  std::function<float(const Candidate&, size_t launch)> us_of = [](const Candidate& one, size_t) {
    const auto a = static_cast<float>(one.config.integer("a"));
    return a == 3 ? 5 : 10 + a;
  };
  std::map<Candidate, Status> fails;  ///< Candidates that fail while they are sampled.
  std::string refusal;
  Candidate is_wrong = candidate_of_a(99);
  std::optional<Candidate> loses_worker;  ///< At its first schedule, through no fault of it.

  std::vector<Candidate> timed, verified;
  std::vector<Protocol> protocols;
  std::vector<Turn> turns;
  size_t max_admitted = 0;

 private:
  Answer done(request::Open& open) {
    protocols.push_back(open.protocol);
    return OpenAnswer{.problem = open.id, .refused = refusal, .contenders = contenders};
  }
  Answer done(request::Admit& admit) {
    AdmitAnswer answer{.slot = admit.slot};
    const Candidate& one = admit.admission.candidate;
    if (admit.admission.verify) verified.push_back(one);
    if (admit.admission.verify && one == is_wrong)
      answer.verified = {.status = Status::wrong_result, .detail = "a tile is missing"};
    admitted_[admit.slot] = one;
    max_admitted = std::max(max_admitted, admitted_.size());
    return answer;
  }
  Answer done(request::Sample& sample) {
    SampleAnswer answer{.turns = sample.schedule};
    const Candidate one = admitted_.at(sample.schedule.front().slot);
    if (loses_worker == one) {
      loses_worker.reset();
      return SampleAnswer{.interrupted = true};
    }
    if (const auto failed = fails.find(one); failed != fails.end())
      return SampleAnswer{.interrupted = true, .failed = {{sample.schedule.front().slot, {.status = failed->second}}}};
    timed.push_back(one);
    turns.insert(turns.end(), sample.schedule.begin(), sample.schedule.end());
    for (size_t i = 0; i < sample.schedule.size(); ++i) answer.samples.push_back({.us = us_of(one, i)});
    return answer;
  }
  static Answer done(request::Recycle&) { return RecycleAnswer{1}; }

  DeviceInfo device_{.kind = "fake"};
  std::map<Slot, Candidate> admitted_;
  std::optional<Answer> answer_;
};

class Classic : public testing::Test {
 protected:
  ClassicResult tune(ClassicScript script = ClassicScript::v3_4, const Tick& tick = {}) {
    const ClassicDevice device{executor_};
    return tune_classic(script, {&device, 1}, {.problem = kClassicProduct}, options_, tick);
  }
  static TunerOptions options() {
    TunerOptions options;
    options.strategy.name = "exhaustive";
    return options;
  }
  ScriptedExecutor executor_;
  TunerOptions options_ = options();
};

TEST(ClassicScript, IsNamedByTheVersionOfTheScript) {
  EXPECT_EQ(parse_classic_script("v2"), ClassicScript::v2);
  EXPECT_EQ(parse_classic_script("v3.4"), ClassicScript::v3_4);
  EXPECT_THROW(parse_classic_script("v3"), Error);
}

TEST(ClassicTime, OfV2IsTheLastLaunch) { EXPECT_EQ(classic_us(ClassicScript::v2, std::vector{9.0, 2.0, 5.0}), 5); }

TEST(ClassicTime, OfV34LeavesOutLaunchesThatTookLongerThanTheFirst) {
  EXPECT_EQ(classic_us(ClassicScript::v3_4, std::vector{4.0, 40.0, 2.0, 4.5, 3.0}), 3);
  EXPECT_EQ(classic_us(ClassicScript::v3_4, std::vector{1.0, 5.0, 5.0}), 1) << "a lucky first launch stands alone";
}

TEST(ClassicTime, OfV34IsTheMeanOfTheLastHundredLaunchesThatAreLeft) {
  std::vector<double> launches_us(20, 8);
  launches_us.insert(launches_us.end(), 50, 2);
  launches_us.insert(launches_us.end(), 50, 4);
  EXPECT_EQ(classic_us(ClassicScript::v3_4, launches_us), 3);
  launches_us.insert(launches_us.end(), 7, 9);
  EXPECT_EQ(classic_us(ClassicScript::v3_4, launches_us), 3) << "they are filtered before they are counted";
}

TEST_F(Classic, LaunchesEachCandidateAloneAsOftenAsTheScript) {
  for (const auto& [script, launches] : {std::pair{ClassicScript::v2, 10u}, {ClassicScript::v3_4, 120u}}) {
    executor_.timed.clear();
    executor_.turns.clear();
    EXPECT_EQ(tune(script).winner, candidate_of_a(3));
    EXPECT_THAT(executor_.timed,
                UnorderedElementsAre(candidate_of_a(1), candidate_of_a(2), candidate_of_a(3), candidate_of_a(4)));
    EXPECT_THAT(executor_.turns, SizeIs(4 * launches));
    for (const Turn& turn : executor_.turns) {
      EXPECT_EQ(turn.launches, 1u);
      EXPECT_FALSE(turn.has_warm_up);
    }
  }
  EXPECT_EQ(executor_.max_admitted, 1u);
}

TEST_F(Classic, KeepsTheOperandsInTheCache) {
  options_.protocol.cache = CachePolicy::served;
  tune();
  ASSERT_THAT(executor_.protocols, SizeIs(1));
  EXPECT_EQ(executor_.protocols.front().cache, CachePolicy::warm);
}

TEST_F(Classic, TheLeastTimeWinsAndOnlyTheWinnerIsVerified) {
  const ClassicResult result = tune();
  EXPECT_EQ(result.winner, candidate_of_a(3));
  EXPECT_EQ(result.us, 5);
  EXPECT_TRUE(result.verified.ok());
  EXPECT_EQ(result.num_candidates, 4u);
  EXPECT_THAT(executor_.verified, ElementsAre(candidate_of_a(3)));
}

TEST_F(Classic, AWrongKernelWinsAndIsSaidToBeWrong) {
  executor_.is_wrong = candidate_of_a(3);
  const ClassicResult result = tune();
  EXPECT_EQ(result.winner, candidate_of_a(3));
  EXPECT_EQ(result.verified.status, Status::wrong_result);
  EXPECT_EQ(result.verified.detail, "a tile is missing");
}

TEST_F(Classic, ALuckyLastLaunchWinsInV2) {
  executor_.us_of = [](const Candidate& one, size_t launch) {
    return one == candidate_of_a(4) && launch == 9 ? 1.0f : one == candidate_of_a(2) ? 6.0f : 7.0f;
  };
  EXPECT_EQ(tune(ClassicScript::v2).winner, candidate_of_a(4));
  EXPECT_EQ(tune(ClassicScript::v3_4).winner, candidate_of_a(2));
}

TEST_F(Classic, ACandidateThatEndsItsWorkerIsAFailureAndTheOthersGoOn) {
  executor_.fails[candidate_of_a(3)] = Status::crashed;
  const ClassicResult result = tune();
  EXPECT_EQ(result.winner, candidate_of_a(1));
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures.front().first, candidate_of_a(3));
  EXPECT_EQ(result.failures.front().second.status, Status::crashed);
}

TEST_F(Classic, LaunchesAreRepeatedWhenTheWorkerIsLost) {
  executor_.loses_worker = candidate_of_a(3);
  EXPECT_EQ(tune().winner, candidate_of_a(3));
  EXPECT_THAT(executor_.turns, SizeIs(4 * 120));
}

TEST_F(Classic, TheCandidatesOfTheUsersRulesAndBansTakePart) {
  options_.bans = std::make_shared<const BanList>(std::vector<Ban>{{candidate_of_a(3).name(), "", "", "wrong"}});
  EXPECT_EQ(tune().winner, candidate_of_a(1));
  options_.libraries = {"y"};
  EXPECT_THAT(tune().reason, HasSubstr("no solver supports it"));
}

TEST_F(Classic, ACompositeSolverTakesNoPart) {
  executor_.contenders.front().parts = {kClassicProduct};
  EXPECT_THAT(tune().reason, HasSubstr("no solver supports it"));
}

TEST_F(Classic, SeveralDevicesTakeTheCandidatesInTurn) {
  ScriptedExecutor other;
  const std::vector<ClassicDevice> devices = {{executor_}, {other}};
  const ClassicResult result = tune_classic(ClassicScript::v2, devices, {.problem = kClassicProduct}, options_);
  EXPECT_EQ(result.winner, candidate_of_a(3));
  EXPECT_THAT(executor_.timed, SizeIs(2));
  EXPECT_THAT(other.timed, SizeIs(2));
  std::vector<Candidate> all = executor_.timed;
  all.insert(all.end(), other.timed.begin(), other.timed.end());
  EXPECT_THAT(all, UnorderedElementsAre(candidate_of_a(1), candidate_of_a(2), candidate_of_a(3), candidate_of_a(4)));
  EXPECT_THAT(other.verified, IsEmpty());
}

TEST_F(Classic, AProblemThatTheDeviceRefusesHasTheReasonAndNoWinner) {
  executor_.refusal = "the problem does not fit in memory";
  const ClassicResult result = tune();
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.reason, "the problem does not fit in memory");
}

TEST_F(Classic, AStoppedSearchHasNoWinner) {
  const ClassicResult result = tune(ClassicScript::v2, [this] { return executor_.timed.size() >= 2; });
  EXPECT_FALSE(result.winner);
  EXPECT_EQ(result.reason, "the run was stopped");
  EXPECT_THAT(executor_.timed, SizeIs(2));
  EXPECT_THAT(executor_.verified, IsEmpty());
}

}  // namespace
}  // namespace attune
