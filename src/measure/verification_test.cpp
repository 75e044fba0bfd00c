// SPDX-License-Identifier: MIT
#include "measure/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/turn.h"
#include "device/fake/fake_device.h"
#include "testing/planted_gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

struct Types {
  const char* in;
  const char* out;
};
constexpr Types kTypes[] = {{"fp32", "fp32"}, {"bf16", "bf16"}, {"bf16", "fp32"}, {"fp16", "fp16"}};

Problem problem_of(const Types& types, int bias = 0) {
  return op_of(Problem::parse("gemm_a16w16 m=1 n=1 k=1"))
      .normalise(Problem::parse(
                     fmt::format("gemm_a16w16 m=17 n=34 k=41 dtype={} outdtype={} bias={}", types.in, types.out, bias)),
                 {});
}

/// A problem with its references on a fake device.
class Checker {
 public:
  explicit Checker(const Problem& problem)
      : problem_(problem),
        references_(device_, op_of(problem), problem, 42),
        verification_(device_, op_of(problem), problem, references_) {}
  Finding check(const Plan& plan, bool twice = false) {
    return verification_.verify(plan.traits(), [&](const Launch& launch) { plan.run(launch); }, {.twice = twice});
  }
  Finding check(Fault fault, bool twice = false) { return check(PlantedGemm(GemmShape::of(problem_), fault), twice); }
  GemmShape shape() const { return GemmShape::of(problem_); }
  Verification& verification() { return verification_; }

 private:
  Problem problem_;
  FakeDevice device_;
  ReferenceCache references_;
  Verification verification_;
};

TEST(Verification, PassesCorrectKernelsOfEveryType) {
  for (const Types& types : kTypes) {
    for (const int bias : {0, 1}) {
      const Finding found = Checker(problem_of(types, bias)).check(Fault::none, true);
      EXPECT_EQ(found.status, Status::ok) << types.in << types.out << bias << ": " << found.detail;
    }
  }
}

class VerificationOf : public ::testing::TestWithParam<Types> {};

TEST_P(VerificationOf, CatchesEveryPlantedFault) {
  Checker checker(problem_of(GetParam()));
  for (size_t i = 1; i < static_cast<size_t>(Fault::late); ++i) {
    const auto fault = static_cast<Fault>(i);
    // In 16-bit outputs another order of summation mostly rounds to the same value, so there is nothing to find.
    if (fault == Fault::throws || (fault == Fault::unsteady && std::string_view(GetParam().out) != "fp32")) continue;
    const Finding found = checker.check(fault, true);
    EXPECT_EQ(found.status, Status::wrong_result) << kFaultNames[i];
    EXPECT_NE(found.detail, "") << kFaultNames[i];
  }
  EXPECT_EQ(checker.check(Fault::none, true).status, Status::ok) << "a fault leaves nothing behind";
}

INSTANTIATE_TEST_SUITE_P(Types, VerificationOf, ::testing::ValuesIn(kTypes),
                         [](const auto& tested) { return fmt::format("{}_to_{}", tested.param.in, tested.param.out); });

TEST(Verification, SaysWhatItFoundAndWhere) {
  Checker checker(problem_of(kTypes[0]));
  EXPECT_EQ(checker.check(Fault::tile_dropped).detail,
            "256 of 578 elements of 'c' were never written, first at row 0, column 16 (normal data)");
  EXPECT_EQ(checker.check(Fault::stale).detail,
            "578 of 578 elements of 'c' were never written, first at row 0, column 0 (normal data)");
  EXPECT_THAT(checker.check(Fault::accumulates).detail,
              HasSubstr("578 of 578 elements of 'c' are computed from memory that was never written"));
  EXPECT_EQ(checker.check(Fault::writes_past_end).detail,
            "wrote outside its output 'c': 0 bytes after its end (normal data)");
  EXPECT_EQ(checker.check(Fault::writes_before_start).detail,
            "wrote outside its output 'c': 4 bytes before its start (normal data)");
  EXPECT_EQ(checker.check(Fault::changes_input).detail, "changed its input 'b' (normal data)");
  EXPECT_EQ(checker.check(Fault::overruns_workspace).detail,
            "wrote outside its workspace of 100 bytes: 0 bytes after its end (normal data)");
  EXPECT_THAT(checker.check(Fault::leaves_prefix_dirty).detail,
              HasSubstr("first 16 bytes of its workspace zero, as it declares: byte 15"));
  EXPECT_THAT(checker.check(Fault::nan_in_output).detail,
              HasSubstr("1 elements are not finite where the reference is, first at row 1, column 1"));
  EXPECT_THAT(checker.check(Fault::rows_permuted).detail, HasSubstr("of the typical product is above the bound of"));
  EXPECT_THAT(checker.check(Fault::unsteady, true).detail, HasSubstr("two runs on the same inputs differ although"));
}

