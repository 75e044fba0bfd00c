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
  X(cuCtxGetDevice)                    \
  X(cuCtxSynchronize)                  \
  X(cuMemAlloc)                        \
  X(cuMemFree)                         \
  X(cuMemGetInfo)                      \
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

/// The driver of NVIDIA GPUs. It is opened at run time, so that the program starts without one. Any thread may call its
/// functions.
class CudaDriver {
 public:
  /// Null without libcuda.so.1 or without a GPU. The first call opens and initialises the driver (0.1 s and more); the
  /// process keeps it. Throws unavailable, with a remedy, for a file that cannot be opened or is not the driver, and
  /// for a driver that cannot be used.
  static const CudaDriver* find();
  /// Like find(), but throws unavailable where find() returns null.
  static const CudaDriver& get();

  /// Functions whose newest versions are missing in drivers of CUDA 12.0.
  PFN_cuEventElapsedTime_v2000 event_elapsed_time = nullptr;
  PFN_cuStreamGetCaptureInfo_v11030 stream_capture_info = nullptr;

  /// Throws device with the driver's text unless the result is a success; unavailable if the GPU does not support the
  /// action. `action`: `allocate memory`.
  void check(CUresult result, std::string_view action) const {
    if (result != CUDA_SUCCESS) fail(result, action);
  }

#define ATTUNE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
  ATTUNE_CUDA_FUNCTIONS(ATTUNE_CUDA_MEMBER)
#undef ATTUNE_CUDA_MEMBER

 private:
  [[noreturn]] void fail(CUresult result, std::string_view action) const;
};

/// During its life, a context is the calling thread's current one, and the thread disturbs no capture of another
/// thread. Then restores the previous state. About 0.1 µs.
class CurrentContext {
 public:
  CurrentContext(const CudaDriver& driver, CUcontext context);
  /// For destructors: if the context cannot be made current, it is lost together with its resources.
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
