// SPDX-License-Identifier: MIT
#include "report/kernel_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/statistics.h"

namespace attune {

KernelSpeed kernel_speed(const Measurement& measured, const Work& work, const DeviceInfo& device, double highest_ghz) {
  KernelSpeed speed;
  const double us = measured.median_us;
  speed.tflops = work.flops / us / 1e6;
  speed.gbs = work.bytes / us / 1e3;
  const auto peak = device.peak_gflops.find(std::string(name(work.arithmetic)));
  // The bandwidth of the working set, which caches may hold.
  const double bandwidth_gbs = measured.bandwidth_gbs > 0 ? measured.bandwidth_gbs : device.bandwidth_gbs;
  // Either may be the bound, so one of them alone proves nothing.
  if (peak != device.peak_gflops.end() && bandwidth_gbs > 0)
    speed.of_roofline = std::max(work.flops / peak->second, work.bytes / bandwidth_gbs) / 1e3 / us;
  std::vector<double> clocks;
  for (const Sample& sample : measured.samples) clocks.push_back(sample.clock);
  if (!clocks.empty()) speed.clock = median(std::move(clocks));
  speed.cycles = us * 1e3 * highest_ghz * speed.clock;
  return speed;
}

std::string text(const KernelSpeed& speed, double first_cycles) {
  std::string text = fmt::format("{:.2f} TFLOP/s, {:.0f} GB/s", speed.tflops, speed.gbs);
  if (speed.of_roofline > 0) text += fmt::format(", {:.0f} % of the roofline", 100 * speed.of_roofline);
  if (speed.clock > 0) text += fmt::format(", clock {:.3f}", speed.clock);
  if (speed.cycles > 0) text += fmt::format(", {:.0f} cycles", speed.cycles);
  if (speed.cycles > 0 && first_cycles > 0)
    text += fmt::format(", {:+.0f} against the first", speed.cycles - first_cycles);
  return text;
}

void add_speed(nlohmann::ordered_json& object, const KernelSpeed& speed, double first_cycles) {
  object["tflops"] = speed.tflops;
  object["gbs"] = speed.gbs;
  if (speed.of_roofline > 0) object["of_roofline"] = speed.of_roofline;
  if (speed.clock > 0) object["clock"] = speed.clock;
  if (speed.cycles > 0) object["cycles"] = speed.cycles;
  if (speed.cycles > 0 && first_cycles > 0) object["gap_cycles"] = speed.cycles - first_cycles;
}

}  // namespace attune