TEST(Verification, ADeclaredNonDeterministicPlanMayDifferWithinTheTolerance) {
  Checker checker(problem_of(kTypes[0]));
  PlantedGemm plan(checker.shape(), Fault::unsteady);
  plan.declare().deterministic = false;
  EXPECT_EQ(checker.check(plan, true).status, Status::ok);
}

TEST(Verification, RunsOnceOnEachDistributionAndOnceMoreForFinalists) {
  Checker checker(problem_of(kTypes[0]));
  checker.check(Fault::none);
  EXPECT_EQ(checker.verification().launches(), 2u);
  checker.check(Fault::none, true);
  EXPECT_EQ(checker.verification().launches(), 3u);
}

TEST(Verification, PassesAPlanThatLeavesItsWorkspacesPrefixZero) {
  Checker checker(problem_of(kTypes[0]));
  PlantedGemm plan(checker.shape(), Fault::none);
  plan.declare().workspace_bytes = 4096;
  plan.declare().zeroed_bytes = 256;
  EXPECT_EQ(checker.check(plan, true).status, Status::ok);
}

TEST(Verification, GivesAWorkspaceTheAlignmentThatThePlanStatesAndNoBetter) {
  Checker checker(problem_of(kTypes[0]));
  PlantedGemm plan(checker.shape(), Fault::none);
  plan.declare().workspace_bytes = 100;
  for (const uint32_t alignment : {64u, kMaxWorkspaceAlignment}) {
    plan.declare().workspace_alignment = alignment;
    checker.verification().reserve(plan.traits());
    const auto run = [&](const Launch& launch) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.workspace) % (2 * alignment), alignment);
      plan.run(launch);
    };
    EXPECT_EQ(checker.verification().verify(plan.traits(), run, {}).status, Status::ok);
  }
}

TEST(ReferenceCache, RestoresInputsThatACandidateChanged) {
  FakeDevice device;
  const Problem problem = problem_of(kTypes[1]);
  ReferenceCache references(device, op_of(problem), problem, 7);
  TestData& data = references.get(Distribution::normal);
  const Hash128 before = data.hashes[0];
  references.begin_run(Distribution::normal);
  FakeMemory::reach(data.inputs[0].data())[3] ^= std::byte{8};
  EXPECT_NE(device.memory().hash(data.inputs[0].area()), before);
  references.refill(Distribution::normal);
  EXPECT_EQ(device.memory().hash(data.inputs[0].area()), before);
}

/// An op whose fast path loses the last term, or that tolerates all errors except the share of mismatches.
class ChangedGemm final : public Op {
 public:
  explicit ChangedGemm(bool broken_path) : broken_path_(broken_path) {}
  const FamilySpec& family() const override { return gemm_.family(); }
  Problem normalise(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_.normalise(problem, device);
  }
  Work work(const Problem& problem) const override {
    Work work = gemm_.work(problem);
    if (pause.count() > 0) work.flops = 1e9;
    return work;
  }
  std::vector<TensorSpec> tensors(const Problem& problem) const override { return gemm_.tensors(problem); }
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override {
    gemm_.fill(problem, distribution, seed, tensors);
  }
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override {
    gemm_.reference(problem, path, tensors, out);
    if (path == Path::fast) std::this_thread::sleep_for(pause);
    if (path == Path::naive) num_naive += out.values.size();
    if (broken_path_ && path == Path::fast && out.rows.end == output_rows(problem)) out.values.back() += 1e-3;
  }
  Tolerance tolerance(const Problem& problem) const override {
    Tolerance tolerance = gemm_.tolerance(problem);
    if (!broken_path_) tolerance.max_relative = tolerance.max_cosine = 1e9;
    return tolerance;
  }
  mutable std::atomic<size_t> num_naive = 0;  ///< Elements computed by the naive path.
  Milliseconds pause{0};                      ///< Time for a part of the reference; the op then states more work.

 private:
  bool broken_path_;
  GemmOp gemm_;
};

