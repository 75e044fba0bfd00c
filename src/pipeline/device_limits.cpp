// SPDX-License-Identifier: MIT
#include "pipeline/device_limits.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "device/devices.h"

namespace attune {
namespace {

/// Operations of one unit in a cycle, by the type that is multiplied, dense.
struct UnitRate {
  DType type;
  double flops;
};
// Of the matrix units. fp32 stands for xf32 on CDNA 3: a kernel may use it.
constexpr std::array kCdna3Rates = {UnitRate{DType::fp64, 256},      UnitRate{DType::fp32, 1024},
                                    UnitRate{DType::bf16, 2048},     UnitRate{DType::fp16, 2048},
                                    UnitRate{DType::int8, 4096},     UnitRate{DType::e4m3fn, 4096},
                                    UnitRate{DType::e4m3fnuz, 4096}, UnitRate{DType::int4, 4096}};
constexpr std::array kCdna4Rates = {UnitRate{DType::fp64, 128},      UnitRate{DType::fp32, 256},
                                    UnitRate{DType::bf16, 4096},     UnitRate{DType::fp16, 4096},
                                    UnitRate{DType::int8, 8192},     UnitRate{DType::e4m3fn, 8192},
                                    UnitRate{DType::e4m3fnuz, 8192}, UnitRate{DType::e2m1, 16384}};

DeviceLimits sheet(std::string gfx, int64_t num_units, std::string model, double ghz, double bandwidth_gbs,
                   std::span<const UnitRate> rates) {
  DeviceLimits limits;
  limits.device.gfx = std::move(gfx);
  limits.device.num_units = num_units;
  limits.device.model = std::move(model);
  limits.device.bandwidth_gbs = bandwidth_gbs;
  for (const UnitRate& rate : rates)
    limits.device.peak_gflops[std::string(name(rate.type))] = rate.flops * ghz * static_cast<double>(num_units);
  return limits;
}

// A measured bandwidth is accurate to about 10 %, and caches help; as measure/plausibility.
constexpr double kMeasuredShare = 0.6;

}  // namespace

std::vector<DeviceLimits> data_sheet_limits() {
  // Rows do not say which of the MI300X and the MI325X they are of: the faster memory bounds both. The older tuners
  // take other copies of the operands for each launch, more than the caches hold, so that no cache is given here.
  return {sheet("gfx942", 304, "AMD Instinct MI300X or MI325X", 2.1, 6000, kCdna3Rates),
          sheet("gfx942", 80, "AMD Instinct MI308X", 2.1, 5300, kCdna3Rates),
          sheet("gfx950", 256, "AMD Instinct MI350X or MI355X", 2.4, 8000, kCdna4Rates)};
}

DeviceLimits limits_of(DeviceInfo device) {
  return {.device = std::move(device), .share = kMeasuredShare, .is_described = true};
}

std::vector<DeviceLimits> known_limits(std::vector<DeviceInfo> described) {
  std::vector<DeviceLimits> limits;
  for (DeviceInfo& device : described) limits.push_back(limits_of(std::move(device)));
  for (DeviceInfo& device : list_devices()) limits.push_back(limits_of(std::move(device)));
  for (DeviceLimits& sheet : data_sheet_limits()) limits.push_back(std::move(sheet));
  return limits;
}

const DeviceLimits* find_limits(std::span<const DeviceLimits> all, std::string_view gfx, int64_t num_units) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [&](const DeviceLimits& one) {
    return one.device.gfx == gfx && one.device.num_units == num_units;
  });
  return found == all.end() ? nullptr : &*found;
}

RooflineBound roofline_bound(const CountedWork& work, const DeviceLimits& limits) {
  const DeviceInfo& device = limits.device;
  const auto peak = device.peak_of(work.arithmetic);
  const double flops_us = peak ? work.flops / (*peak * 1e3) : 0;
  const double bytes = std::max(0.0, work.least_bytes - static_cast<double>(device.cache_bytes));
  const double bytes_us = device.bandwidth_gbs > 0 ? bytes / (device.bandwidth_gbs * 1e3) : 0;
  return {.us = limits.share * std::max(flops_us, bytes_us), .is_memory = bytes_us > flops_us};
}

}  // namespace attune
