// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_kernel_module.h"

namespace attune {

CudaKernelModule::CudaKernelModule(const CudaDriver& driver, CUcontext context, const void* image)
    : driver_(driver), context_(context) {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuModuleLoadData(&module_, image), "load kernels");
}

CudaKernelModule::~CudaKernelModule() {
  const CurrentContext current(driver_, context_, std::nothrow);
  driver_.cuModuleUnload(module_);
}

void CudaKernelModule::run(const char* kernel, const LaunchGrid& grid, std::span<void* const> arguments) {
  const CurrentContext current(driver_, context_);
  CUfunction function = nullptr;
  driver_.check(driver_.cuModuleGetFunction(&function, module_, kernel), "find a kernel");
  driver_.check(driver_.cuCtxSynchronize(), "complete its work");
  driver_.check(driver_.cuLaunchKernel(function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, nullptr,
                                       const_cast<void**>(arguments.data()), nullptr),
                "launch a kernel");
  driver_.check(driver_.cuCtxSynchronize(), "run a kernel");
}

}  // namespace attune
