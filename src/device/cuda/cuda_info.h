// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "device/cuda/cuda_driver.h"

namespace attune {

// Where the driver refuses an answer, these throw like CudaDriver::check(), unless they say otherwise.

/// The GPUs that this process may see, `cuda:0` first; without peak rates for an architecture that is not known. Empty
/// without a driver. Makes no context. Throws unavailable for a driver that is broken (CudaDriver::find()).
std::vector<DeviceInfo> list_cuda_devices();
/// One of them, by the driver's number.
DeviceInfo cuda_device_info(const CudaDriver& driver, int ordinal);
/// Number of the driver's device: 1 of `cuda:1`. Requires: an id of list_cuda_devices().
int cuda_ordinal(std::string_view id);
/// With which CUDA_VISIBLE_DEVICES names it alone, `GPU-` and its UUID; empty for a part of a GPU. Requires: an id of
/// list_cuda_devices().
std::string cuda_visible_name(std::string_view id);
/// Its address on the PCI bus, `0000:3B:00.0`. Requires: an id of list_cuda_devices().
std::string cuda_pci_address(std::string_view id);
/// Compute capability that an architecture's name states: 90 of `sm_90` and `sm_90a`; 0 of a name of another kind.
int compute_capability(std::string_view name) noexcept;
/// The highest clock of the multiprocessors, in GHz.
double cuda_clock_ghz(const CudaDriver& driver, CUdevice device);

/// The facts that peak rates follow from.
struct CudaRates {
  int major = 0, minor = 0;
  int64_t multiprocessors = 0;
  double clock_ghz = 0;  ///< The highest that the multiprocessors run at, in GHz.
};
/// Dense multiplications and additions by data type, in GFLOP/s, at the highest clock. fp32 counts the plain units,
/// because a product in tf32 is less precise than one in fp32. Empty for an architecture that is not known.
std::map<std::string, double> cuda_peak_gflops(const CudaRates& rates);
/// The memory's highest rate in GB/s: two transfers in a cycle of its clock, in kHz, on a bus of so many bits. 0 where
/// the driver tells none.
double cuda_peak_bandwidth_gbs(int64_t clock_khz, int64_t bus_bits);

}  // namespace attune
