// SPDX-License-Identifier: MIT
#include "device/fake/fake_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/variable.h"
#include "device/device_kind.h"

namespace attune {
namespace {

// Round numbers, so that tests can compute expected times by hand.
constexpr double kBandwidthGbs = 100;
constexpr double kClockCostUs = 20;

std::vector<DeviceInfo> list_fake_devices() { return {FakeDevice::describe()}; }

std::unique_ptr<Device> open_fake_device(std::string_view, int64_t) { return std::make_unique<FakeDevice>(); }

}  // namespace

/// The launches that a stream has captured, in order.
class FakeDevice::FakeGraph final : public Graph {
 public:
  FakeGraph(std::vector<std::function<void()>> work, std::vector<std::shared_ptr<void>> kept)
      : work_(std::move(work)), kept_(std::move(kept)) {}
  void launch() override {
    for (const auto& one : work_) one();
  }

 private:
  std::vector<std::function<void()>> work_;
  std::vector<std::shared_ptr<void>> kept_;
};

class FakeDevice::FakeStream final : public Stream {
 public:
  explicit FakeStream(FakeDevice& device) : device_(device) {}
  ~FakeStream() override { stop_capturing(); }
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  void* native() const noexcept override { return const_cast<FakeStream*>(this); }
  void synchronize() override { spoil(); }
  void record(uint32_t event) override {
    push([this, event] { events_.at(event) = device_.now_us(); });
  }
  double elapsed_us(uint32_t from, uint32_t to) override { return events_.at(to) - events_.at(from); }
  void begin_capture() override {
    FakeStream* nobody = nullptr;
    ATTUNE_CHECK(device_.capturing_.compare_exchange_strong(nobody, this), "one stream at a time captures");
    ++device_.num_captures_;
    captured_.clear();
    kept_.clear();
    is_spoiled_ = false;
  }
  std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph>) override {
    stop_capturing();
    if (is_spoiled_) {
      kept_.clear();
      return nullptr;
    }
    return std::make_unique<FakeGraph>(std::exchange(captured_, {}), std::exchange(kept_, {}));
  }

  /// Captures the work, or runs it now.
  void push(std::function<void()> work) {
    if (device_.capturing_ != this) return work();
    captured_.push_back(std::move(work));
  }
  /// Records a call that cannot be captured.
  void spoil() noexcept { is_spoiled_ = true; }
  void keep(std::shared_ptr<void> object) { kept_.push_back(std::move(object)); }

 private:
  void stop_capturing() noexcept {
    FakeStream* own = this;
    device_.capturing_.compare_exchange_strong(own, nullptr);
  }

  FakeDevice& device_;
  std::vector<std::function<void()>> captured_;
  std::vector<std::shared_ptr<void>> kept_;
  std::atomic<bool> is_spoiled_{false};
  std::array<double, 1024> events_{};
};

FakeDevice::FakeDevice(const FakeNoise& noise)
    : info_(describe()),
      memory_(static_cast<uint64_t>(info_.memory_bytes), [this] { spoil_capture(); }),
      noise_(noise),
      random_(noise.seed) {
  if (const char* path = variable_value("ATTUNE_FAKE_BROKEN_DEVICE")) broken_path_ = path;
}
FakeDevice::~FakeDevice() = default;

void FakeDevice::enqueue(void* stream, double us, std::function<void()> kernel) {
  if (FakeStream* const capturing = capturing_; capturing != nullptr && stream == capturing) {
    return capturing->push([this, us, kernel = std::move(kernel)] {
      kernel();
      advance_us(us);
    });
  }
  kernel();
  advance_us(us + kLaunchUs);
}

uint64_t FakeDevice::capture_of(void* stream) const noexcept {
  const FakeStream* const capturing = capturing_;
  return capturing != nullptr && stream == capturing ? num_captures_ : 0;
}

bool FakeDevice::keep_with_graph(void*, std::shared_ptr<void> object) noexcept {
  FakeStream* const capturing = capturing_;
  capturing->keep(std::move(object));
  return true;
}

void FakeDevice::clear(const Buffer& area, std::optional<void*> stream) {
  const auto set = [area] { std::memset(FakeMemory::reach(area.data), 0, area.bytes); };
  FakeStream* const capturing = capturing_;
  if (stream && capturing != nullptr && *stream == capturing) return capturing->push(set);
  set();
}

void FakeDevice::spoil_capture() noexcept {
  if (FakeStream* const capturing = capturing_) capturing->spoil();
}

void FakeDevice::advance_us(double us) noexcept {
  spoil_capture();
  now_us_.fetch_add(us * factor_, std::memory_order_relaxed);
}

bool FakeDevice::healthy() noexcept {
  std::error_code ignored;
  return healthy_ && (broken_path_.empty() || !std::filesystem::exists(broken_path_, ignored));
}

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
  // Virtual time does not drift, so waiting is useless.
  kinds.push_back({.name = "fake",
                   .list = list_fake_devices,
                   .open = open_fake_device,
                   .numbers = DeviceNumbers::copies,
                   .timing = Timing::graph,
                   .contest = {.confirm = {.delay_s = 0}},
                   .max_workers = 4});
}

}  // namespace attune
