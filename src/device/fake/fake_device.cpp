// SPDX-License-Identifier: MIT
#include "device/fake/fake_device.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "device/device_kind.h"

namespace attune {
namespace {

// Round numbers, so that tests can compute expected times by hand.
constexpr double kBandwidthGbs = 100;
constexpr double kClockCostUs = 20;

class FakeStream final : public Stream {
 public:
  explicit FakeStream(const FakeDevice& device) : device_(device) {}
  void* native() const noexcept override { return nullptr; }
  void synchronize() override {}
  void record(uint32_t event) override { events_.at(event) = device_.now_us(); }
  double elapsed_us(uint32_t from, uint32_t to) override { return events_.at(to) - events_.at(from); }

 private:
  const FakeDevice& device_;
  std::array<double, 1024> events_{};
};

std::vector<DeviceInfo> list_fake_devices() { return {FakeDevice::describe()}; }

std::unique_ptr<Device> open_fake_device(std::string_view, int64_t) { return std::make_unique<FakeDevice>(); }

}  // namespace

FakeDevice::FakeDevice(const FakeNoise& noise)
    : info_(describe()), memory_(static_cast<uint64_t>(info_.memory_bytes)), noise_(noise), random_(noise.seed) {}
FakeDevice::~FakeDevice() = default;

DeviceInfo FakeDevice::describe() {
  DeviceInfo info;
  info.id = "fake:0";
  info.kind = "fake";
  info.gfx = "fake";
  info.num_units = 4;
  info.model = "Fake device with virtual time";
  info.memory_bytes = int64_t{1} << 30;
  info.cache_bytes = int64_t{1} << 20;
  // Virtual time is exact: one launch makes a sample.
  info.facts = {
      {"least_sample_us", 0}, {"num_units", info.num_units}, {"shared_bytes", 65536}, {"l2_bytes", info.cache_bytes}};
  info.peak_gflops = {{"fp64", 500},    {"fp32", 1000},     {"bf16", 2000}, {"fp16", 2000},     {"int8", 4000},
                      {"e4m3fn", 4000}, {"e4m3fnuz", 4000}, {"e5m2", 4000}, {"e5m2fnuz", 4000}, {"e2m1", 8000}};
  info.bandwidth_gbs = kBandwidthGbs;
  return info;
}

double FakeDevice::roofline_us(double flops, double bytes, DType arithmetic) const {
  const auto peak_gflops = info_.peak_of(arithmetic);
  if (!peak_gflops) fail(ErrorCode::invalid_input, "the fake device has no peak rate for '{}'", name(arithmetic));
  return std::max(flops / (*peak_gflops * 1e3), bytes / (kBandwidthGbs * 1e3));
}

double FakeDevice::relative_clock() {
  now_us_.fetch_add(kClockCostUs, std::memory_order_relaxed);
  return noise_.slow_clock_share > 0 && random_.uniform() < noise_.slow_clock_share ? 0.5 : 1.0;
}

std::unique_ptr<Stream> FakeDevice::open_stream() { return std::make_unique<FakeStream>(*this); }

double FakeDevice::bandwidth_gbs(uint64_t, Reading) { return kBandwidthGbs; }

void FakeDevice::settle(std::string_view, bool) {}

void FakeDevice::begin_watch() {
  // The number of draws is constant, so that one kind of noise can be switched off without changing the others.
  const double white = random_.normal(), burst = random_.uniform(), dirty = random_.uniform();
  factor_ = std::max(0.2, 1 + noise_.white * white);
  dirty_ = dirty < noise_.dirty_share;
  if (dirty_) factor_ *= noise_.dirty_factor;
  if (burst < noise_.burst_share) factor_ *= noise_.burst_factor;
}

Disturbance FakeDevice::end_watch() {
  factor_ = 1;
  return {dirty_ ? 0.5 : 0.0};
}

void register_fake_devices(std::vector<DeviceKind>& kinds);
void register_fake_devices(std::vector<DeviceKind>& kinds) {
  kinds.push_back({"fake", list_fake_devices, open_fake_device});
}

}  // namespace attune
