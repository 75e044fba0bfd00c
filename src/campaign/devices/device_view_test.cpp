// SPDX-License-Identifier: MIT
#include "campaign/devices/device_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "formats/device_info/device_info.h"
#include "ops/op.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

class DeviceViewOfAFile : public testing::Test {
 protected:
  DeviceView view(const DeviceChoice& choice = {}) const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeviceInfo& one : devices_) list.push_back(device_json(one));
    const auto file = folder_.put("devices.json", devices_.size() == 1 ? list[0].dump() : list.dump());
    return DeviceView({choice, file, {.cache = (folder_.path() / "cache").string(), .keep = {}}});
  }
  std::string refusal(const DeviceChoice& choice) const {
    try {
      view(choice);
      return "nothing was thrown";
    } catch (const Error& error) {
      return std::string(name(error.code())) + ": " + error.what();
    }
  }
  static DeviceInfo host(const std::string& id, int64_t units) {
    return {.id = id,
            .kind = "host",
            .gfx = "x86-64-v3",
            .num_units = units,
            .model = "A small one",
            .facts = {{"num_units", units}, {"l2_bytes", 262144}},
            .peak_gflops = {{"fp32", 100}}};
  }

  TestFolder folder_;
  std::vector<DeviceInfo> devices_ = {host("cpu:3", 8)};
};

TEST_F(DeviceViewOfAFile, IsTheOnlyOneOrTheChosenOne) {
  EXPECT_EQ(view().device(), devices_[0]);
  EXPECT_FALSE(view().is_here());
  EXPECT_EQ(view().flags(), "--devices cpu:3");
  devices_.push_back(host("cpu:0", 4));
  EXPECT_EQ(view().device(), devices_[1]) << "the default is cpu:0";
  EXPECT_EQ(view({.ids = "cpu:3"}).device(), devices_[0]);
  EXPECT_THAT(refusal({.ids = "cpu:1"}),
              AllOf(HasSubstr("invalid_input: "), HasSubstr("devices.json: describes no such device"),
                    HasSubstr("cpu:3, cpu:0"), HasSubstr("got 'cpu:1'")));
}

TEST_F(DeviceViewOfAFile, HasAsManyThreadsAsAreAskedFor) {
  const DeviceView one = view({.ids = "", .threads = 2});
  EXPECT_EQ(one.device().key(), "x86-64-v3/2");
  EXPECT_EQ(one.device().facts.at("num_units"), 2);
  EXPECT_EQ(one.device().peak_gflops.at("fp32"), 25);
  EXPECT_EQ(one.flags(), "--devices cpu:3 --threads 2");
  EXPECT_THAT(refusal({.ids = "", .threads = 9}), HasSubstr("--threads is above the units of the described device: 9"));
}

TEST_F(DeviceViewOfAFile, OffersWhatItsDescriptionAllows) {
  DeviceView there = view();
  const Problem problem = op_of(Problem::parse("gemm_a16w16 m=1 n=64 k=64 dtype=fp32"))
                              .normalise(Problem::parse("gemm_a16w16 m=1 n=64 k=64 dtype=fp32"), there.device());
  const auto contenders = there.contenders(problem);
  const Contender* portable = find_contender(contenders, "portable.gemm");
  ASSERT_NE(portable, nullptr);
  EXPECT_EQ(portable->space.size(), 3u);
  const auto why = [&](const char* name) {
    return there.why_unusable(Candidate::parse(name), problem, contenders).value_or("");
  };
  EXPECT_EQ(why("portable.gemm@1:block=4x4"), "");
  EXPECT_THAT(why("portable.gemm@1:block=5x5"), HasSubstr("does not offer this config"));
  EXPECT_THAT(why("fake.gemm@1:split_k=1;tile_m=16;tile_n=16"), HasSubstr("runs on the fake device only"));
  EXPECT_EQ(why("absent.gemm@1:a=1"), "") << "another machine may have it";
}

TEST(DeviceViewOfThisMachine, IsOpened) {
  DeviceView here({{.ids = "fake:0"}, "", {}});
  EXPECT_TRUE(here.is_here());
  EXPECT_EQ(here.device().id, "fake:0");
  EXPECT_EQ(here.flags(), "--devices fake:0");
}

}  // namespace
}  // namespace attune
