// SPDX-License-Identifier: MIT
#include "device/host/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "device/devices.h"
#include "device/host/cpu_info.h"
#include "device/host/host_resources.h"
#include "device/host/read_bandwidth.h"

namespace attune {
namespace {

constexpr std::string_view kV2 = "lm pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm";
constexpr std::string_view kV3 = " avx avx2 bmi1 bmi2 f16c fma abm movbe";
constexpr std::string_view kV4 = " avx512f avx512bw avx512cd avx512dq avx512vl";

CpuInfo cpu(std::string flags) {
  return parse_cpuinfo("processor : 0\nmodel name\t: Some, Model\nflags\t\t: " + flags + "\n\nprocessor : 1\n");
}

TEST(CpuInfo, NamesTheArchitectureByLevelAndWhatChangesTheWinner) {
  const std::string v2(kV2), v3 = v2 + std::string(kV3), v4 = v3 + std::string(kV4);
  EXPECT_EQ(architecture_of(cpu("lm pni")), "x86-64");
  EXPECT_EQ(architecture_of(cpu(v2)), "x86-64-v2");
  EXPECT_EQ(architecture_of(cpu(v3)), "x86-64-v3");
  EXPECT_EQ(architecture_of(cpu(v3 + " avx_vnni")), "x86-64-v3+vnni");
  EXPECT_EQ(architecture_of(cpu(v4)), "x86-64-v4");
  EXPECT_EQ(architecture_of(cpu(v4 + " avx512_vnni")), "x86-64-v4+vnni");
  EXPECT_EQ(architecture_of(cpu(v4 + " avx512_vnni avx512_bf16")), "x86-64-v4+bf16");
  EXPECT_EQ(architecture_of(cpu(v4 + " avx512_bf16 avx512_fp16 amx_bf16 amx_int8 amx_tile")), "x86-64-v4+bf16+amx");
}

TEST(CpuInfo, KeepsTheModelWithoutCommas) { EXPECT_EQ(cpu("lm").model, "Some Model"); }

TEST(CpuInfo, InstructionSetsAreThoseOfTheFlagsAndNoOther) {
  using enum InstructionSet;
  const std::string v4 = std::string(kV2) + std::string(kV3) + std::string(kV4);
  EXPECT_EQ(instruction_sets_of(cpu(v4)), InstructionSets(4));
  EXPECT_EQ(instruction_sets_of(cpu(v4 + " avx512_bf16")), InstructionSets(4, {avx512_bf16}));
  EXPECT_EQ(instruction_sets_of(cpu(v4 + " amx_bf16 amx_int8 amx_fp16 avx512_fp16 avx_vnni avx512_vnni")),
            InstructionSets(4, {amx_bf16, amx_int8, amx_fp16, avx512_fp16, avx_vnni, avx512_vnni}));
  EXPECT_EQ(instruction_sets_of(cpu("asimd bf16 i8mm")), InstructionSets());
}

/// A processor of each architecture, and its operations a cycle by type.
struct KnownRates {
  std::string gfx, flags;
  double fp32, bf16, fp16, narrow;
};

TEST(CpuInfo, RatesOfEachArchitectureAreTheKnownOnes) {
  const std::string v2(kV2), v3 = v2 + std::string(kV3), v4 = v3 + std::string(kV4);
  const std::string bf16 = v4 + " avx512_vnni avx512_bf16";
  const KnownRates known[] = {
      {"x86-64-v2", v2, 16, 16, 16, 64},
      {"x86-64-v3", v3, 32, 32, 32, 128},
      {"x86-64-v3+vnni", v3 + " avx_vnni", 32, 32, 32, 128},
      {"x86-64-v4", v4, 64, 64, 64, 256},
      {"x86-64-v4+vnni", v4 + " avx512_vnni", 64, 64, 64, 256},
      {"x86-64-v4+bf16", bf16, 64, 128, 64, 256},
      {"x86-64-v4+bf16", bf16 + " avx512_fp16", 64, 128, 128, 256},
      {"x86-64-v4+bf16+amx", bf16 + " avx512_fp16 amx_bf16 amx_int8", 64, 1024, 128, 2048},
      {"x86-64-v4+bf16+amx", bf16 + " avx512_fp16 amx_bf16 amx_int8 amx_fp16", 64, 1024, 1024, 2048},
  };
  for (const KnownRates& one : known) {
    EXPECT_EQ(architecture_of(cpu(one.flags)), one.gfx);
    const std::map<std::string, double> want = {
        {"fp64", one.fp32 / 2},   {"fp32", one.fp32},   {"bf16", one.bf16},      {"fp16", one.fp16},
        {"int8", one.narrow},     {"int4", one.narrow}, {"e2m1", one.narrow},    {"e4m3fn", one.narrow},
        {"e4m3fnuz", one.narrow}, {"e5m2", one.narrow}, {"e5m2fnuz", one.narrow}};
    EXPECT_EQ(flops_per_cycle(cpu(one.flags)), want) << one.gfx;
  }
}

TEST(CpuInfo, NarrowTypesAreAsFastAsTheTypesToWhichARightKernelMayWidenThem) {
  const std::string v4 = std::string(kV2) + std::string(kV3) + std::string(kV4);
  const auto rates = flops_per_cycle(cpu(v4 + " avx512_bf16 amx_bf16"));  // Tiles of int8 are hidden.
  EXPECT_EQ(rates.at("int8"), 1024);
  EXPECT_EQ(rates.at("e4m3fn"), 1024);
  const auto arm = flops_per_cycle(cpu("asimd bf16 i8mm"));
  EXPECT_EQ(arm.at("fp32"), 32);
  EXPECT_EQ(arm.at("bf16"), 128);
  EXPECT_EQ(arm.at("int8"), 256);
}

/// A root folder with files of /proc and /sys, written by tests.
class FakeRoot : public ::testing::Test {
 protected:
  FakeRoot() : root_(std::filesystem::temp_directory_path() / ("attune_root_" + std::to_string(getpid()))) {}
  ~FakeRoot() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, std::string_view text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::filesystem::path root_;
};

TEST_F(FakeRoot, TheSmallestQuotaOfAGroupAndItsParentsCounts) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(cgroup_cores(root_)));
  write("sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cores(root_), 2.5);
}

TEST_F(FakeRoot, ReadsQuotasOfTheFirstVersionOfCgroups) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/job\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cgroup_cores(root_), 1.5);
}

