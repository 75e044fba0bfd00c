// SPDX-License-Identifier: MIT
#include "solver/static/static_contenders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

/// Supports 16-bit types on a host; states one config for each of the device's units. Cannot be opened.
class GeneratorForTest final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "generator.gemm"; }
  std::string_view version() const override { return "3"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "host") return Support::no("runs on a host only");
    if (problem.integer("m") == 13) fail(ErrorCode::unavailable, "is superstitious");
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo& device) const override {
    std::vector<Config> all;
    for (int64_t i = 1; i <= device.num_units; ++i) all.push_back(Config({{"threads", i}}));
    return SearchSpace::listed(std::move(all));
  }
  Config default_config(const Problem&, const DeviceInfo& device) const override {
    return Config({{"threads", device.num_units}});
  }
  SearchSpace invariant_space(const Problem&, const DeviceInfo&) const override {
    return SearchSpace::listed({Config::parse("threads=1")});
  }
  std::unique_ptr<Backend> open(Device&) const override {
    ADD_FAILURE() << "it was opened";
    return nullptr;
  }
};

class LibraryForTest final : public Solver {
 public:
  std::string_view id() const override { return "library.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo& device) const override {
    return device.kind == "host" ? Support() : Support::no("runs on a host only");
  }
  std::unique_ptr<Backend> open(Device&) const override {
    ADD_FAILURE() << "it was opened";
    return nullptr;
  }
};

class StaticContenders : public testing::Test {
 protected:
  StaticContenders() {
    registry_.add(std::make_unique<LibraryForTest>());
    registry_.add(std::make_unique<GeneratorForTest>());
    registry_.add_unavailable("lost.gemm", "for this test", "its library is not installed");
  }
  std::vector<Contender> of(int m) const {
    return static_contenders(registry_, Problem::parse(fmt::format("gemm_a16w16 m={} n=1 k=1 dtype=fp32", m)), device_);
  }

  Registry registry_;
  DeviceInfo device_{.id = "cpu:0", .kind = "host", .gfx = "x86-64-v3", .num_units = 3};
};

TEST_F(StaticContenders, StateWhatFollowsFromTheDescriptionOfADeviceThatIsNotOpened) {
  const auto all = of(1);
  ASSERT_EQ(all.size(), 3u);
  const Contender& generator = all[1];
  EXPECT_TRUE(generator.support.yes) << generator.support.reason;
  EXPECT_EQ(generator.version, "3");
  EXPECT_EQ(generator.space.size(), 3u);
  EXPECT_EQ(generator.default_config.key(), "threads=3");
  EXPECT_EQ(generator.invariant.size(), 1u);
  EXPECT_TRUE(generator.versions.empty());
  EXPECT_FALSE(is_known_on_device_only(generator));
}

TEST_F(StaticContenders, OfALibraryAreKnownOnTheDeviceOnly) {
  const auto all = of(1);
  EXPECT_FALSE(all[0].support.yes);
  EXPECT_THAT(all[0].support.reason, HasSubstr("known on the device only"));
  EXPECT_TRUE(is_known_on_device_only(all[0]));
  EXPECT_EQ(all[0].space.size(), 0u);
  device_.kind = "fake";
  const auto elsewhere = of(1);
  EXPECT_EQ(elsewhere[0].support.reason, "runs on a host only");
  EXPECT_FALSE(is_known_on_device_only(elsewhere[0]));
}

TEST_F(StaticContenders, WithoutSupportGiveTheReason) {
  EXPECT_EQ(of(13)[1].support, Support::no("is superstitious"));
  EXPECT_EQ(of(1)[2].support, Support::no("its library is not installed"));
}

TEST_F(StaticContenders, CannotTellOfCandidatesThatOnlyTheDeviceKnows) {
  const auto all = of(1);
  const auto unknown = [&](const char* name) { return why_unknown(Candidate::parse(name), all); };
  EXPECT_THAT(unknown("library.gemm@1+2.3:a=1"), Optional(HasSubstr("library.gemm is a library")));
  EXPECT_THAT(unknown("lost.gemm@1:a=1"), Optional(HasSubstr("lost.gemm its library is not installed")));
  EXPECT_THAT(unknown("other.gemm@1:a=1"), Optional(HasSubstr("other.gemm")));
  EXPECT_EQ(unknown("generator.gemm@3:threads=9"), std::nullopt) << "which why_unusable() refuses";
}

}  // namespace
}  // namespace attune