TEST(ReferenceCache, WhatItHoldsCannotBeWrittenToButInARunsOwnInputs) {
  FakeDevice device;
  const Problem problem = problem_of(kTypes[0]);
  ReferenceCache references(device, op_of(problem), problem, 7);
  TestData& normal = references.get(Distribution::normal);
  TestData& integers = references.get(Distribution::integers);
  EXPECT_DEATH(normal.reference.values.front() = 1, "");
  EXPECT_DEATH(normal.reference.values.back() = 1, "");
  EXPECT_DEATH(normal.reference.scales.front() = 1e30, "");
  EXPECT_DEATH(*FakeMemory::reach(normal.inputs.front().data()) = std::byte{1}, "");
  references.begin_run(Distribution::normal);
  *FakeMemory::reach(normal.inputs.front().data()) = std::byte{1};
  EXPECT_DEATH(*FakeMemory::reach(integers.inputs.front().data()) = std::byte{1}, "");
  references.refill(Distribution::normal);
  references.end_run(Distribution::normal);
  EXPECT_DEATH(*FakeMemory::reach(normal.inputs.front().data()) = std::byte{1}, "");
}

/// `--errRatio` is a separate criterion, even when all other bounds tolerate the errors.
TEST(Verification, TheShareOfMismatchesMustStayBelowItsLimit) {
  FakeDevice device;
  const ChangedGemm op(false);
  const Problem problem = problem_of(kTypes[0]);
  ReferenceCache references(device, op, problem, 7);
  Verification verification(device, op, problem, references);
  const PlantedGemm wrong(GemmShape::of(problem), Fault::rows_permuted);
  const auto verify = [&](double err_ratio) {
    return verification.verify(wrong.traits(), [&](const Launch& launch) { wrong.run(launch); },
                               {.err_ratio = err_ratio});
  };
  const Finding found = verify(0.05);
  EXPECT_EQ(found.status, Status::wrong_result);
  EXPECT_THAT(found.detail, HasSubstr("of the elements are outside the tolerance, 0.05 is the limit"));
  EXPECT_EQ(verify(found.errors.mismatch_ratio).status, Status::wrong_result) << "strictly below";
  EXPECT_EQ(verify(1.01).status, Status::ok);
}

TEST(ReferenceCache, NoticesThatTheTwoPathsDisagree) {
  FakeDevice device;
  const ChangedGemm op(true);
  ReferenceCache references(device, op, problem_of(kTypes[0]), 7);
  try {
    references.get(Distribution::normal);
    FAIL() << "the last row is always checked";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_THAT(error.what(), HasSubstr("row 16, column 33"));
  }
}

TEST(ReferenceCache, ChecksAllOfASmallReferenceAndSampledElementsOfALargeOne) {
  FakeDevice device;
  const auto num_checked = [&](const char* text) {
    const ChangedGemm op(false);
    const Problem problem = op.normalise(Problem::parse(text), device.info());
    ReferenceCache(device, op, problem, 7).get(Distribution::normal);
    return op.num_naive.load();
  };
  EXPECT_EQ(num_checked("gemm_a16w16 m=33 n=40 k=64 dtype=fp32"), 33u * 40);
  EXPECT_EQ(num_checked("gemm_a16w16 m=64 n=64 k=512 dtype=fp32"), 256u) << "the largest number of samples";
  EXPECT_EQ(num_checked("gemm_a16w16 m=16 n=16 k=16384 dtype=fp32"), 64u) << "their terms have a limit";
}

TEST(ReferenceCache, AsksWhetherToGoOnWhileALongReferenceIsComputed) {
  int num_asked = 0, last = 1;
  FakeDevice device;
  ChangedGemm op(false);
  op.pause = Milliseconds(120);
  const auto rows = 256 * 4 * std::thread::hardware_concurrency();  // four parts a thread
  const auto problem = op.normalise(Problem::parse(fmt::format("gemm_a16w16 m={} n=1 k=1 dtype=fp32", rows)), {});
  ReferenceCache references(device, op, problem, 7, [&] { return ++num_asked == last; });
  try {
    references.get(Distribution::normal);
    FAIL() << "a part was left";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
  }
  last = 0;
  EXPECT_EQ(references.get(Distribution::normal).reference.values.size(), rows) << "computed anew, and whole";
  EXPECT_GE(num_asked, 2);
}

TEST(ReferenceCache, ChecksTheLastElementOfALargeReference) {
  FakeDevice device;
  const ChangedGemm op(true);
  const auto problem = op.normalise(Problem::parse("gemm_a16w16 m=64 n=64 k=512 dtype=fp32"), device.info());
  ReferenceCache references(device, op, problem, 7);
  EXPECT_THROW(references.get(Distribution::normal), Error);
}

}  // namespace
}  // namespace attune
