// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_kernel_module.h"

#include "base/clock.h"

namespace attune {

CudaKernelModule::CudaKernelModule(const CudaDriver& driver, CUcontext context, const void* image, DeviceTime* time)
    : driver_(driver), context_(context), time_(time) {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuModuleLoadData(&module_, image), "load kernels");
}

CudaKernelModule::~CudaKernelModule() {
  const CurrentContext current(driver_, context_, std::nothrow);
  driver_.cuModuleUnload(module_);
}

void CudaKernelModule::run(const char* kernel, const LaunchGrid& grid, std::span<void* const> arguments) {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  const double began_s = steady_clock().now_s();
  enqueue(function(kernel), grid, arguments, nullptr);
  driver_.check(driver_.cuCtxSynchronize(), "run a kernel");
  if (time_ != nullptr) time_->add_busy_us(1e6 * (steady_clock().now_s() - began_s));
}

CUfunction CudaKernelModule::function(const char* kernel) const {
  const CurrentContext current(driver_, context_);
  CUfunction function = nullptr;
  driver_.check(driver_.cuModuleGetFunction(&function, module_, kernel), "find a kernel");
  return function;
}

void CudaKernelModule::allow_shared_bytes(CUfunction kernel, uint32_t bytes) const {
  const CurrentContext current(driver_, context_);
  driver_.check(
      driver_.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes)),
      "give shared memory to a kernel");
}

void CudaKernelModule::enqueue(CUfunction kernel, const LaunchGrid& grid, std::span<void* const> arguments,
                               CUstream stream, uint32_t blocks_y) const {
  driver_.check(driver_.cuLaunchKernel(kernel, grid.blocks, blocks_y, 1, grid.threads, 1, 1, grid.shared_bytes, stream,
                                       const_cast<void**>(arguments.data()), nullptr),
                "launch a kernel");
}

}  // namespace attune
