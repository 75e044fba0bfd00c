// SPDX-License-Identifier: MIT
#include "device/cuda/loaded_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::HasSubstr;

/// A driver on which nothing loads: `invalid ISA`, as single nodes of a cluster have said.
CudaDriver refusing_driver() {
  CudaDriver driver;
  driver.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetUuid = [](CUuuid* uuid, CUdevice) {
    for (size_t i = 0; i < sizeof uuid->bytes; ++i) uuid->bytes[i] = static_cast<char>(i);
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_INVALID_IMAGE";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult, const char** words) {
    *words = "device kernel image is invalid";
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadData = [](CUmodule*, const void*) { return CUDA_ERROR_INVALID_IMAGE; };
  return driver;
}

TEST(LoadedKernels, OneThatTheDriverRefusesIsReportedWithItsErrorGpuAndHost) {
  const TemporaryFolder folder("refused");
  const Binary binary{.recipe = "r", .sha256 = "1", .file = folder.path() / "cubin"};
  write_file_atomically(binary.file, "a cubin");
  const CudaDriver driver = refusing_driver();
  LoadedKernels kernels(driver, nullptr);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      kernels.load(binary, "entry", 0);
      FAIL() << "the driver refuses it";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io) << "load_failed: a fresh worker tries it once more";
      EXPECT_THAT(error.what(), HasSubstr("device kernel image is invalid (CUDA_ERROR_INVALID_IMAGE), on "
                                          "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f of the host '" +
                                          host_name() + "'"));
    }
  }
}

TEST(LoadedKernels, AGpuThatIsLostHasNoName) {
  const TemporaryFolder folder("refused");
  const Binary binary{.recipe = "r", .sha256 = "1", .file = folder.path() / "cubin"};
  write_file_atomically(binary.file, "a cubin");
  CudaDriver driver = refusing_driver();
  driver.cuCtxGetDevice = [](CUdevice*) { return CUDA_ERROR_INVALID_CONTEXT; };
  LoadedKernels kernels(driver, nullptr);
  try {
    kernels.load(binary, "entry", 0);
    FAIL() << "the driver refuses it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a GPU that does not answer"));
  }
}

}  // namespace
}  // namespace attune
