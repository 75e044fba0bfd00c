// SPDX-License-Identifier: MIT
#include "accelerator_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "accelerator_kernels.h"
#include "base/error.h"
#include "base/variable.h"
#include "device/byte_patterns.h"

namespace attune::toys {
namespace {

constexpr const char* kVisible = "ATTUNE_TOY_DEVICES";

DeviceInfo describe(std::string id) {
  DeviceInfo info;
  info.id = std::move(id);
  info.kind = "toy";
  info.gfx = "toy_1";
  info.num_units = 8;
  info.model = "Accelerator in software";
  info.memory_bytes = int64_t{1} << 30;
  info.cache_bytes = int64_t{1} << 16;
  info.facts = {{"least_sample_us", 0}, {"num_units", info.num_units}};
  info.peak_gflops = {{"fp32", 1000}, {"bf16", 2000}};
  info.bandwidth_gbs = 100;
  return info;
}

thread_local int num_exemptions = 0;

class Exemption final : public CaptureExemption {
 public:
  Exemption() { ++num_exemptions; }
  ~Exemption() override { --num_exemptions; }
};

}  // namespace

/// The state of one accelerator in this process.
struct Accelerator::Memory {
  std::recursive_mutex mutex;  ///< Guards all below.
  bool is_healthy = true;
  double now_us = 0;
  uint64_t num_captures = 0;
  std::map<uintptr_t, std::vector<std::byte>> allocations;  ///< By their device addresses.
  uintptr_t end = uintptr_t{1} << 56;                       ///< No process has such addresses.
  std::vector<Queue*> queues;

  static Memory& of(const std::string& id) {
    static std::mutex mutex;
    static std::map<std::string, Memory>& all = *new std::map<std::string, Memory>;
    const std::lock_guard lock(mutex);
    return all[id];
  }
};

/// Work that was captured, and what its owner keeps with it.
class Accelerator::Recording final : public Graph {
 public:
  explicit Recording(Queue& queue) : queue_(queue) {}
  void launch() override;

  uint64_t capture = 0;
  std::vector<std::function<void()>> work;
  std::vector<std::shared_ptr<void>> kept;

 private:
  Queue& queue_;
};

/// Work that waits for synchronize(), or for the next use of the memory.
class Accelerator::Queue final : public Stream {
 public:
  explicit Queue(Memory& owner) : owner_(owner) {
    const std::lock_guard lock(owner_.mutex);
    owner_.queues.push_back(this);
  }
  ~Queue() override {
    const std::lock_guard lock(owner_.mutex);
    std::erase(owner_.queues, this);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void* native() const noexcept override { return const_cast<Queue*>(this); }
  void synchronize() override {
    const std::lock_guard lock(owner_.mutex);
    spoil();
    while (do_next()) {
    }
  }
  /// Does the oldest work that waits; false: none waits.
  bool do_next() {
    if (waiting_.empty()) return false;
    const std::function<void()> next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
    return true;
  }
  void record(uint32_t event) override {
    push([this, event] { events_.at(event) = owner_.now_us; });
  }
  double elapsed_us(uint32_t from, uint32_t to) override { return events_.at(to) - events_.at(from); }
  void begin_capture() override {
    const std::lock_guard lock(owner_.mutex);
    recording_ = std::make_unique<Recording>(*this);
    recording_->capture = ++owner_.num_captures;
    capturer_ = std::this_thread::get_id();
    is_spoiled_ = false;
  }
  std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph> former) override {
    const std::lock_guard lock(owner_.mutex);
    const std::unique_ptr<Recording> made = std::exchange(recording_, nullptr);
    if (is_spoiled_) return nullptr;
    if (former == nullptr) former = std::make_unique<Recording>(*this);
    auto& graph = static_cast<Recording&>(*former);
    graph.work.swap(made->work);
    graph.kept.swap(made->kept);
    return former;
  }

