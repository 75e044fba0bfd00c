// SPDX-License-Identifier: MIT
#pragma once
#include <cuda.h>
#include <cudaTypedefs.h>

#include <new>
#include <string_view>

namespace attune {

/// Functions of libcuda that this program calls; X is a macro of one name.
#define ATTUNE_CUDA_FUNCTIONS(X)       \
  X(cuInit)                            \
  X(cuGetErrorName)                    \
  X(cuGetErrorString)                  \
  X(cuDeviceGetCount)                  \
  X(cuDeviceGet)                       \
  X(cuDeviceGetName)                   \
  X(cuDeviceGetAttribute)              \
  X(cuDeviceTotalMem)                  \
  X(cuDeviceGetUuid)                   \
  X(cuDeviceGetPCIBusId)               \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease)         \
  X(cuCtxPushCurrent)                  \
  X(cuCtxPopCurrent)                   \
  X(cuCtxSynchronize)                  \
  X(cuMemAlloc)                        \
  X(cuMemFree)                         \
  X(cuMemcpyHtoD)                      \
  X(cuMemcpyDtoH)                      \
  X(cuMemcpyDtoD)                      \
  X(cuMemsetD8Async)                   \
  X(cuMemsetD32Async)                  \
  X(cuStreamCreate)                    \
  X(cuStreamDestroy)                   \
  X(cuStreamSynchronize)               \
  X(cuStreamBeginCapture)              \
  X(cuStreamEndCapture)                \
  X(cuGraphDestroy)                    \
  X(cuGraphInstantiate)                \
  X(cuGraphExecUpdate)                 \
  X(cuGraphExecDestroy)                \
  X(cuGraphLaunch)                     \
  X(cuGraphUpload)                     \
  X(cuUserObjectCreate)                \
  X(cuUserObjectRelease)               \
  X(cuGraphRetainUserObject)           \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuEventCreate)                     \
  X(cuEventDestroy)                    \
  X(cuEventRecord)                     \
  X(cuEventRecordWithFlags)            \
  X(cuModuleLoadData)                  \
  X(cuModuleUnload)                    \
  X(cuModuleGetFunction)               \
  X(cuFuncSetAttribute)                \
  X(cuLaunchKernel)

/// The driver of NVIDIA GPUs, opened at run time, so that the program starts where none is. Its functions may be called
/// by any thread.
class CudaDriver {
 public:
  /// Null where there is no libcuda.so.1, or no GPU. The first call opens and initialises the driver (0.1 s and more);
  /// the process keeps it. Throws unavailable for a file that is there and cannot be opened, or is not the driver, and
  /// for a driver that cannot be used, with what to do.
  static const CudaDriver* find();
  /// Like find(), but throws unavailable where find() returns null.
  static const CudaDriver& get();

  /// Those whose newest versions drivers of CUDA 12.0 lack.
  PFN_cuEventElapsedTime_v2000 event_elapsed_time = nullptr;
  PFN_cuStreamGetCaptureInfo_v11030 stream_capture_info = nullptr;

  /// Throws device with the driver's words unless the result is a success; unavailable for what the GPU does not
  /// support. `action`: `allocate memory`.
  void check(CUresult result, std::string_view action) const {
    if (result != CUDA_SUCCESS) fail(result, action);
  }

#define ATTUNE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  ATTUNE_CUDA_FUNCTIONS(ATTUNE_CUDA_MEMBER)
#undef ATTUNE_CUDA_MEMBER

 private:
  [[noreturn]] void fail(CUresult result, std::string_view action) const;
};

/// While it lives, a context is the calling thread's current one, and what the thread does disturbs no capture of
/// another. Afterwards both are as they were. About 0.1 µs.
class CurrentContext {
 public:
  CurrentContext(const CudaDriver& driver, CUcontext context);
  /// For destructors: where the context cannot be made current, it is lost, and what belongs to it is gone.
  CurrentContext(const CudaDriver& driver, CUcontext context, std::nothrow_t) noexcept;
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_pushed_ = false;
};

}  // namespace attune
