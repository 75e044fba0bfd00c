// SPDX-License-Identifier: MIT
#include "device/cuda/nvml.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/library/vendor_library.h"
#include "device/cuda/cuda_driver.h"
#include "device/cuda/cuda_info.h"

namespace attune {
namespace {

constexpr const char* kFiles[] = {"libnvidia-ml.so.1"};
constexpr VendorLibrary::Description kDescription{"NVML (libnvidia-ml.so.1)", "CUDA 12.0", "nvmlInit_v2",
                                                  "install the driver's utilities"};

constexpr uint64_t kIdleness = 0x1;  // The clock between launches does not matter.
constexpr std::array<std::pair<uint64_t, const char*>, 8> kLimits = {{{0x2, "clocks set by an application"},
                                                                      {0x4, "power limit"},
                                                                      {0x8, "slowdown by the hardware"},
                                                                      {0x10, "clocks shared with other GPUs"},
                                                                      {0x20, "temperature"},
                                                                      {0x40, "temperature, by the hardware"},
                                                                      {0x80, "power brake"},
                                                                      {0x100, "clocks of a display"}}};

// The minimal toolkit lacks its header, so the used parts are declared here.
using NvmlDevice = struct NvmlDeviceOpaque*;
constexpr int kSuccess = 0, kMore = 7;  // NVML_ERROR_INSUFFICIENT_SIZE: there are more than the given room.
/// nvmlMemory_v2_t: `used` excludes the driver's own memory.
struct NvmlMemory {
  unsigned int version = sizeof(NvmlMemory) | 2u << 24;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
/// More than an idle GPU's driver uses, and less than a context takes.
constexpr uint64_t kIdleBytes = uint64_t{64} << 20;

struct Nvml {
  int (*init)() = nullptr;
  int (*device_of)(const char* bus, NvmlDevice* device) = nullptr;
  int (*reasons_of)(NvmlDevice device, unsigned long long* reasons) = nullptr;
  int (*processes_of)(NvmlDevice device, unsigned int* count, void* processes) = nullptr;
  int (*memory_of)(NvmlDevice device, NvmlMemory* memory) = nullptr;
  const char* (*words_of)(int result) = nullptr;
  std::string unusable;  ///< Why it cannot be used.
};

Nvml open_nvml() {
  Nvml nvml;
  try {
    const auto library = VendorLibrary::find(kDescription, kFiles, LibraryChoice::of_driver);
    if (!library) {
      nvml.unusable =
          "NVML (libnvidia-ml.so.1) is not here: install it (Debian: libnvidia-ml1), or give the container the "
          "driver's utilities (NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
      return nvml;
    }
    library->load("nvmlInit_v2", nvml.init);
    library->load("nvmlDeviceGetHandleByPciBusId_v2", nvml.device_of);
    // The name before 12.2, which later versions have as well.
    library->load("nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons_of);
    library->load("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes_of);
    library->load("nvmlDeviceGetMemoryInfo_v2", nvml.memory_of);
    library->load("nvmlErrorString", nvml.words_of);
    if (const int result = nvml.init(); result != kSuccess)
      nvml.unusable = std::string("NVML does not start: ") + nvml.words_of(result);
  } catch (const Error& error) {
    nvml.unusable = error.what();
  }
  return nvml;
}

/// Never destroyed, because threads may use it while the process ends.
const Nvml& nvml() {
  static const Nvml& opened = *new Nvml(open_nvml());
  return opened;
}

void check(int result) {
  if (result != kSuccess) fail(ErrorCode::unavailable, "NVML does not tell: {}", nvml().words_of(result));
}

/// Throws unavailable.
NvmlMemory memory_of(NvmlDevice handle) {
  NvmlMemory memory;
  check(nvml().memory_of(handle, &memory));
  return memory;
}

/// Throws unavailable.
NvmlDevice nvml_device(const CudaDriver& driver, CUdevice device) {
  const Nvml& library = nvml();
  if (!library.unusable.empty()) fail(ErrorCode::unavailable, "{}", library.unusable);
  std::array<char, 64> bus{};
  driver.check(driver.cuDeviceGetPCIBusId(bus.data(), bus.size() - 1, device), "name a device's bus");
  NvmlDevice handle = nullptr;
  check(library.device_of(bus.data(), &handle));
  return handle;
}

/// Throws unavailable.
NvmlDevice nvml_device_of(std::string_view id) {
  const CudaDriver& driver = CudaDriver::get();
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, cuda_ordinal(id)), "find a device");
  return nvml_device(driver, device);
}

}  // namespace

std::vector<std::string> clock_limits(uint64_t bits) {
  std::vector<std::string> names;
  bits &= ~kIdleness;
  for (const auto& [bit, name] : kLimits) {
    if ((bits & bit) != 0) names.emplace_back(name);
    bits &= ~bit;
  }
  if (bits != 0) names.emplace_back("another reason");
  return names;
}

ClockState cuda_clock_state(std::string_view id) {
  ClockState state;
  try {
    const CudaDriver& driver = CudaDriver::get();
    CUdevice device = 0;
    driver.check(driver.cuDeviceGet(&device, cuda_ordinal(id)), "find a device");
    state.highest_ghz = cuda_clock_ghz(driver, device);
    unsigned long long bits = 0;
    check(nvml().reasons_of(nvml_device(driver, device), &bits));
    state.held_by = clock_limits(bits);
  } catch (const Error& error) {
    state.unknown = error.what();
  }
  return state;
}

std::string gpu_use(uint32_t num_processes, uint64_t used_bytes) {
  if (num_processes > 0)
    return num_processes == 1 ? "a process uses it" : fmt::format("{} processes use it", num_processes);
  if (used_bytes > kIdleBytes) return fmt::format("{} MiB of its memory are in use", used_bytes >> 20);
  return {};
}

std::string cuda_use(std::string_view id) {
  const NvmlDevice handle = nvml_device_of(id);
  unsigned int num_processes = 0;
  if (const int result = nvml().processes_of(handle, &num_processes, nullptr); result != kMore) check(result);
  return gpu_use(num_processes, memory_of(handle).used);
}

uint64_t cuda_free_bytes(std::string_view id) { return memory_of(nvml_device_of(id)).free; }

}  // namespace attune
