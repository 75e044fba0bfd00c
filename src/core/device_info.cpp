// SPDX-License-Identifier: MIT
#include "core/device_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/hash.h"

namespace attune {
namespace {

/// Facts about measuring on the device; no kernel depends on them.
constexpr std::array<std::string_view, 2> kMeasuringFacts = {"least_sample_us", "schedstat"};

}  // namespace

DType fp8_of(std::string_view gfx) noexcept {
  return gfx == "gfx940" || gfx == "gfx941" || gfx == "gfx942" ? DType::e4m3fnuz : DType::e4m3fn;
}

std::optional<double> DeviceInfo::peak_of(DType arithmetic) const {
  const auto peak = peak_gflops.find(std::string(name(arithmetic)));
  if (peak == peak_gflops.end() || !(peak->second > 0)) return std::nullopt;
  return peak->second;
}

std::string DeviceInfo::description() const {
  std::string text = fmt::format("{} {}/{} model='{}'", kind, gfx, num_units, model);
  if (!processor.empty()) text += fmt::format(" processor='{}'", processor);
  if (kind != "host") {
    constexpr int64_t kGiB = int64_t{1} << 30;
    text += fmt::format(" memory={}GiB", (memory_bytes + kGiB / 2) / kGiB);
  }
  for (const auto& [fact, value] : facts) {
    if (std::find(kMeasuringFacts.begin(), kMeasuringFacts.end(), fact) == kMeasuringFacts.end())
      text += fmt::format(" {}={}", fact, value);
  }
  return text;
}

std::string DeviceInfo::fingerprint() const { return hash128(description()).hex(); }

}  // namespace attune