  /// Captures the work, or enqueues it.
  void push(std::function<void()> work) {
    const std::lock_guard lock(owner_.mutex);
    if (recording_ != nullptr) return recording_->work.push_back(std::move(work));
    waiting_.push_back(std::move(work));
  }
  /// Null unless the queue captures.
  Recording* recording() const noexcept { return recording_.get(); }
  /// Something was done that no capture of this thread may contain.
  void spoil() noexcept {
    is_spoiled_ = is_spoiled_ || (num_exemptions == 0 && capturer_ == std::this_thread::get_id());
  }
  /// The whole device was waited for, which no capture survives, whoever did it.
  void end_any_capture() noexcept { is_spoiled_ = true; }

 private:
  Memory& owner_;
  std::unique_ptr<Recording> recording_;
  std::thread::id capturer_;
  bool is_spoiled_ = false;
  std::deque<std::function<void()>> waiting_;
  std::array<double, 1024> events_{};
};

void Accelerator::Recording::launch() {
  for (const auto& one : work) queue_.push(one);
}

Accelerator::Accelerator(std::string id) : info_(describe(std::move(id))), memory_(Memory::of(info_.id)) {}

/// Not while a file $ATTUNE_TOY_BROKEN.N is there, of the one device N that the process sees.
bool Accelerator::healthy() noexcept {
  const char *const broken = variable_value("ATTUNE_TOY_BROKEN"), *const visible = variable_value(kVisible);
  std::error_code ignored;
  return memory_.is_healthy && (broken == nullptr || visible == nullptr ||
                                !std::filesystem::exists(fmt::format("{}.{}", broken, visible), ignored));
}

void Accelerator::enqueue(void* stream, double us, std::function<void()> kernel) {
  const std::lock_guard lock(memory_.mutex);
  auto work = [this, us, kernel = std::move(kernel)] {
    if (!memory_.is_healthy) fail(ErrorCode::device, "{}: the context was lost by an earlier fault", info_.id);
    kernel();
    memory_.now_us += us;
  };
  if (stream == nullptr) return work();
  static_cast<Queue*>(stream)->push(std::move(work));
}

std::byte* Accelerator::reach(const void* address, uint64_t bytes) {
  const std::lock_guard lock(memory_.mutex);
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto found = memory_.allocations.upper_bound(at);
  if (found != memory_.allocations.begin()) {
    --found;
    if (at - found->first + bytes <= found->second.size()) return found->second.data() + (at - found->first);
  }
  memory_.is_healthy = false;
  fail(ErrorCode::device, "{}: illegal address {:#x}", info_.id, at);
}

/// The work of all queues ends, a piece of each in turn, as they would overlap on a device.
void Accelerator::drain() {
  for (bool is_work_left = true; is_work_left;) {
    is_work_left = false;
    for (size_t i = 0; i < memory_.queues.size(); ++i) {
      memory_.queues[i]->spoil();
      is_work_left = memory_.queues[i]->do_next() || is_work_left;
    }
  }
}

void Accelerator::end_work() noexcept {
  try {
    drain();
  } catch (const Error&) {
    // It is not healthy any more.
  }
}

size_t Accelerator::num_allocations() const {
  const std::lock_guard lock(memory_.mutex);
  return memory_.allocations.size();
}

uint64_t Accelerator::capture_of(void* stream) const noexcept {
  const std::lock_guard lock(memory_.mutex);
  const Recording* recording = stream != nullptr ? static_cast<const Queue*>(stream)->recording() : nullptr;
  return recording != nullptr ? recording->capture : 0;
}

std::unique_ptr<CaptureExemption> Accelerator::exempt() { return std::make_unique<Exemption>(); }

void Accelerator::clear(const Buffer& area, std::optional<void*> stream) {
  enqueue(stream.value_or(nullptr), 0, [this, area] { std::memset(reach(area.data, area.bytes), 0, area.bytes); });
}

bool Accelerator::keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept {
  const std::lock_guard lock(memory_.mutex);
  static_cast<const Queue*>(stream)->recording()->kept.push_back(std::move(object));
  return true;
}

void Accelerator::synchronize() noexcept {
  const std::lock_guard lock(memory_.mutex);
  for (Queue* queue : memory_.queues) queue->end_any_capture();
  end_work();
}

std::unique_ptr<KernelModule> Accelerator::load(const void* image) { return load_accelerator_kernel(*this, image); }

std::unique_ptr<Stream> Accelerator::open_stream() { return std::make_unique<Queue>(memory_); }

Buffer Accelerator::allocate(uint64_t bytes, uint32_t alignment) {
  const std::lock_guard lock(memory_.mutex);
  for (Queue* queue : memory_.queues) queue->spoil();
  const uint64_t step = std::max<uint64_t>(alignment, 256);
  const uintptr_t begin = (memory_.end + step - 1) / step * step;
  memory_.end = begin + bytes + step;  // The gap between two allocations belongs to none.
  memory_.allocations.emplace(begin, std::vector<std::byte>(std::max<uint64_t>(bytes, 1), std::byte{0xcd}));
  return {reinterpret_cast<void*>(begin), bytes};
}

void Accelerator::release(Buffer buffer) noexcept {
  const std::lock_guard lock(memory_.mutex);
  end_work();
  memory_.allocations.erase(reinterpret_cast<uintptr_t>(buffer.data));
}

void Accelerator::upload(void* to, std::span<const std::byte> from) {
  const std::lock_guard lock(memory_.mutex);
  drain();
  if (!from.empty()) std::memcpy(reach(to, from.size()), from.data(), from.size());
}

void Accelerator::download(std::span<std::byte> to, const void* from) {
  const std::lock_guard lock(memory_.mutex);
  drain();
  if (!to.empty()) std::memcpy(to.data(), reach(from, to.size()), to.size());
}

void Accelerator::copy(void* to, const void* from, uint64_t bytes) {
  const std::lock_guard lock(memory_.mutex);
  drain();
  if (bytes > 0) std::memcpy(reach(to, bytes), reach(from, bytes), bytes);
}

std::span<std::byte> Accelerator::bytes_of(Buffer area) {
  if (area.bytes == 0) return {};
  return {reach(area.data, area.bytes), area.bytes};
}

// The storage of an allocation is aligned for any number, so a pattern that follows its addresses follows the device's.
void Accelerator::fill_all(std::span<const PatternArea> areas) {
  const std::lock_guard lock(memory_.mutex);
  drain();
  for (const auto& [area, pattern] : areas) fill_pattern(bytes_of(area), pattern);
}

Inspection Accelerator::inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) {
  const std::lock_guard lock(memory_.mutex);
  drain();
  Inspection found;
  for (const auto& [area, pattern] : compared) found.scans.push_back(scan_pattern(bytes_of(area), pattern));
  for (const Buffer& area : hashed) found.hashes.push_back(hash128(std::span<const std::byte>(bytes_of(area))));
  return found;
}

namespace {

/// Both accelerators, or the one that the variable names, as the first.
std::vector<DeviceInfo> list_accelerators() {
  if (variable_value(kVisible) != nullptr) return {describe("toy:0")};
  return {describe("toy:0"), describe("toy:1")};
}

std::unique_ptr<Device> open_accelerator(std::string_view id, int64_t) {
  if (const char* const log = variable_value("ATTUNE_TOY_LOG")) {
    const char* const visible = variable_value(kVisible);
    std::ofstream(log, std::ios::app) << fmt::format("{} of {}\n", id, visible != nullptr ? visible : "all");
  }
  return std::make_unique<Accelerator>(std::string(id));
}

}  // namespace

DeviceKind accelerator_kind() {
  return {.name = "toy",
          .list = list_accelerators,
          .open = open_accelerator,
          .timing = Timing::graph,
          .contest = {.confirm = {.delay_s = 0}},
          .max_open_problems = 3,
          .compiles_beside_measuring = true,
          .kernels = accelerator_kernels(),
          .visibility_variable = kVisible,
          .visible_name = [](std::string_view id) { return std::string(id.substr(id.find(':') + 1)); }};
}

}  // namespace attune::toys
