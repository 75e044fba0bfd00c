// SPDX-License-Identifier: MIT
// A GPU waits some 20 µs in each call of its memory, and 200 to 300 µs for an allocation and its end. This test counts
// the calls of a verification, so that they do not grow unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "device/fake/fake_device.h"
#include "measure/verification.h"
#include "testing/planted_gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

/// Memory of another device. Counts the calls in which a GPU would wait.
class CountingMemory final : public DeviceMemory {
 public:
  explicit CountingMemory(DeviceMemory& inner) : inner_(inner) {}
  struct Counts {
    uint32_t waits = 0;  ///< Calls that return only when the device has finished.
    uint32_t allocations = 0;
    uint32_t releases = 0;
    bool operator==(const Counts&) const = default;
  };
  /// Returns the counts and resets them.
  Counts take() noexcept { return std::exchange(counts_, {}); }

  Buffer allocate(uint64_t bytes, uint32_t alignment) override {
    ++counts_.allocations;
    return inner_.allocate(bytes, alignment);
  }
  void release(Buffer buffer) noexcept override {
    ++counts_.releases;
    inner_.release(buffer);
  }
  void upload(void* to, std::span<const std::byte> from) override { waiting().upload(to, from); }
  void download(std::span<std::byte> to, const void* from) override { waiting().download(to, from); }
  void copy(void* to, const void* from, uint64_t bytes) override { waiting().copy(to, from, bytes); }
  void fill_all(std::span<const PatternArea> areas) override { waiting().fill_all(areas); }
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) override {
    return waiting().inspect(compared, hashed);
  }
  Protection set_writable(Buffer pages, bool writable) noexcept override {
    return inner_.set_writable(pages, writable);
  }
  std::byte* host_address(void* address) noexcept override { return inner_.host_address(address); }

 private:
  DeviceMemory& waiting() noexcept {
    ++counts_.waits;
    return inner_;
  }

  DeviceMemory& inner_;
  Counts counts_;
};

/// A fake device whose memory counts.
class CountingDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return inner_.info(); }
  double relative_clock() override { return inner_.relative_clock(); }
  bool healthy() noexcept override { return inner_.healthy(); }
  CountingMemory& memory() override { return memory_; }
  std::unique_ptr<Stream> open_stream() override { return inner_.open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return inner_.bandwidth_gbs(bytes, reading); }

 private:
  FakeDevice inner_;
  CountingMemory memory_{inner_.memory()};
};

using Counts = CountingMemory::Counts;

/// Verifies plans with workspaces by three launches each and counts the calls of the memory for each.
class VerificationOfWorkspaces : public ::testing::Test {
 protected:
  /// Each launch also calls `also` on the workspace.
  Finding verify(uint64_t workspace_bytes, uint32_t alignment = 64,
                 const std::function<void(std::byte* workspace)>& also = {}) {
    PlantedGemm plan(GemmShape::of(problem_), Fault::none);
    plan.declare().workspace_bytes = workspace_bytes;
    plan.declare().workspace_alignment = alignment;
    plan.declare().zeroed_bytes = workspace_bytes / 16;
    device_.memory().take();
    const auto run = [&](const Launch& launch) {
      workspace_ = launch.workspace;
      if (also) also(FakeMemory::reach(launch.workspace));
      plan.run(launch);
    };
    Finding found = verification_.verify(plan.traits(), run, {.twice = true});
    counts_ = device_.memory().take();
    return found;
  }

  const Problem problem_ = op_of(Problem::parse("gemm_a16w16 m=1 n=1 k=1"))
                               .normalise(Problem::parse("gemm_a16w16 m=17 n=34 k=41 dtype=fp32"), {});
  CountingDevice device_;
  ReferenceCache references_{device_, op_of(problem_), problem_, 42};
  Verification verification_{device_, op_of(problem_), problem_, references_};
  Counts counts_;              ///< Of the last verification.
  void* workspace_ = nullptr;  ///< Of its last launch.
};