TEST_F(FakeRoot, MemoryIsTheGroupsWhereThatIsLess) {
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n");
  EXPECT_EQ(memory_bytes(root_), 1024000);
  EXPECT_EQ(available_memory_bytes(root_), 409600u);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "500000\n");
  EXPECT_EQ(memory_bytes(root_), 500000);
}

TEST_F(FakeRoot, AvailableMemoryIsWhatTheGroupLeaves) {
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n");
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.current", "200000\n");
  EXPECT_EQ(available_memory_bytes(root_), 409600u);
  write("sys/fs/cgroup/memory.max", "500000\n");
  write("sys/fs/cgroup/memory.current", "300000\n");
  EXPECT_EQ(available_memory_bytes(root_), 200000u);
  write("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 50000\nactive_file 7\n");
  EXPECT_EQ(available_memory_bytes(root_), 250007u) << "files that are only cached make room";
  write("sys/fs/cgroup/memory.current", "900000\n");
  EXPECT_EQ(available_memory_bytes(root_), 0u);
}

TEST_F(FakeRoot, AvailableMemoryIsWhatAGroupOfTheFirstVersionLeaves) {
  write("proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n");
  write("proc/self/cgroup", "4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "200000\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 90000\n");
  EXPECT_EQ(available_memory_bytes(root_), 190000u);
}

TEST_F(FakeRoot, CachesLeaveOutInstructions) {
  const std::string folder = "sys/devices/system/cpu/cpu3/cache/";
  write(folder + "index0/level", "1\n");
  write(folder + "index0/type", "Data\n");
  write(folder + "index0/size", "48K\n");
  write(folder + "index1/level", "1\n");
  write(folder + "index1/type", "Instruction\n");
  write(folder + "index1/size", "64K\n");
  write(folder + "index2/level", "3\n");
  write(folder + "index2/type", "Unified\n");
  write(folder + "index2/size", "480M\n");
  EXPECT_THAT(cache_bytes(3, root_),
              ::testing::ElementsAre(::testing::Pair(1, 48 << 10), ::testing::Pair(3, int64_t{480} << 20)));
}

TEST(HostDevice, DescribesThisMachine) {
  HostDevice device;
  const DeviceInfo& info = device.info();
  EXPECT_EQ(info.id, "cpu:0");
  EXPECT_EQ(info.num_units, static_cast<int64_t>(usable_cores().size()));
  EXPECT_GT(info.memory_bytes, 0);
  // No core reaches this clock: it is the bound until the core's own clock is known.
  constexpr double kHighestGhz = 6.5;
  for (const auto& [dtype, flops] : flops_per_cycle(parse_cpuinfo(read_file("/proc/cpuinfo"))))
    EXPECT_DOUBLE_EQ(info.peak_gflops.at(dtype), flops * kHighestGhz * static_cast<double>(info.num_units)) << dtype;
  EXPECT_EQ(info.model.find(','), std::string::npos);
  EXPECT_GT(info.peak_gflops.at("fp32"), info.peak_gflops.at("fp64"));
  EXPECT_GE(info.peak_gflops.at("bf16"), info.peak_gflops.at("fp32"));
  EXPECT_GT(device.relative_clock(), 0.0);
}

TEST(HostDevice, IsOpenedAndListedWithoutTimingItsClock) {
  // Two measurements would differ in their last digits.
  EXPECT_EQ(HostDevice().info(), HostDevice().info());
  EXPECT_EQ(HostDevice::describe(), list_devices().front());
}

TEST(HostDevice, BoundsItsRateByTheHighestClockSeenOrByWhatNoCoreReaches) {
  HostDevice device;
  const double before = device.info().peak_gflops.at("fp32");
  device.open_stream();
  const double after = device.info().peak_gflops.at("fp32");
  if (!device.info().instruction_sets().has(InstructionSet::avx512)) {
    EXPECT_EQ(after, before);
    return;
  }
  EXPECT_LT(after, before);
  double rising = after;
  for (int i = 0; i < 20; ++i) {
    device.relative_clock();
    EXPECT_GE(device.info().peak_gflops.at("fp32"), rising);
    rising = device.info().peak_gflops.at("fp32");
  }
  EXPECT_NEAR(device.info().peak_gflops.at("bf16") / rising, HostDevice::describe().peak_gflops.at("bf16") / before,
              1e-9);
}

TEST(HostDevice, RefusesMemoryTheSystemHasNot) {
  HostDevice device;
  EXPECT_THROW(device.memory().allocate(uint64_t{1} << 60, 64), Error);
  // Linux itself would promise this much, and kill a process when it is touched.
  try {
    device.memory().release(device.memory().allocate(available_memory_bytes(), 64));
    ADD_FAILURE() << "all there is was given away";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("not enough free memory"), 0u) << error.what();
  }
}

