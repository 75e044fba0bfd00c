// SPDX-License-Identifier: MIT
#include "measure/operands/packed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/fake/fake_device.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "testing/planted_gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPlainProblem = "gemm_a16w16 m=20 n=40 k=64 dtype=fp32";
constexpr const char* kPacked = " bpreshuffle=1";
constexpr const char* kOpaque = "library.pack@1";

/// Weights in the planted library's own order: the address of the buffer, then the plain bytes. A moved copy is
/// invalid.
struct OpaqueWeights {
  const void* place;
  static uint64_t bytes(uint64_t plain) { return sizeof(OpaqueWeights) + plain; }
};

/// Damage that the planted kernel does.
enum class Damage { none, changes_weights, overruns_weights, changes_timed_weights };

/// A correct GEMM on weights in a layout.
class PackedPlan final : public Plan {
 public:
  PackedPlan(const Problem& problem, Layout layout, Damage deed, FakeDevice& device)
      : weights_(op_of(problem).tensors(problem)[1]),
        layout_(std::move(layout)),
        deed_(deed),
        plain_(weights_.bytes()),
        gemm_(GemmShape::of(problem), Fault::none, [&device] { device.advance_us(5); }) {}
  const PlanTraits& traits() const noexcept override { return gemm_.traits(); }

  void run(const Launch& enqueued) const override {
    const std::vector<void*> reached = FakeMemory::reach(enqueued.operands);
    const Launch launch{reached, FakeMemory::reach(enqueued.workspace), enqueued.stream};
    auto* packed = static_cast<std::byte*>(launch.operands[1]);
    // Packed weights have our alignment; timed ones have the alignment of frameworks. Plain ones are verified at the
    // alignment that callers promise.
    const auto place = reinterpret_cast<uintptr_t>(packed);
    if (place % 128 != 64 && !(layout_.name == "plain" && place % 32 == 16))
      fail(ErrorCode::device, "aligned by chance");
    if (layout_.name == kOpaque) {
      OpaqueWeights head{};
      std::memcpy(&head, packed, sizeof head);
      if (FakeMemory::reach(head.place) != packed) fail(ErrorCode::device, "these weights were packed elsewhere");
      std::memcpy(plain_.data(), packed + sizeof head, plain_.size());
    } else {
      unpack(layout_, weights_, {packed, packed_bytes(layout_, weights_)}, plain_);
    }
    std::vector<void*> operands(launch.operands.begin(), launch.operands.end());
    operands[1] = plain_.data();
    gemm_.run({operands, launch.workspace, launch.stream});
    const bool is_verified = ++runs_ <= 3;  // twice on normal data, once on integers
    if (deed_ == Damage::changes_timed_weights && !is_verified) packed[9] ^= std::byte{1};
    if (deed_ == Damage::changes_weights) packed[9] ^= std::byte{1};
    if (deed_ == Damage::overruns_weights) packed[packed_bytes(layout_, weights_)] = std::byte{7};
  }

 private:
  TensorSpec weights_;
  Layout layout_;
  Damage deed_;
  mutable std::vector<std::byte> plain_;
  PlantedGemm gemm_;
  mutable int runs_ = 0;
};

class PackingBackend final : public Backend, public OpaqueLayouts {
 public:
  PackingBackend(FakeDevice& device, int& packs) : device_(device), packs_(packs) {}
  Versions versions() const override { return {{"packing.gemm", "1+1"}}; }
  SearchSpace space(const Problem&) override {
    std::vector<Config> rows;
    for (const char* row :
         {"b_layout=plain;deed=0", "b_layout=host.k16.v1;deed=0", "b_layout=library.pack@1;deed=0",
          "b_layout=host.k16.v1;deed=1", "b_layout=host.k16.v1;deed=2", "b_layout=host.k16.v1;deed=3"})
      rows.push_back(Config::parse(row));
    return SearchSpace::listed(std::move(rows));
  }
  Config default_config(const Problem&) override { return Config::parse("b_layout=plain;deed=0"); }
  OpaqueLayouts* opaque_layouts() override { return this; }
  std::vector<Layout> layouts(const Problem& problem) override {
    return problem.integer("n") == 41 ? std::vector<Layout>{} : std::vector<Layout>{{kOpaque}};
  }
  uint64_t packed_bytes(const Layout&, const Problem& problem) const override {
    return problem.integer("n") == 42 ? uint64_t{1} << 40
                                      : OpaqueWeights::bytes(op_of(problem).tensors(problem)[1].bytes());
  }
  void pack(const Layout&, const Problem&, PlainOperands plain, Buffer packed) const override {
    ++packs_;
    const OpaqueWeights head{packed.data};
    device_.memory().upload(packed.data, std::as_bytes(std::span(&head, 1)));
    device_.memory().copy(packed.part(sizeof head, 0).data, plain[0].data, plain[0].bytes);
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    return std::make_unique<PackedPlan>(problem, Layout{config.text("b_layout")},
                                        static_cast<Damage>(config.integer("deed")), device_);
  }

 private:
  FakeDevice& device_;
  int& packs_;
};

class PackingSolver final : public Solver {
 public:
  explicit PackingSolver(int& packs) : packs_(packs) {}
  std::string_view id() const override { return "packing.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "weights in layouts"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<PackingBackend>(dynamic_cast<FakeDevice&>(device), packs_);
  }

