// SPDX-License-Identifier: MIT
#include "measure/opened_solvers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/environment.h"
#include "testing/planted_gemm.h"

namespace attune {
namespace {

/// Offers `n=0` … `n=9` and counts how often it lists them.
class TenConfigs final : public Solver {
 public:
  TenConfigs(int& num_lists, bool answers_offers) : num_lists_(num_lists), answers_offers_(answers_offers) {}
  std::string_view id() const override { return "ten.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "ten configs"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device&) const override {
    return std::make_unique<TenConfigsBackend>(num_lists_, answers_offers_);
  }

 private:
  class TenConfigsBackend final : public Backend {
   public:
    TenConfigsBackend(int& num_lists, bool answers_offers) : num_lists_(num_lists), answers_offers_(answers_offers) {}
    Versions versions() const override { return {{"ten.gemm", "1"}}; }
    SearchSpace space(const Problem&) override {
      ++num_lists_;
      std::vector<Config> all;
      for (int n = 0; n < 10; ++n) all.push_back(Config::parse("n=" + std::to_string(n)));
      return SearchSpace::listed(std::move(all));
    }
    std::optional<bool> offers(const Problem&, const Config& config) override {
      if (!answers_offers_) return std::nullopt;
      return config.integer("n") < 10;
    }
    Config default_config(const Problem&) override { return Config::parse("n=3"); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config&, const PrepareContext&) override {
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [] {});
    }

   private:
    int& num_lists_;
    bool answers_offers_;
  };
  int& num_lists_;
  bool answers_offers_;
};

class OpenedSolversTest : public testing::TestWithParam<bool> {
 protected:
  OpenedSolversTest() { registry_.add(std::make_unique<TenConfigs>(num_lists_, GetParam())); }
  std::unique_ptr<Plan> prepare(const Contender& contender, const std::string& config, const std::string& version = "1",
                                SpaceListing listing = SpaceListing::limited) {
    return solvers_.prepare(problem_, {"ten.gemm", version, Config::parse(config)}, &contender, {}, listing);
  }

  int num_lists_ = 0;
  const std::vector<Candidate> none_;
  Registry registry_;
  FakeDevice device_;
  OpenedSolvers solvers_{device_, registry_, nullptr};
  Problem problem_ =
      op_of(Problem::parse("gemm_a16w16 m=2 n=2 k=2")).normalise(Problem::parse("gemm_a16w16 m=2 n=2 k=2"), {});
};

TEST_P(OpenedSolversTest, ASpaceIsListedOnceWhereTheLibraryAnswersForAConfig) {
  EXPECT_EQ(solvers_.contenders(problem_).at(0).space.size(), 10u);
  EXPECT_EQ(num_lists_, 1);
  const Contender again = solvers_.contenders(problem_, &none_).at(0);
  EXPECT_EQ(num_lists_, GetParam() ? 1 : 2);
  EXPECT_EQ(again.space.size(), GetParam() ? 1u : 10u);
  EXPECT_EQ(again.default_config, Config::parse("n=3"));
}

TEST_P(OpenedSolversTest, ASpaceHoldsTheCandidatesThatAreNamedAndOffered) {
  const auto named = [](const char* id, const char* version, const char* config) {
    return Candidate{id, version, Config::parse(config)};
  };
  const std::vector<Candidate> candidates = {named("ten.gemm", "1", "n=5"), named("ten.gemm", "1", "n=3"),
                                             named("ten.gemm", "1", "n=99"), named("ten.gemm", "2", "n=6"),
                                             named("other.gemm", "1", "n=7")};
  const Contender found = solvers_.contenders(problem_, &candidates).at(0);
  ASSERT_EQ(found.space.size(), GetParam() ? 2u : 10u);
  if (!GetParam()) return;
  EXPECT_EQ(found.space.at(0), Config::parse("n=3"));
  EXPECT_EQ(found.space.at(1), Config::parse("n=5"));
}

TEST_P(OpenedSolversTest, WhatIsOfferedIsPreparedWhetherItIsListedOrNot) {
  const Contender again = solvers_.contenders(problem_, &none_).at(0);
  EXPECT_NE(prepare(again, "n=3"), nullptr);
  EXPECT_NE(prepare(again, "n=7"), nullptr);
  EXPECT_THROW(prepare(again, "n=10"), Error);
  EXPECT_THROW(prepare(again, "n=7", "2"), Error) << "another version";
  if (GetParam()) {
    EXPECT_THROW(prepare(again, "n=7", "1", SpaceListing::whole), Error) << "a whole space decides";
  }
  Contender unsupported = again;
  unsupported.support = Support::no("is not its thing");
  EXPECT_THROW(prepare(unsupported, "n=7"), Error);
}

/// Its kernels need a compiler that this machine lacks.
class KernelsOfHostcc final : public Solver {
 public:
  std::string_view id() const override { return "kernels.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "kernels"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config&, const DeviceInfo&) const override {
    return {{"hostcc", "int f(void);", "x86-64", {}, {}}};
  }
  std::unique_ptr<Backend> open(Device& device) const override { return TenConfigs(num_lists_, true).open(device); }

 private:
  static inline int num_lists_ = 0;
};

TEST(OpenedSolvers, WithoutACompilerOnlyAStoredToolchainsKernelsAreMeasured) {
  const TestEnvironment none("ATTUNE_CC", "/no/such/cc");
  Registry registry;
  registry.add(std::make_unique<KernelsOfHostcc>());
  FakeDevice device;
  const Problem text = Problem::parse("gemm_a16w16 m=2 n=2 k=2"), problem = op_of(text).normalise(text, {});
  OpenedSolvers solvers(device, registry, nullptr);
  const Contender without = solvers.contenders(problem).at(0);
  EXPECT_FALSE(without.support.yes);
  EXPECT_NE(without.support.reason.find("set it to a C compiler"), std::string::npos) << without.support.reason;
  solvers.set_stored_toolchains({{"hostcc", "gcc-12.2.0"}});
  const Contender with = solvers.contenders(problem).at(0);
  EXPECT_TRUE(with.support.yes) << with.support.reason;
  EXPECT_EQ(with.versions.at("compiler.hostcc"), "gcc-12.2.0");
  solvers.set_stored_toolchains({{"hostcc", ""}});
  const Contender any = solvers.contenders(problem).at(0);
  EXPECT_TRUE(any.support.yes) << any.support.reason;
  EXPECT_FALSE(any.versions.contains("compiler.hostcc")) << "which one made it is not known";
}

INSTANTIATE_TEST_SUITE_P(Backends, OpenedSolversTest, testing::Values(true, false),
                         [](const auto& one) { return one.param ? "answers" : "lists"; });

}  // namespace
}  // namespace attune
