// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "device/cuda/cuda_driver.h"

namespace attune {

// If the driver refuses an answer, these throw like CudaDriver::check(), unless stated otherwise.

/// Returns the GPUs that this process may see, `cuda:0` first; without peak rates for an unknown architecture. Empty
/// without a driver. Makes no context. Throws unavailable for a broken driver (CudaDriver::find()).
std::vector<DeviceInfo> list_cuda_devices();
/// Returns one of them, by the driver's number.
DeviceInfo cuda_device_info(const CudaDriver& driver, int ordinal);
/// Number of the driver's device: 1 of `cuda:1`. Requires: an id of list_cuda_devices().
int cuda_ordinal(std::string_view id);
/// Value of CUDA_VISIBLE_DEVICES that makes it the only visible GPU: `GPU-` and its UUID; empty for a part of a GPU.
/// Requires: an id of list_cuda_devices().
std::string cuda_visible_name(std::string_view id);
/// `GPU-` and the UUID of the driver's device; of a part of a GPU, too.
std::string cuda_uuid(const CudaDriver& driver, CUdevice device);
/// Its address on the PCI bus, `0000:3B:00.0`. Requires: an id of list_cuda_devices().
std::string cuda_pci_address(std::string_view id);
/// Compute capability that an architecture's name states: 90 of `sm_90` and `sm_90a`; 0 for other names.
int compute_capability(std::string_view name) noexcept;
/// The highest clock of the multiprocessors, in GHz.
double cuda_clock_ghz(const CudaDriver& driver, CUdevice device);

/// The facts that determine peak rates.
struct CudaRates {
  int major = 0, minor = 0;
  int64_t multiprocessors = 0;
  double clock_ghz = 0;  ///< The highest clock of the multiprocessors, in GHz.
};
/// Dense multiplications and additions by data type, in GFLOP/s, at the highest clock. fp32 counts the plain units,
/// because a product in tf32 is less precise than one in fp32. Empty for an unknown architecture.
std::map<std::string, double> cuda_peak_gflops(const CudaRates& rates);
/// The memory's highest rate in GB/s: two transfers per cycle of its clock, in kHz, on a bus of `bus_bits`. 0 if the
/// driver does not report them.
double cuda_peak_bandwidth_gbs(int64_t clock_khz, int64_t bus_bits);

}  // namespace attune
