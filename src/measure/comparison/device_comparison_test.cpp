// SPDX-License-Identifier: MIT
#include "measure/comparison/device_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "device/devices.h"
#include "device/fake/fake_device.h"
#include "ops/op.h"
#include "testing/device_comparison_checks.h"

namespace attune {
namespace {

TEST(DeviceComparison, IsNotThereWhereADeviceLoadsNoKernels) {
  FakeDevice device;
  EXPECT_EQ(DeviceComparison::open(device, DType::fp32), nullptr);
  const Problem problem = Problem::parse("gemm_a16w16 m=2 n=2 k=2");
  const Op& op = op_of(problem);
  EXPECT_EQ(DeviceReferenceKernel::open(device, op, op.normalise(problem, device.info())), nullptr);
  EXPECT_EQ(DeviceFill::open(device, op, op.normalise(problem, device.info())), nullptr);
}

TEST(DeviceComparison, EveryOpWithKernelsIsAmongTheReferencesThatAreChecked) {
  for (const Op* const op : ops()) {
    if (op->kernels() == nullptr) continue;
    const auto is_of_op = [&](const char* key) { return Problem::parse(key).op() == op->name(); };
    EXPECT_TRUE(std::ranges::any_of(kReferenceKeys, is_of_op)) << op->name();
    EXPECT_TRUE(std::ranges::any_of(kLargeReferenceKeys, is_of_op)) << op->name();
  }
}

/// The first NVIDIA GPU.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    device_ = open_device("cuda:0");
  }
  std::unique_ptr<Device> device_;
};

TEST_F(OnGpu, ReferencesAreThoseOfTheHost) { check_device_references(*device_); }

TEST_F(OnGpu, ElementsOfLargeReferencesAreThoseOfTheHost) {
  check_large_device_references(*device_, kLargeReferenceKeys);
}

TEST_F(OnGpu, OperandsAreFilledWithTheBytesOfTheHost) { check_device_fill(*device_); }

TEST_F(OnGpu, ComparisonFindsWhatTheHostFinds) { check_device_comparison(*device_); }

}  // namespace
}  // namespace attune
