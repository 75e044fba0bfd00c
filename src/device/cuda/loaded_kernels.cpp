// SPDX-License-Identifier: MIT
#include "device/cuda/loaded_kernels.h"

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "device/cuda/cuda_info.h"

namespace attune {
namespace {

constexpr size_t kMaxUnused = 64;                // Beyond, binaries without a plan are unloaded.
constexpr int64_t kSharedBytesOfAll = 48 << 10;  // A kernel gets as much without being asked for.

}  // namespace

LoadedKernel::LoadedKernel(const CudaDriver& driver, CUcontext context, const std::string& cubin, const char* name,
                           int64_t shared_bytes)
    : module(driver, context, cubin.data()), entry(module.function(name)) {
  if (shared_bytes > kSharedBytesOfAll) module.allow_shared_bytes(entry, static_cast<uint32_t>(shared_bytes));
}

LoadedKernels::~LoadedKernels() {
  // Whoever has a plan drops the last share, perhaps where nothing may be unloaded.
  for (auto& [hash, kernel] : kernels_) {
    if (kernel.use_count() > 1) new std::shared_ptr<const LoadedKernel>(std::move(kernel));  // Never destroyed.
  }
}

std::shared_ptr<const LoadedKernel> LoadedKernels::load(const Binary& binary, const char* entry, int64_t shared_bytes) {
  if (const auto known = kernels_.find(binary.sha256); known != kernels_.end()) return known->second;
  std::shared_ptr<const LoadedKernel> loaded;
  try {
    loaded = std::make_shared<const LoadedKernel>(driver_, context_, read_file(binary.file), entry, shared_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::device) throw;
    fail(ErrorCode::io, "{}, on {} of the host '{}'", error.what(), gpu(), host_name());
  }
  kernels_.emplace(binary.sha256, loaded);
  unload_unused();
  return loaded;
}

/// UUID of the context's GPU, whose number may change when the host restarts.
std::string LoadedKernels::gpu() const {
  try {
    const CurrentContext current(driver_, context_);
    CUdevice device = 0;
    driver_.check(driver_.cuCtxGetDevice(&device), "name its device");
    return cuda_uuid(driver_, device);
  } catch (const Error&) {
    return "a GPU that does not answer";
  }
}

void LoadedKernels::unload_unused() {
  size_t num_unused = 0;
  for (const auto& [hash, kernel] : kernels_) num_unused += kernel.use_count() == 1;
  if (num_unused <= kMaxUnused) return;
  std::erase_if(kernels_, [](const auto& one) { return one.second.use_count() == 1; });
}

}  // namespace attune