TEST_F(VerificationOfWorkspaces, WaitsThreeTimesForEachLaunchAndAllocatesNothing) {
  EXPECT_EQ(verify(0).status, Status::ok) << "makes references and both outputs";
  // Before each launch a fill, after it an inspection and the output.
  EXPECT_EQ(verify(0).status, Status::ok);
  EXPECT_EQ(counts_, (Counts{.waits = 9}));
  EXPECT_EQ(verify(4096).status, Status::ok);
  EXPECT_EQ(counts_, (Counts{.waits = 10, .allocations = 1})) << "its first bands are filled";
  for (const uint64_t bytes : {4096u, 0u, 100u, 4000u}) {
    EXPECT_EQ(verify(bytes).status, Status::ok);
    EXPECT_EQ(counts_, (Counts{.waits = 9})) << bytes;
  }
}

TEST_F(VerificationOfWorkspaces, KeepsNoMemoryThatIsLarge) {
  EXPECT_EQ(verify(4096).status, Status::ok);
  EXPECT_EQ(verify(uint64_t{65} << 20).status, Status::ok);
  EXPECT_EQ(counts_.allocations, 1u);
  EXPECT_EQ(counts_.releases, 2u) << "that of the plan before, and its own";
  PlantedGemm reserved(GemmShape::of(problem_), Fault::none);
  reserved.declare().workspace_bytes = uint64_t{65} << 20;
  verification_.reserve(reserved.traits());
  EXPECT_EQ(verify(0).status, Status::ok);
  EXPECT_EQ(counts_.releases, 1u) << "what was reserved for a plan that was not verified";
}

TEST_F(VerificationOfWorkspaces, GuardsEachByTheSizeThatItsPlanStates) {
  EXPECT_EQ(verify(4096).status, Status::ok) << "allocates the memory of all";
  for (const uint64_t bytes : {4096u, 100u, 1000u}) {
    const auto overruns = [&](std::byte* workspace) { workspace[bytes] = std::byte{0}; };
    EXPECT_THAT(verify(bytes, 64, overruns).detail,
                HasSubstr(fmt::format("wrote outside its workspace of {} bytes: 0 bytes after its end", bytes)));
    const auto underruns = [](std::byte* workspace) { workspace[-1] = std::byte{0}; };
    EXPECT_THAT(verify(bytes, 64, underruns).detail,
                HasSubstr(fmt::format("wrote outside its workspace of {} bytes: 1 bytes before its start", bytes)));
    const auto writes_all = [&](std::byte* workspace) {
      std::fill(workspace + bytes / 16, workspace + bytes, std::byte{1});
    };
    EXPECT_EQ(verify(bytes, 64, writes_all).status, Status::ok);
    EXPECT_EQ(counts_.allocations, 0u);
  }
}

TEST_F(VerificationOfWorkspaces, EachLaunchFindsZerosWherePromisedAndElsewhereCanaries) {
  for (const uint64_t bytes : {4096u, 112u, 1024u}) {
    for (const uint32_t alignment : {64u, kMaxWorkspaceAlignment}) {
      const auto look = [&](std::byte* workspace) {
        for (uint64_t i = 0; i < bytes; ++i) {
          const uint8_t canary = i % 2 == 0 ? 0xf5 : 0xff;
          EXPECT_EQ(std::to_integer<uint8_t>(workspace[i]), i < bytes / 16 ? 0 : canary) << i << " of " << bytes;
        }
        std::fill(workspace + bytes / 16, workspace + bytes, std::byte{1});
      };
      EXPECT_EQ(verify(bytes, alignment, look).status, Status::ok);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(workspace_) % (2 * alignment), alignment);
    }
  }
}

TEST_F(VerificationOfWorkspaces, WhatOneLeftIsNotTakenForTheNextsZeros) {
  EXPECT_THAT(verify(4096, 64, [](std::byte* workspace) { workspace[255] = std::byte{1}; }).detail,
              HasSubstr("did not leave the first 256 bytes of its workspace zero, as it declares: byte 255"));
  EXPECT_EQ(verify(4096).status, Status::ok);
}

}  // namespace
}  // namespace attune
