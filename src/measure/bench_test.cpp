// SPDX-License-Identifier: MIT
#include "measure/bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "device/fake/fake_device.h"
#include "ops/op.h"

namespace attune {
namespace {

class BenchBytes : public testing::Test {
 protected:
  double bytes(const std::string& key, CachePolicy policy) const {
    const Problem problem = normal(key);
    return bench_bytes(op_of(problem), problem, {.cache = policy}, device_);
  }
  /// Bytes of the copies in a bench of the problem.
  double rotation(const std::string& key, CachePolicy policy) const {
    const Problem problem = normal(key);
    return static_cast<double>(size_rotation(op_of(problem).tensors(problem), policy, device_.cache_bytes).bytes());
  }
  Problem normal(const std::string& key) const {
    const Problem problem = Problem::parse(key);
    return op_of(problem).normalise(problem, device_);
  }

  DeviceInfo device_ = FakeDevice().info();
};

TEST_F(BenchBytes, CountTheCopiesThatTheRotationMakes) {
  for (const char* key : {"gemm_a16w16 m=1 n=32 k=48 dtype=fp32", "gemm_a16w16 m=64 n=4096 k=4096 dtype=bf16",
                          "gemm_a16w16 m=65536 n=64 k=4096 dtype=bf16", "gemm_a16w16 m=64 n=65536 k=4096 dtype=bf16",
                          "gemm_a16w16 m=8192 n=16384 k=8192 dtype=fp32 bias=1"}) {
    const double without = bytes(key, CachePolicy::warm) - rotation(key, CachePolicy::warm);
    EXPECT_GT(without, 0) << key;
    for (const CachePolicy policy : {CachePolicy::cold, CachePolicy::served})
      EXPECT_EQ(bytes(key, policy) - rotation(key, policy), without) << key << " " << name(policy);
  }
}

TEST_F(BenchBytes, LargeActivationsAreCountedOnceUnlessTheyRotate) {
  const char* key = "gemm_a16w16 m=65536 n=64 k=4096 dtype=bf16";  // 512 MiB of activations, 0.5 MiB of weights
  constexpr double kActivations = 65536.0 * 4096 * 2;
  EXPECT_GT(bytes(key, CachePolicy::cold) - bytes(key, CachePolicy::warm), kActivations);
  EXPECT_LT(bytes(key, CachePolicy::served) - bytes(key, CachePolicy::warm), kActivations / 100);
}

TEST_F(BenchBytes, AreFiniteForShapesBeyondAnyMemory) {
  const char* key = "gemm_a16w16 m=2147483647 n=2147483647 k=2147483647 dtype=fp32";
  for (const CachePolicy policy : {CachePolicy::cold, CachePolicy::warm, CachePolicy::served}) {
    EXPECT_TRUE(std::isfinite(bytes(key, policy)));
    EXPECT_GT(bytes(key, policy), 1e19);
  }
}

}  // namespace
}  // namespace attune
