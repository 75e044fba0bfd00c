// SPDX-License-Identifier: MIT
#include "device/host/host_device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "base/error.h"
#include "base/file.h"
#include "device/device_kind.h"
#include "device/environment_threads.h"
#include "device/host/cpu_info.h"
#include "device/host/host_resources.h"
#include "device/host/read_bandwidth.h"

namespace attune {
namespace {

constexpr int kLeastClass = 14, kLargestClass = 28;  // 16 KiB … 256 MiB
constexpr double kHighestGhz = 6.5;

/// A host's work is done when its call returns, so a mark is the current time.
class HostStream final : public Stream {
 public:
  void* native() const noexcept override { return nullptr; }
  void synchronize() override {}
  void record(uint32_t event) override { events_.at(event) = std::chrono::steady_clock::now(); }
  double elapsed_us(uint32_t from, uint32_t to) override {
    return std::chrono::duration<double, std::micro>(events_.at(to) - events_.at(from)).count();
  }

 private:
  std::array<std::chrono::steady_clock::time_point, 1024> events_{};
};

std::vector<DeviceInfo> list_host_devices() { return {HostDevice::describe()}; }

std::unique_ptr<Device> open_host_device(std::string_view, int64_t max_units) {
  return std::make_unique<HostDevice>(max_units);
}

/// The first cores that this process may use, one for each kernel thread that it may run.
std::vector<int> limited_cores(int64_t max_threads) {
  std::vector<int> cores = usable_cores();
  for (const int64_t limit : {environment_threads().threads, max_threads}) {
    if (limit > 0 && cores.size() > static_cast<size_t>(limit)) cores.resize(static_cast<size_t>(limit));
  }
  return cores;
}

}  // namespace

DeviceInfo HostDevice::describe(int64_t max_threads) {
  const CpuInfo cpu = parse_cpuinfo(read_file("/proc/cpuinfo"));
  const std::vector<int> cores = limited_cores(max_threads);
  DeviceInfo info;
  info.id = "cpu:0";
  info.kind = "host";
  info.gfx = architecture_of(cpu);
  info.num_units = static_cast<int64_t>(cores.size());
  info.model = cpu.model.empty() ? info.gfx : cpu.model;
  info.processor = processor_of(cpu);
  info.memory_bytes = attune::memory_bytes();
  info.facts["num_units"] = info.num_units;
  for (const auto& [level, bytes] : cache_bytes(cores.front())) {
    info.facts[fmt::format("l{}_bytes", level)] = bytes;
    info.cache_bytes = bytes;  // levels ascend
  }
  for (const auto& [dtype, flops] : flops_per_cycle(cpu)) {
    info.peak_gflops[dtype] = flops * kHighestGhz * static_cast<double>(info.num_units);
  }
  return info;
}

HostDevice::HostDevice(int64_t max_threads)
    : cores_(limited_cores(max_threads)),
      info_(describe(max_threads)),
      clock_bound_ghz_(kHighestGhz),
      threads_(cores_) {
  info_.facts["schedstat"] = threads_.has_schedstat() ? 1 : 0;
}

void HostDevice::bound_peak() {
  // Cores with AVX-512 multiply in 3 cycles. Some others take up to 6: their clock is higher than highest_ghz().
  if (clock_.highest_ghz() == clock_bound_ghz_ || !info_.instruction_sets().has(InstructionSet::avx512)) return;
  for (auto& [dtype, gflops] : info_.peak_gflops) gflops *= clock_.highest_ghz() / clock_bound_ghz_;
  clock_bound_ghz_ = clock_.highest_ghz();
}

double HostDevice::relative_clock() {
  const double relative = clock_.relative();
  bound_peak();
  return relative;
}

std::unique_ptr<Stream> HostDevice::open_stream() {
  clock_.calibrate();
  bound_peak();
  return std::make_unique<HostStream>();
}

double HostDevice::bandwidth_gbs(uint64_t working_set_bytes, Reading reading) {
  const int floor_class = std::bit_width(std::max<uint64_t>(working_set_bytes, 1)) - 1;
  const int size_class = std::clamp(floor_class, kLeastClass, kLargestClass);
  const auto [entry, missing] = bandwidths_.try_emplace(size_class, 0);
  if (missing || reading == Reading::again) {
    entry->second = std::max(entry->second, measure_read_bandwidth_gbs(uint64_t{1} << size_class, cores_));
    if (size_class == kLargestClass) info_.bandwidth_gbs = entry->second;
  }
  return entry->second;
}

void register_host_devices(std::vector<DeviceKind>& kinds);
void register_host_devices(std::vector<DeviceKind>& kinds) {
  kinds.push_back({.name = "host",
                   .prefix = "cpu",
                   .list = list_host_devices,
                   .open = open_host_device,
                   .numbers = DeviceNumbers::core_parts,
                   .timing = Timing::clock,
                   .units_are_cores = true});
}

}  // namespace attune