TEST(HostDevice, AStreamMeasuresTheTimeBetweenItsMarks) {
  HostDevice device;
  const auto stream = device.open_stream();
  stream->record(0);
  stream->record(1);
  stream->record(2);
  EXPECT_GE(stream->elapsed_us(0, 1), 0);
  EXPECT_DOUBLE_EQ(stream->elapsed_us(0, 2), stream->elapsed_us(0, 1) + stream->elapsed_us(1, 2));
  EXPECT_THROW(stream->record(1024), std::out_of_range);
}

TEST(ReadBandwidth, PartsThatAreShortForAClockAreMadeLonger) {
  EXPECT_EQ(passes_after(10, 1000), 10u);
  EXPECT_EQ(passes_after(10, 600), 10u) << "long enough";
  EXPECT_EQ(passes_after(10, 100), 100u);
  EXPECT_EQ(passes_after(3, 0), 192u) << "the clock does not see it";
  uint64_t passes = 1;
  for (int i = 0; i < 5; ++i) passes = passes_after(passes, 2 + 0.01 * static_cast<double>(passes));
  EXPECT_GT(passes, 50'000u) << "2 us of a clock and 0.01 us a pass";
}

TEST(ReadBandwidth, IsARateForAWorkingSetOfAnySize) {
  const auto cores = usable_cores();
  EXPECT_GT(measure_read_bandwidth_gbs(1, cores), 0);
}

}  // namespace
}  // namespace attune
