// SPDX-License-Identifier: MIT
// A solver states the same for a device that is not opened as it offers on the device.
#include <gtest/gtest.h>

#include <set>

#include "device/devices.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "solver/static/static_contenders.h"

namespace attune {
namespace {

constexpr const char* kStaticProblems[] = {
    "gemm_a16w16 m=1 n=64 k=128 dtype=fp32",           "gemm_a16w16 m=33 n=47 k=131 dtype=bf16 bias=1 bpreshuffle=1",
    "gemm_a16w16 m=13 n=29 k=50 dtype=fp32 trans_b=0", "gemm_a16w16 m=5 n=40 k=64 dtype=fp16",
    "gemm_a16w16 m=600 n=500 k=700 dtype=bf16",
};

TEST(StaticContendersOfThisMachine, AreThoseOfTheOpenedDevice) {
  std::set<std::string> stated;
  for (const char* id : {"cpu:0", "fake:0"}) {
    const auto device = open_device(id);
    for (const char* text : kStaticProblems) {
      const Problem problem = op_of(Problem::parse(text)).normalise(Problem::parse(text), device->info());
      for (const Contender& one : static_contenders(registry(), problem, find_device({.ids = id}))) {
        const Solver* solver = registry().find(one.solver);
        if (solver == nullptr) continue;
        const bool supported = solver->supports(problem, device->info()).yes;
        EXPECT_EQ(supported, one.support.yes || is_known_on_device_only(one)) << one.solver << " " << text;
        if (!one.support.yes) continue;
        stated.insert(one.solver);
        const auto backend = solver->open(*device);
        EXPECT_EQ(one.version, candidate_version(*solver, backend->versions())) << one.solver;
        EXPECT_EQ(one.space, backend->space(problem)) << one.solver << " " << text;
        EXPECT_EQ(one.default_config, backend->default_config(problem)) << one.solver << " " << text;
        EXPECT_EQ(one.invariant, backend->invariant_space(problem)) << one.solver << " " << text;
      }
    }
  }
  EXPECT_TRUE(stated.contains("portable.gemm"));
  EXPECT_TRUE(stated.contains("fake.gemm"));
}

}  // namespace
}  // namespace attune
