// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace attune {
namespace {

/// The marks around a graph cost about 3 µs, the same for every kernel (docs/performance/gpu_samples.md, First launch
/// of a graph).
constexpr int64_t kLeastSampleUs = 400;

/// Operations of one multiprocessor in a cycle, by the tables of NVIDIA's architecture papers (a peak rate divided by
/// multiprocessors and boost clock), accumulated in fp32 if the type has a choice.
struct ArchitectureRates {
  int major, minor;
  int fp64, fp32, half, int8, fp8;  ///< `half`: bf16 and fp16; 0: the type has no unit of its own.
};
constexpr ArchitectureRates kRates[] = {
    {8, 0, 128, 128, 2048, 4096, 0},     {8, 6, 4, 256, 1024, 2048, 0},      {8, 7, 4, 256, 1024, 2048, 0},
    {8, 9, 4, 256, 1024, 2048, 2048},    {9, 0, 256, 256, 4096, 8192, 8192}, {10, 0, 256, 256, 8192, 16384, 16384},
    {10, 3, 256, 256, 8192, 512, 16384}, {12, 0, 4, 256, 1024, 2048, 2048},  {12, 1, 4, 256, 1024, 2048, 2048},
};

class Attributes {
 public:
  Attributes(const CudaDriver& driver, CUdevice device) : driver_(driver), device_(device) {}
  int64_t operator()(CUdevice_attribute attribute) const {
    int value = 0;
    driver_.check(driver_.cuDeviceGetAttribute(&value, attribute, device_), "describe a device");
    return value;
  }

 private:
  const CudaDriver& driver_;
  CUdevice device_;
};

}  // namespace

int compute_capability(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  if (name.starts_with(kPrefix)) std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  return number;
}

DeviceInfo cuda_device_info(const CudaDriver& driver, int ordinal) {
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "find a device");
  const Attributes of(driver, device);
  std::array<char, 256> model{};
  driver.check(driver.cuDeviceGetName(model.data(), model.size() - 1, device), "name a device");
  size_t memory = 0;
  driver.check(driver.cuDeviceTotalMem(&memory, device), "describe a device");
  const auto major = static_cast<int>(of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  const auto minor = static_cast<int>(of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", ordinal);
  info.kind = "cuda";
  info.gfx = fmt::format("sm_{}{}", major, minor);
  info.num_units = of(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.model = model.data();
  std::ranges::replace(info.model, ',', ' ');
  info.memory_bytes = static_cast<int64_t>(memory);
  info.cache_bytes = of(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.facts = {{"num_units", info.num_units},
                {"l2_bytes", info.cache_bytes},
                {"shared_bytes", of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)},
                {"unit_shared_bytes", of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)},
                {"unit_registers", of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)},
                {"unit_threads", of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)},
                {"least_sample_us", kLeastSampleUs}};
  info.peak_gflops = cuda_peak_gflops({major, minor, info.num_units, cuda_clock_ghz(driver, device)});
  info.bandwidth_gbs = cuda_peak_bandwidth_gbs(of(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                                               of(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  return info;
}

double cuda_peak_bandwidth_gbs(int64_t clock_khz, int64_t bus_bits) {
  return static_cast<double>(std::max<int64_t>(clock_khz, 0)) * static_cast<double>(std::max<int64_t>(bus_bits, 0)) *
         2 / 8 / 1e6;
}

std::map<std::string, double> cuda_peak_gflops(const CudaRates& rates) {
  const auto* const found = std::ranges::find_if(
      kRates, [&](const auto& one) { return one.major == rates.major && one.minor == rates.minor; });
  if (found == std::end(kRates)) return {};
  const double cycles = static_cast<double>(rates.multiprocessors) * rates.clock_ghz;
  // A type without its own unit is widened to halves.
  const double half = found->half * cycles, int8 = std::max(found->int8, found->half) * cycles,
               fp8 = std::max(found->fp8, found->half) * cycles;
  return {{"fp64", found->fp64 * cycles},
          {"fp32", found->fp32 * cycles},
          {"bf16", half},
          {"fp16", half},
          {"int8", int8},
          {"e4m3fn", fp8},
          {"e5m2", fp8}};
}

double cuda_clock_ghz(const CudaDriver& driver, CUdevice device) {
  return static_cast<double>(Attributes(driver, device)(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)) / 1e6;
}

int cuda_ordinal(std::string_view id) {
  const std::string_view digits = id.substr(id.find(':') + 1);
  int ordinal = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  return ordinal;
}

namespace {

CUdevice device_of(const CudaDriver& driver, std::string_view id) {
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, cuda_ordinal(id)), "find a device");
  return device;
}

}  // namespace

std::string cuda_visible_name(std::string_view id) {
  const CudaDriver& driver = CudaDriver::get();
  // The driver returns a part's UUID without the letters that distinguish it from a whole GPU's.
  if (cuda_device_info(driver, cuda_ordinal(id)).model.find(" MIG ") != std::string::npos) return {};
  return cuda_uuid(driver, device_of(driver, id));
}

std::string cuda_uuid(const CudaDriver& driver, CUdevice device) {
  CUuuid uuid{};
  driver.check(driver.cuDeviceGetUuid(&uuid, device), "identify a device");
  std::string name = "GPU";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    const bool begins_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    name += fmt::format("{}{:02x}", begins_group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return name;
}

std::string cuda_pci_address(std::string_view id) {
  const CudaDriver& driver = CudaDriver::get();
  std::array<char, 32> address{};
  driver.check(driver.cuDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device_of(driver, id)),
               "find a device on its bus");
  return address.data();
}

std::vector<DeviceInfo> list_cuda_devices() {
  const CudaDriver* const driver = CudaDriver::find();
  if (driver == nullptr) return {};
  int count = 0;
  driver->check(driver->cuDeviceGetCount(&count), "count the devices");
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count; ++i) all.push_back(cuda_device_info(*driver, i));
  return all;
}

}  // namespace attune