 private:
  int& packs_;
};

class PackedWeightsTest : public ::testing::Test {
 protected:
  PackedWeightsTest() { registry_.add(std::make_unique<PackingSolver>(packs_)); }
  OpenAnswer open(const std::string& text = std::string(kPlainProblem) + kPacked) {
    return attune::open(executor_, {1, Problem::parse(text), Protocol{.seed = 5}});
  }
  Outcome admit(Slot slot, const std::string& config) {
    const Candidate candidate{"packing.gemm", "1+1", Config::parse(config)};
    return attune::admit(executor_, {1, slot, {.candidate = candidate, .twice = true}}).verified;
  }

  int packs_ = 0;
  Registry registry_;
  FakeDevice device_;
  LocalExecutor executor_{device_, registry_};
};

TEST_F(PackedWeightsTest, TakeThePlaceOfPlainOnesInCheckAndTiming) {
  open();
  Slot slot = 1;
  std::vector<Turn> turns;
  for (const std::string layout : {"plain", "host.k16.v1", kOpaque}) {
    const Outcome outcome = admit(slot, "deed=0;b_layout=" + layout);
    EXPECT_EQ(outcome.status, Status::ok) << layout << ": " << outcome.detail;
    for (uint32_t round = 0; round < 4; ++round) turns.push_back({slot, round, 50, Milliseconds(0)});
    ++slot;
  }
  const auto sampled = sample(executor_, {turns});
  EXPECT_TRUE(sampled.failed.empty()) << sampled.failed.front().second.detail;
  EXPECT_EQ(sampled.samples.size(), 12u);
}

TEST_F(PackedWeightsTest, OfALibraryArePackedOnceForEachPlaceWhereTheyLie) {
  open();
  ASSERT_EQ(admit(1, "deed=0;b_layout=library.pack@1").status, Status::ok);
  const int packs = packs_;
  EXPECT_GT(packs, 3) << "two of the check and every copy of the rotation";
  ASSERT_EQ(admit(2, "deed=0;b_layout=library.pack@1").status, Status::ok);
  EXPECT_EQ(packs_, packs) << "shared while somebody has them";
}

TEST_F(PackedWeightsTest, AreReleasedWithTheLastEntrantOfTheirLayout) {
  open();
  ASSERT_EQ(admit(1, "deed=0;b_layout=plain").status, Status::ok);
  const uint64_t before = device_.memory().allocated_bytes();
  ASSERT_EQ(admit(2, "deed=0;b_layout=host.k16.v1").status, Status::ok);
  ASSERT_EQ(admit(3, "deed=0;b_layout=host.k16.v1").status, Status::ok);
  const uint64_t packed = device_.memory().allocated_bytes();
  EXPECT_GT(packed, before);
  for (const auto& [slot, want] : {std::pair<Slot, uint64_t>{2, packed}, {3, before}}) {
    executor_.drop(slot);
    EXPECT_EQ(device_.memory().allocated_bytes(), want) << slot;
  }
}

TEST_F(PackedWeightsTest, ThatACandidateSpoilsConvictItAndNobodyElse) {
  open();
  const Outcome changed = admit(1, "deed=1;b_layout=host.k16.v1");
  EXPECT_EQ(changed.status, Status::wrong_result);
  EXPECT_THAT(changed.detail, HasSubstr("changed the packed weights (host.k16.v1)"));
  const Outcome overrun = admit(2, "deed=2;b_layout=host.k16.v1");
  EXPECT_EQ(overrun.status, Status::wrong_result);
  EXPECT_THAT(overrun.detail, HasSubstr("wrote outside the packed weights (host.k16.v1): 0 bytes after its end"));
  EXPECT_EQ(admit(3, "deed=0;b_layout=host.k16.v1").status, Status::ok);
}

TEST_F(PackedWeightsTest, ThatAllAreTimedWithCannotBeWrittenTo) {
  open();
  EXPECT_DEATH(admit(1, "deed=3;b_layout=host.k16.v1"), "");
}

TEST_F(PackedWeightsTest, AreForProblemsThatAskForThem) {
  open(kPlainProblem);
  const Outcome outcome = admit(1, "deed=0;b_layout=host.k16.v1");
  EXPECT_EQ(outcome.status, Status::unsupported);
  EXPECT_THAT(outcome.detail, HasSubstr("bpreshuffle=1 only, the config has b_layout=host.k16.v1"));
  EXPECT_EQ(admit(2, "deed=0;b_layout=plain").status, Status::ok);
}

TEST_F(PackedWeightsTest, CountAsMemoryOfTheProblem) {
  const OpenAnswer opened = open("gemm_a16w16 m=20 n=42 k=64 dtype=fp32 bpreshuffle=1");
  EXPECT_THAT(opened.refused, HasSubstr("does not fit in memory"));
}

TEST_F(PackedWeightsTest, InALayoutThatNobodyOffersMakeNoContender) {
  const OpenAnswer opened = open("gemm_a16w16 m=20 n=41 k=64 dtype=fp32 bpreshuffle=1");
  EXPECT_EQ(opened.refused, "");
  EXPECT_FALSE(opened.contenders.front().support.yes);
  EXPECT_THAT(opened.contenders.front().support.reason, HasSubstr("'library.pack@1'"));
}

}  // namespace
}  // namespace attune
