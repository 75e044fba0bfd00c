// SPDX-License-Identifier: MIT
// The host's memory that a plan states (PlanTraits::host_bytes) is compared with the growth of the process: a
// dispatcher bounds its plans by what they state.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/locations.h"
#include "compile/compile_pool.h"
#include "device/devices.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "solver_fixture.h"
#include "solver_ids.h"
#include "testing/built_helper.h"

namespace attune {
namespace {

constexpr size_t kNumFirst = 8;  // Not measured: what a library makes once.
// So few that all of a solver's are fewer than the 1024 that oneDNN keeps: one would take the place of another.
constexpr size_t kNumPlans = 32;
/// A plan may hold so many times what it says, and so many bytes for what a page more or less is of one plan.
constexpr double kMaxFactor = 1.5;
constexpr uint64_t kMaxNoiseBytes = 1024;

struct ProcessMemory {
  uint64_t heap_bytes = 0;     ///< Memory that malloc has given out.
  uint64_t private_bytes = 0;  ///< Resident, of no file: generated code lies there, too.

  static ProcessMemory now() {
    const struct mallinfo2 heap = ::mallinfo2();
    ProcessMemory memory{.heap_bytes = heap.uordblks + heap.hblkhd};
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      uint64_t kib = 0;
      if ((word == "RssAnon:" || word == "RssShmem:") && status >> kib) memory.private_bytes += kib * 1024;
    }
    return memory;
  }
};

class PlanMemory : public SolverFixture {
 protected:
  void SetUp() override {
#ifdef ATTUNE_SANITIZED
    GTEST_SKIP() << "a sanitizer's allocator keeps more than it is asked for";
#endif
    SolverFixture::SetUp();
    if (solver_ != nullptr) backend_ = solver_->open(*device_);
  }
  std::vector<Binary> binaries(const Problem& problem, const Config& config) {
    std::vector<Binary> all;
    const auto tasks = solver_->compile_tasks(problem, config, device_->info());
    if (tasks.empty()) return all;
    KernelCache cache({cache_location().path}, uint64_t{1} << 30);
    for (auto& compiled : CompilePool(cache, with_built_helpers()).compile(tasks)) {
      EXPECT_TRUE(compiled.outcome.ok()) << compiled.outcome.detail;
      if (compiled.binary) all.push_back(*compiled.binary);
    }
    return all;
  }
  /// One of `count` configs, evenly spread over the space; the untuned one where a space of thousands would have to be
  /// gone through for each shape.
  Config config(const Problem& problem, size_t number, size_t count) {
    if (!solver_->compile_tasks(problem, backend_->default_config(problem), device_->info()).empty())
      return backend_->default_config(problem);
    const SearchSpace space = backend_->space(problem);
    const auto allowed = prune(space, problem, device_->info(), 0).allowed;
    return space.at(allowed[number * (allowed.size() - 1) / (count - 1)]);
  }
  /// Memory of plans that exist at the same time.
  struct PlanWeight {
    double measured = 0, stated = 0;
  };
  template <typename MakePlan>
  static PlanWeight weigh(const MakePlan& make_plan) {
    std::vector<std::unique_ptr<Plan>> plans;
    plans.reserve(kNumFirst + kNumPlans);
    for (size_t i = 0; i < kNumFirst; ++i) plans.push_back(make_plan(i));
    const ProcessMemory before = ProcessMemory::now();
    PlanWeight weighed;
    for (size_t i = 0; i < kNumPlans; ++i) {
      plans.push_back(make_plan(kNumFirst + i));
      weighed.stated += static_cast<double>(plans.back()->traits().host_bytes) / kNumPlans;
    }
    const ProcessMemory after = ProcessMemory::now();
    const auto growth = [](uint64_t from, uint64_t to) { return to > from ? to - from : 0; };
    weighed.measured = static_cast<double>(std::max(growth(before.heap_bytes, after.heap_bytes),
                                                    growth(before.private_bytes, after.private_bytes))) /
                       kNumPlans;
    return weighed;
  }
  std::unique_ptr<Backend> backend_;
};

/// Shapes that differ in all of M, N and K, or in all channels: `size` is about N and K. `types`: the op and its other
/// attributes.
Problem problem_of(const std::string& types, int64_t size, size_t number, const DeviceInfo& device) {
  const auto step = static_cast<int64_t>(number);
  const std::string sizes =
      types.starts_with("conv")
          ? fmt::format("n=1 c={} h={} w=5 k={} y=3 x=3", size + 2 * step, 5 + number % 7, size + 16 + 2 * step)
          : fmt::format("m={} n={} k={}", 3 + number % 7, size + 2 * step, size + 16 + 2 * step);
  const Problem problem = Problem::parse(types + " " + sizes);
  return op_of(problem).normalise(problem, device);
}

TEST_P(PlanMemory, IsNotMoreThanAPlanSays) {
  constexpr size_t kNumConfigs = 4;
  // Memory that others of the process take meanwhile (a library's threads, pages of the C library) is weighed with the
  // plans and only ever adds.
  constexpr int kMaxTries = 3;
  int num_weighed = 0;
  int64_t size = 32;
  std::vector<std::string> all = products();
  all.insert(all.end(), {"gemm_a16w16 dtype=fp32 bias=1", "gemm_a16w16 dtype=bf16 outdtype=fp32", "gemm_a8w8 bias=1",
                         "conv", "conv direction=bwd_data layout=NHWC", "conv direction=bwd_weights dtype=bf16"});
  for (const std::string& types : all) {
    for (size_t number = 0; number < kNumConfigs; ++number) {
      const Problem first = problem_of(types, size, 0, device_->info());
      if (!solver_->supports(first, device_->info()).yes) continue;
      if (!solver_->parts(first, device_->info()).empty()) GTEST_SKIP() << "its plans hold those of its parts";
      ++num_weighed;
      for (int tries = 1;; ++tries) {
        size += 82;  // No shape of another round comes again: a library remembers what it generated.
        // All that is not the plan's own is there before.
        std::vector<Problem> problems;
        std::vector<Config> configs;
        std::vector<std::vector<Binary>> compiled;
        for (size_t i = 0; i < kNumFirst + kNumPlans; ++i) {
          problems.push_back(problem_of(types, size, i, device_->info()));
          configs.push_back(config(problems.back(), number, kNumConfigs));
          compiled.push_back(binaries(problems.back(), configs.back()));
        }
        const PlanWeight weighed =
            weigh([&](size_t i) { return backend_->prepare(problems[i], configs[i], {compiled[i]}); });
        const double max = kMaxFactor * weighed.stated + kMaxNoiseBytes;
        if (weighed.measured > max && tries < kMaxTries) continue;
        const std::string what = fmt::format("{} {}: a plan holds {:.0f} bytes and states {:.0f}", types,
                                             configs[0].key(), weighed.measured, weighed.stated);
        RecordProperty(fmt::format("weighed_{}", num_weighed), what);
        EXPECT_LE(weighed.measured, max) << what;
        EXPECT_GT(weighed.stated, 0) << what;
        break;
      }
    }
  }
  EXPECT_GT(num_weighed, 0);
}

INSTANTIATE_TEST_SUITE_P(All, PlanMemory, testing::ValuesIn(solver_ids()), test_name_of);

}  // namespace
}  // namespace attune
