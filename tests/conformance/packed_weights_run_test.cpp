// SPDX-License-Identifier: MIT
// Tests packed weights at run time: every layout of every solver that packs, from a table's rows to the result.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "attune/dispatcher.h"
#include "base/error.h"
#include "base/file.h"
#include "device/devices.h"
#include "measure/comparison/compare.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "search/prune.h"
#include "search/weight_group.h"
#include "solver/registry.h"

namespace attune {
namespace {

constexpr int64_t kN = 90, kK = 130;
constexpr std::array<int64_t, 2> kTuned = {4, 64};

struct Sort {
  DType in, out;
  bool bias;
};

Problem problem_of(const Sort& sort, int64_t m, const DeviceInfo& device) {
  const Problem asked =
      Problem::parse(fmt::format("gemm_a16w16 m={} n={} k={} dtype={} outdtype={} bias={} bpreshuffle=1", m, kN, kK,
                                 name(sort.in), name(sort.out), sort.bias ? 1 : 0));
  return op_of(asked).normalise(asked, device);
}

GemmKey key_of(const Sort& sort, int64_t m) {
  return {.m = m,
          .n = kN,
          .k = kK,
          .in = sort.in,
          .out = sort.out,
          .flags = static_cast<uint8_t>(sort.bias ? GemmKey::bias : 0)};
}

/// Filled operands of a problem, aligned to 64 bytes.
class Operands {
 public:
  explicit Operands(const Problem& problem) : problem_(problem), op_(op_of(problem)), specs_(op_.tensors(problem)) {
    for (const TensorSpec& spec : specs_) {
      memory_.push_back(std::make_unique<std::vector<std::byte>>(spec.bytes() + 64));
      auto place = reinterpret_cast<uintptr_t>(memory_.back()->data());
      place = (place + 63) / 64 * 64;
      host_.operands.emplace_back(reinterpret_cast<std::byte*>(place), spec.bytes());
    }
    HostTensors inputs = host_;
    inputs.operands.pop_back();
    op_.fill(problem, Distribution::normal, 7, inputs);
  }
  const void* weights() const { return host_.operands[1].data(); }
  /// Returns all operands but the weights.
  std::vector<void*> others() const {
    std::vector<void*> all;
    for (size_t i = 0; i < host_.operands.size(); ++i) {
      if (i != 1) all.push_back(host_.operands[i].data());
    }
    return all;
  }
  void expect_right(const std::string& what) const {
    HostTensors inputs = host_;
    inputs.operands.pop_back();
    const Reference want = whole_reference(op_, problem_, Path::fast, inputs);
    const Tolerance tolerance = op_.tolerance(problem_);
    const OutputComparison found = compare(specs_.back().dtype, host_.operands.back(), want, kN, tolerance);
    EXPECT_EQ(found.num_non_finite, 0u) << what;
    EXPECT_LE(found.errors.max_relative, tolerance.max_relative) << what;
  }

 private:
  Problem problem_;
  const Op& op_;
  std::vector<TensorSpec> specs_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> memory_;
  HostTensors host_;
};

/// Returns a candidate for each layout that a solver reads at a problem's M.
std::map<std::string, std::string> candidates_of(const Solver& solver, Backend& backend, const Problem& problem,
                                                 const DeviceInfo& device) {
  std::map<std::string, std::string> found;
  const Versions versions = backend.versions();
  const auto own = versions.find(std::string(solver.id()));
  const std::string version = own != versions.end() ? own->second : std::string(solver.version());
  const SearchSpace space = backend.space(problem);
  for (const uint64_t index : prune(space, problem, device, 1, 2000).allowed) {
    const Config config = space.at(index);
    found.emplace(layout_of(config), Candidate{std::string(solver.id()), version, config}.name());
  }
  return found;
}

void run_all(const Sort& sort, const std::string& layout, const std::map<int64_t, std::string>& rows,
             const DeviceInfo& device, const std::string& solver) {
  const TemporaryFolder folder("attune_weights_");
  const auto table = folder.path() / "t.csv";
  std::string text = "gfx,cu_num,M,N,K,bias,dtype,outdtype,bpreshuffle,us,kernelName,layout\n";
  for (const auto& [m, kernel] : rows) {
    text += fmt::format("{},{},{},{},{},{},{},{},True,1,{},{}\n", device.gfx, device.num_units, m, kN, kK,
                        sort.bias ? "True" : "False", torch_name(sort.in), torch_name(sort.out), kernel, layout);
  }
  write_file_atomically(table, text);
  DispatcherOptions options{.compile_mode = CompileMode::blocking, .poll_interval = std::chrono::milliseconds(0)};
  options.tables["gemm_a16w16"] = {table};
  Dispatcher dispatcher(options);
  const Operands first(problem_of(sort, 1, device));
  const Weights weights = dispatcher.pack_weights(key_of(sort, 0), first.weights());
  ASSERT_EQ(std::vector<std::string>(weights.layouts().begin(), weights.layouts().end()), std::vector{layout});
  std::set<Match> matches;
  for (const int64_t m : {int64_t{4}, int64_t{1}, int64_t{3}, int64_t{33}, int64_t{60}, int64_t{64}, int64_t{700}}) {
    const Operands operands(problem_of(sort, m, device));  // The weights do not depend on M, because the seed does not.
    const std::string what = fmt::format("{} {} m={}", solver, layout, m);
    try {
      dispatcher.run(key_of(sort, m), weights, operands.others());
    } catch (const Error& error) {
      // A library's own layout may only exist for some M; otherwise nothing runs.
      EXPECT_EQ(error.code(), ErrorCode::unavailable) << what << ": " << error.what();
      EXPECT_FALSE(rows.contains(m)) << what << ": " << error.what();
      continue;
    }
    operands.expect_right(what);
    const Hit hit = dispatcher.choose(key_of(sort, m), &weights);
    matches.insert(hit.match);
    EXPECT_EQ(hit.match == Match::exact, rows.contains(m)) << what;
  }
  EXPECT_GE(matches.size(), 2u) << solver << " " << layout;
}

TEST(PackedWeightsAtRunTime, EveryLayoutOfEverySolverGivesThePlainProduct) {
  const auto device = open_device("cpu:0");
  std::set<std::string> solvers;
  for (const SolverEntry& entry : registry().entries()) {
    if (entry.solver == nullptr) continue;
    for (const Sort& sort : {Sort{DType::fp32, DType::fp32, false}, Sort{DType::fp32, DType::fp32, true},
                             Sort{DType::bf16, DType::fp32, true}, Sort{DType::bf16, DType::bf16, false}}) {
      std::map<std::string, std::map<int64_t, std::string>> rows;
      for (const int64_t m : kTuned) {
        const Problem problem = problem_of(sort, m, device->info());
        if (!entry.solver->supports(problem, device->info()).yes) continue;
        try {
          const auto backend = entry.solver->open(*device);
          for (auto& [layout, kernel] : candidates_of(*entry.solver, *backend, problem, device->info()))
            rows[layout].emplace(m, kernel);
        } catch (const Error&) {
          continue;  // A library may find out late that this processor lacks a type.
        }
      }
      for (const auto& [layout, kernels] : rows) {
        SCOPED_TRACE(entry.id + " " + layout);
        solvers.insert(entry.id);
        run_all(sort, layout, kernels, device->info(), entry.id);
      }
    }
  }
  if (solvers.empty()) GTEST_SKIP() << "no solver on this machine supports packed weights";
  for (const std::string& solver : solvers) RecordProperty(solver, "ran");
}

}  // namespace
}  // namespace attune
