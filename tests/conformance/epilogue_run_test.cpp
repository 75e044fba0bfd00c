// SPDX-License-Identifier: MIT
// Epilogues at run time: from a table's row, or without one, to the result in an application's memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/dispatcher.h"
#include "base/error.h"
#include "base/file.h"
#include "device/devices.h"
#include "measure/comparison/compare.h"
#include "ops/epilogue.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "tensor/convert.h"

namespace attune {
namespace {

constexpr const char* kProduct = "gemm_a16w16 m=9 n=24 k=50 dtype=fp32 outdtype=fp32 bias=1";

/// Filled operands of a problem, as an application has them.
class EpilogueOperands {
 public:
  explicit EpilogueOperands(const std::string& text)
      : problem_(op_of(Problem::parse(text)).normalise(Problem::parse(text), {})),
        op_(op_of(problem_)),
        specs_(op_.tensors(problem_)) {
    for (const TensorSpec& spec : specs_) {
      memory_.emplace_back(spec.bytes() / sizeof(float) + 16);
      auto place = reinterpret_cast<uintptr_t>(memory_.back().data());
      host_.operands.emplace_back(reinterpret_cast<std::byte*>((place + 63) / 64 * 64), spec.bytes());
    }
    op_.fill(problem_, Distribution::normal, 7, host_);
  }
  std::vector<void*> all() const {
    std::vector<void*> pointers;
    for (const auto& one : host_.operands) pointers.push_back(one.data());
    return pointers;
  }
  void set(std::string_view role, float value) {
    for (size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].role == role) from_float(specs_[i].dtype, std::span(&value, 1), host_.operands[i].data());
    }
  }
  void expect_right(const std::string& what) const {
    const Reference want = whole_reference(op_, problem_, Path::fast, host_);
    const Tolerance tolerance = op_.tolerance(problem_);
    const auto found = compare(specs_.back().dtype, host_.operands.back(), want, specs_.back().shape.back(), tolerance);
    EXPECT_EQ(found.num_non_finite, 0u) << what;
    EXPECT_LE(found.errors.max_relative, tolerance.max_relative) << what;
  }

 private:
  Problem problem_;
  const Op& op_;
  std::vector<TensorSpec> specs_;
  std::vector<std::vector<float>> memory_;
  HostTensors host_;
};

/// Rows of the product, by activation: kernel names.
class TableOfActivations {
 public:
  void add(std::string_view act, const std::string& kernel) {
    text_ += fmt::format("{},{},9,24,50,True,fp32,fp32,1,{},{}\n", device_->info().gfx, device_->info().num_units,
                         kernel, act);
  }
  DispatcherOptions options() const {
    const auto file = folder_.path() / "t.csv";
    write_file_atomically(file, text_);
    DispatcherOptions made{.compile_mode = CompileMode::blocking, .poll_interval = std::chrono::milliseconds(0)};
    made.tables["gemm_a16w16"] = {file};
    return made;
  }
  Device& device() { return *device_; }

 private:
  TemporaryFolder folder_{"attune_epilogue_"};
  std::unique_ptr<Device> device_ = open_device("cpu:0");
  std::string text_ = "gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName,act\n";
};

/// A solver's default candidate of a problem, as tables name it; empty without one.
std::string default_candidate(const Solver& solver, Device& device, const std::string& text) {
  const Problem problem = op_of(Problem::parse(text)).normalise(Problem::parse(text), device.info());
  if (device.info().kind != "host" || !solver.supports(problem, device.info()).yes) return {};
  const auto backend = solver.open(device);
  const Versions versions = backend->versions();
  const auto own = versions.find(std::string(solver.id()));
  const std::string version = own != versions.end() ? own->second : std::string(solver.version());
  return Candidate{std::string(solver.id()), version, backend->default_config(problem)}.name();
}

TEST(EpiloguesAtRunTime, ARowServesItsActivationAndNoOther) {
  size_t num_solvers = 0;
  for (const SolverEntry& entry : registry().entries()) {
    if (entry.solver == nullptr) continue;
    TableOfActivations table;
    const std::string kernel = default_candidate(*entry.solver, table.device(), fmt::format("{} act=gelu", kProduct));
    if (kernel.empty()) continue;
    ++num_solvers;
    table.add("GELU", kernel);
    Dispatcher dispatcher(table.options());
    for (const std::string_view act : kActivations) {
      const std::string text = fmt::format("{} act={}", kProduct, act), what = entry.id + " " + text;
      const EpilogueOperands operands(text);
      dispatcher.run(dispatcher.key(text), operands.all());
      operands.expect_right(what);
      const Hit hit = dispatcher.choose(dispatcher.key(text));
      EXPECT_EQ(hit.match, act == "gelu" ? Match::exact : Match::fallback) << what;
    }
  }
  EXPECT_GE(num_solvers, 1u) << "portable is always there";
}

TEST(EpiloguesAtRunTime, AnUnknownActivationOfALaterVersionServesNoOne) {
  TableOfActivations table;
  table.add("mish", "portable.gemm@1:block=4x4");
  Dispatcher dispatcher(table.options());
  for (const std::string_view act : kActivations)
    EXPECT_EQ(dispatcher.require(dispatcher.key(fmt::format("{} act={}", kProduct, act))).match, Match::fallback);
}

/// Factors are read in each call: one plan serves all of their values.
TEST(EpiloguesAtRunTime, FactorsMayChangeFromCallToCall) {
  TableOfActivations table;
  Dispatcher dispatcher(table.options());
  const std::string text = std::string(kProduct) + " act=silu alpha=any beta=any out_scale=1";
  EpilogueOperands operands(text);
  for (const float value : {1.0f, -2.5f, 0.125f}) {
    for (const char* role : {"alpha", "beta", "out_scale"}) {
      operands.set(role, value);
      dispatcher.run(dispatcher.key(text), operands.all());
      operands.expect_right(fmt::format("{}={}", role, value));
    }
  }
  EXPECT_EQ(dispatcher.counts().plans, 1u);
}

/// A problem that no solver computes is never computed without its epilogue: the application gets it back, and it is
/// counted.
TEST(EpiloguesAtRunTime, WhatNoSolverTakesGoesBackToTheApplication) {
  TableOfActivations table;
  Dispatcher dispatcher(table.options());
  const std::string text = "gemm_a16w16 m=16 n=24 k=50 dtype=fp32 trans_a=1 beta=any";
  const Key key = dispatcher.key(text);
  const EpilogueOperands operands(text);
  const uint64_t before = dispatcher.counts().misses;
  try {
    dispatcher.run(key, operands.all());
    ADD_FAILURE() << "no solver adds a residual to a product of a transposed x";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
  }
  EXPECT_EQ(dispatcher.choose(key).plan, nullptr);
  EXPECT_GT(dispatcher.counts().misses, before);
}

}  // namespace
}  // namespace attune
