// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "device/cuda/cuda_info.h"
#include "device/cuda/cuda_kernel_module.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/nvml.h"
#include "device/device_kind.h"

namespace attune {
namespace {

constexpr double kClockUs = 8;  // About 20 with its launch and its answer.

std::unique_ptr<Device> open_cuda_device(std::string_view id, int64_t) {
  return std::make_unique<CudaDevice>(cuda_device_info(CudaDriver::get(), cuda_ordinal(id)));
}

/// Chosen by hand; docs/performance.md lists the checks on GPUs.
ContestConstants cuda_constants() {
  ContestConstants constants;
  constants.race.prior_sigma = 0.01;
  constants.race.first = constants.race.first_crowded = 2;
  constants.race.sample_share = 0.5;
  constants.finals.looks = {8, 16};
  constants.finals.margin = 0.005;
  constants.confirm.min_openings = 4;
  constants.confirm.delay_s = 4;
  return constants;
}

}  // namespace

CudaDevice::CudaDevice(DeviceInfo info) : info_(std::move(info)), driver_(CudaDriver::get()), caller_streams_(driver_) {
  // An application may open a device while it captures a stream of it.
  const auto exemption = caller_streams_.exempt();
  driver_.check(driver_.cuDeviceGet(&device_, cuda_ordinal(info_.id)), "find a device");
  max_clock_ghz_ = cuda_clock_ghz(driver_, device_);
  driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "open a device");
  try {
    memory_.emplace(driver_, context_, info_.num_units, time());
    caller_streams_.open(context_);
  } catch (...) {
    memory_.reset();
    driver_.cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

CudaDevice::~CudaDevice() {
  caller_streams_.close();
  memory_.reset();
  driver_.cuDevicePrimaryCtxRelease(device_);
}

double CudaDevice::relative_clock() { return memory_->clock_ghz(kClockUs) / max_clock_ghz_; }

bool CudaDevice::healthy() noexcept {
  try {
    const CurrentContext current(driver_, context_);
    return driver_.cuCtxSynchronize() == CUDA_SUCCESS;
  } catch (const Error&) {
    return false;
  }
}

void CudaDevice::synchronize() noexcept { healthy(); }

std::unique_ptr<KernelModule> CudaDevice::load(const void* image) {
  return std::make_unique<CudaKernelModule>(driver_, context_, image, &time());
}

std::unique_ptr<Stream> CudaDevice::open_stream() { return std::make_unique<CudaStream>(driver_, context_); }

double CudaDevice::bandwidth_gbs(uint64_t working_set_bytes, Reading reading) {
  const int size_class = std::bit_width(working_set_bytes);
  const auto known = bandwidths_.find(size_class);
  if (known != bandwidths_.end() && reading == Reading::remembered) return known->second;
  const double measured = memory_->read_bandwidth_gbs(working_set_bytes);
  double& best = bandwidths_[size_class];
  best = std::max(best, measured);
  return best;
}

void register_cuda_devices(std::vector<DeviceKind>& kinds);
void register_cuda_devices(std::vector<DeviceKind>& kinds) {
  static constexpr std::string_view kVariables[] = {"CUDA_", "CUBLAS_", "CUBLASLT_", "NVIDIA_TF32_OVERRIDE"};
  kinds.push_back({.name = "cuda",
                   .list = list_cuda_devices,
                   .open = open_cuda_device,
                   .clock_state = cuda_clock_state,
                   .timing = Timing::graph,
                   .contest = cuda_constants(),
                   .max_open_problems = 6,
                   // Guaranteed by cudaMalloc (CUDA C++ Programming Guide, Device Memory Accesses). PyTorch divides it
                   // into pieces with an alignment of 512.
                   .allocation_alignment = 256,
                   .compiles_beside_measuring = true,
                   .max_workers = 4,
                   .idle_worker_bytes = uint64_t{1} << 30,  // its context, and cuBLASLt's workspace and kernels
                   .plan_bytes = uint64_t{64} << 20,        // cuBLAS's 32 MiB of workspace, kernels and split-K sums
                   .variables = kVariables,
                   .visibility_variable = "CUDA_VISIBLE_DEVICES",
                   .visible_name = cuda_visible_name,
                   .pci_address = cuda_pci_address,
                   .use_of = cuda_use,
                   .free_bytes = cuda_free_bytes,
                   .precedes_host = true});
}

}  // namespace attune
