// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_driver.h"

#include <memory>
#include <string>

#include "base/error.h"
#include "base/library/vendor_library.h"

namespace attune {
namespace {

constexpr const char* kFiles[] = {"libcuda.so.1"};
constexpr VendorLibrary::Description kDescription{"the NVIDIA driver (libcuda.so.1)", "CUDA 12.0", "cuInit",
                                                  "install it"};

// The name after cuda.h has replaced it by the version that it declares: `cuMemAlloc_v2`.
#define ATTUNE_CUDA_TEXT_OF(name) #name
#define ATTUNE_CUDA_TEXT(name) ATTUNE_CUDA_TEXT_OF(name)

std::unique_ptr<const CudaDriver> open_driver() {
  const auto library = VendorLibrary::find(kDescription, kFiles, LibraryChoice::of_driver);
  if (!library) return nullptr;
  auto driver = std::make_unique<CudaDriver>();
#define ATTUNE_CUDA_LOAD(name) library->load(ATTUNE_CUDA_TEXT(name), driver->name);
  ATTUNE_CUDA_FUNCTIONS(ATTUNE_CUDA_LOAD)
#undef ATTUNE_CUDA_LOAD
  library->load("cuEventElapsedTime", driver->event_elapsed_time);
  library->load("cuStreamGetCaptureInfo_v2", driver->stream_capture_info);
  const CUresult result = driver->cuInit(0);
  // The library is a stub, or the machine has its driver's files but no GPU.
  if (result == CUDA_ERROR_STUB_LIBRARY || result == CUDA_ERROR_NO_DEVICE) return nullptr;
  if (result != CUDA_SUCCESS) {
    const char* words = nullptr;
    driver->cuGetErrorString(result, &words);
    fail(ErrorCode::unavailable, "{} cannot be used, see `nvidia-smi`: {}", kDescription.name,
         words != nullptr ? std::string(words) : std::to_string(result));
  }
  return driver;
}

}  // namespace

const CudaDriver* CudaDriver::find() {
  // Never destroyed: threads may use it while the process ends.
  static const std::unique_ptr<const CudaDriver>& driver = *new std::unique_ptr<const CudaDriver>(open_driver());
  return driver.get();
}

const CudaDriver& CudaDriver::get() {
  const CudaDriver* const driver = find();
  if (driver == nullptr) {
    // Throws with the loader's reason if there is no driver.
    VendorLibrary::open(kDescription, kFiles, LibraryChoice::of_driver);
    ::attune::fail(
        ErrorCode::unavailable,
        "this machine has files of the NVIDIA driver, but no NVIDIA GPU: give the container its GPU (`docker run "
        "--gpus all`), or name another device (`--devices cpu:0`)");
  }
  return *driver;
}

void CudaDriver::fail(CUresult result, std::string_view action) const {
  const char *name = nullptr, *words = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &words);
  const ErrorCode code = result == CUDA_ERROR_NOT_SUPPORTED ? ErrorCode::unavailable : ErrorCode::device;
  ::attune::fail(code, "the GPU's driver cannot {}: {} ({})", action, words != nullptr ? words : "unknown error",
                 name != nullptr ? name : std::to_string(result).c_str());
}

CurrentContext::CurrentContext(const CudaDriver& driver, CUcontext context) : driver_(driver), is_pushed_(true) {
  driver.check(driver.cuCtxPushCurrent(context), "make a device current");
  driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

CurrentContext::CurrentContext(const CudaDriver& driver, CUcontext context, std::nothrow_t) noexcept
    : driver_(driver), is_pushed_(driver.cuCtxPushCurrent(context) == CUDA_SUCCESS) {
  if (is_pushed_) driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

CurrentContext::~CurrentContext() {
  if (!is_pushed_) return;
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent(&popped);
}

}  // namespace attune
