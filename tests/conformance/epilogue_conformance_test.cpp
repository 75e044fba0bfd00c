// SPDX-License-Identifier: MIT
// Every solver and every epilogue: what a solver takes it computes, candidate by candidate, and what it does not take
// it refuses with a reason that names the attribute. Nothing is computed without its epilogue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/locations.h"
#include "compile/compile_pool.h"
#include "device/devices.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "ops/epilogue.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver_fixture.h"
#include "solver_ids.h"
#include "testing/built_helper.h"

namespace attune {
namespace {

constexpr size_t kMaxOfAProblem = 3;  // candidates
const Protocol kEpilogueProtocol{.cache = CachePolicy::warm};

/// Shapes that reach the kinds of kernels that solvers have; each epilogue meets each.
constexpr const char* kShapes[] = {"m=1 n=31 k=96 dtype=fp32", "m=33 n=47 k=130 dtype=fp32 bias=1",
                                   "m=24 n=40 k=64 dtype=bf16 bias=1", "m=5 n=40 k=64 dtype=fp16 outdtype=fp32 bias=1",
                                   "m=40 n=70 k=300 dtype=bf16 outdtype=fp32 bpreshuffle=1"};

/// The attributes of an epilogue that are not at their defaults.
using Attributes = std::vector<std::pair<std::string, std::string>>;

std::vector<Attributes> epilogues() {
  std::vector<Attributes> all;
  for (const std::string_view act : kActivations) {
    for (const std::string_view alpha : kFactors) {
      for (const std::string_view beta : kFactors) {
        for (const char* out_scale : {"0", "1"}) {
          Attributes one;
          if (act != "none") one.emplace_back("act", act);
          if (alpha != "1") one.emplace_back("alpha", alpha);
          if (beta != "0") one.emplace_back("beta", beta);
          if (out_scale != std::string_view("0")) one.emplace_back("out_scale", out_scale);
          if (!one.empty()) all.push_back(std::move(one));
        }
      }
    }
  }
  return all;
}

class EpilogueConformance : public SolverFixture {
 protected:
  void SetUp() override {
    SolverFixture::SetUp();
    if (solver_ != nullptr) executor_ = std::make_unique<LocalExecutor>(*device_, registry());
  }

  Problem problem_of(const std::string& shape, const Attributes& epilogue) const {
    std::string text = "gemm_a16w16 " + shape;
    for (const auto& [name, value] : epilogue) text += fmt::format(" {}={}", name, value);
    return op_of(Problem::parse(text)).normalise(Problem::parse(text), device_->info());
  }
  Support support(const Problem& problem) const { return solver_->supports(problem, device_->info()); }

  /// Verifies some candidates, evenly spread over the space; returns their number.
  size_t check_candidates(const Problem& problem) {
    const auto contenders = open(*executor_, {1, problem, kEpilogueProtocol}).contenders;
    const auto own = std::find_if(contenders.begin(), contenders.end(),
                                  [&](const Contender& one) { return one.solver == GetParam(); });
    if (own == contenders.end() || !own->support.yes) {
      ADD_FAILURE() << "no contender for " << problem.key();
      return 0;
    }
    const auto allowed = prune(own->space, problem, device_->info(), 0).allowed;
    const size_t count = std::min(kMaxOfAProblem, allowed.size());
    std::vector<Config> configs = {own->default_config};
    for (size_t i = 0; i < count; ++i) configs.push_back(own->space.at(allowed[i * allowed.size() / count]));
    Slot slot = 1;
    for (const Config& config : configs) {
      const Candidate candidate{own->solver, own->version, config};
      const auto verified =
          admit(*executor_, {1, slot, {.candidate = candidate, .binaries = binaries(problem, config)}}).verified;
      const bool is_right = verified.status == Status::ok || verified.status == Status::implausible_time;
      EXPECT_TRUE(is_right) << problem.key() << " " << candidate.name() << ": " << verified.detail;
      executor_->drop(slot++);
    }
    executor_->close(1);
    return configs.size();
  }

  std::vector<Binary> binaries(const Problem& problem, const Config& config) {
    const auto tasks = solver_->compile_tasks(problem, config, device_->info());
    if (tasks.empty()) return {};
    KernelCache cache({cache_location().path}, uint64_t{1} << 30);
    std::vector<Binary> all;
    for (const CompileResult& one : CompilePool(cache, with_built_helpers()).compile(tasks)) {
      EXPECT_TRUE(one.outcome.ok()) << one.outcome.detail;
      if (one.binary) all.push_back(*one.binary);
    }
    return all;
  }

  std::unique_ptr<Executor> executor_;
};

/// Whether a reason names one of the attributes, as the problem states it.
bool names_one(const std::string& reason, const Attributes& epilogue) {
  return std::any_of(epilogue.begin(), epilogue.end(), [&](const auto& attribute) {
    return reason.find(attribute.first + "=" + attribute.second) != std::string::npos;
  });
}

TEST_P(EpilogueConformance, IsComputedOrRefusedByName) {
  const bool computes_a_product = std::ranges::any_of(kShapes, [&](const char* shape) {
    const std::string reason = support(problem_of(shape, {})).reason;
    return !reason.starts_with("computes ") || !reason.ends_with(" only");
  });
  if (!computes_a_product) return;  // Of an op without epilogues.
  size_t num_taken = 0, num_refused = 0;
  for (const char* shape : kShapes) {
    if (!support(problem_of(shape, {})).yes) continue;
    for (const Attributes& epilogue : epilogues()) {
      const Problem problem = problem_of(shape, epilogue);
      const Support found = support(problem);
      if (found.yes) {
        num_taken += check_candidates(problem);
        continue;
      }
      ++num_refused;
      EXPECT_TRUE(names_one(found.reason, epilogue)) << problem.key() << ": " << found.reason;
    }
  }
  EXPECT_GT(num_taken + num_refused, 0u);
  RecordProperty("candidates", static_cast<int>(num_taken));
  RecordProperty("refusals", static_cast<int>(num_refused));
}

INSTANTIATE_TEST_SUITE_P(All, EpilogueConformance, testing::ValuesIn(solver_ids()), test_name_of);

TEST(Epilogues, HaveTheSolversThatAreToTakeThem) {
  const auto device = open_device("cpu:0");
  const auto support = [&](std::string_view id, const std::string& rest) {
    const auto problem = Problem::parse("gemm_a16w16 m=8 n=16 k=32 dtype=fp32 bias=1 " + rest);
    const Solver* solver = registry().find(id);
    return solver == nullptr ? Support{} : solver->supports(op_of(problem).normalise(problem, {}), device->info());
  };
  const auto takes = [&](std::string_view id, const std::string& rest) { return support(id, rest).yes; };
  for (const char* id : {"jit_cpu.gemm", "onednn.gemm", "onednn3.gemm", "portable.gemm"}) {
    if (std::string_view(id) == "jit_cpu.gemm" && !takes(id, "")) continue;  // Without AVX2 it takes nothing.
    for (const char* act : {"act=relu", "act=gelu", "act=gelu_tanh", "act=silu"})
      EXPECT_TRUE(takes(id, act) || support(id, act).reason.find("NaN as gelu of Inf") != std::string::npos)
          << id << act;
  }
  EXPECT_TRUE(takes("portable.gemm", "act=silu alpha=any beta=any out_scale=1")) << "there is always a fallback";
  EXPECT_TRUE(takes("portable.gemm", "alpha=0 beta=1"));
}

}  // namespace
}  // namespace attune
