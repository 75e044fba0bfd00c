// SPDX-License-Identifier: MIT
#include "core/device_info.h"

#include <gtest/gtest.h>

#include <functional>

namespace attune {
namespace {

DeviceInfo gpu() {
  return {.id = "cuda:0",
          .kind = "cuda",
          .gfx = "sm_90",
          .num_units = 132,
          .model = "H200",
          .memory_bytes = int64_t{141} << 30,
          .facts = {{"l2_bytes", 50 << 20}, {"least_sample_us", 20}}};
}

bool is_another(const std::function<void(DeviceInfo&)>& change, DeviceInfo device = gpu()) {
  const std::string before = device.fingerprint();
  change(device);
  return device.fingerprint() != before;
}

TEST(DeviceInfo, OfOneKeyMayHaveSeveralFingerprints) {
  DeviceInfo other = gpu();
  other.model = "H100";
  other.memory_bytes = int64_t{80} << 30;
  EXPECT_EQ(other.key(), gpu().key());
  EXPECT_NE(other.fingerprint(), gpu().fingerprint());
  EXPECT_EQ(gpu().fingerprint().size(), 32u);
}

TEST(DeviceInfo, FingerprintHasWhatAKernelCanDependOn) {
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.kind = "hip"; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.gfx = "sm_80"; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.num_units = 131; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.model = "H100"; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.processor = "GenuineIntel/6/207/2"; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.facts["l2_bytes"] = 1; }));
  EXPECT_TRUE(is_another([](DeviceInfo& one) { one.memory_bytes = int64_t{80} << 30; }));
}

TEST(DeviceInfo, FingerprintHasNothingThatIsMeasuredOrMoves) {
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.id = "cuda:7"; }));
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.bandwidth_gbs = 1; }));
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.peak_gflops["fp32"] = 1; }));
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.facts["least_sample_us"] = 1; }));
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.facts["schedstat"] = 1; }));
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.memory_bytes += 100 << 20; })) << "a driver reserves some";
  DeviceInfo host = gpu();
  host.kind = "host";
  EXPECT_FALSE(is_another([](DeviceInfo& one) { one.memory_bytes = 1; }, host));
}

TEST(DeviceInfo, APeakIsStatedOrNoneIsKnown) {
  DeviceInfo device = gpu();
  device.peak_gflops = {{"int8", 250}, {"bf16", 0}};
  EXPECT_EQ(device.peak_of(DType::int8), 250);
  EXPECT_EQ(device.peak_of(DType::bf16), std::nullopt);
  EXPECT_EQ(device.peak_of(DType::e4m3fn), std::nullopt);
}

}  // namespace
}  // namespace attune
