// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_stream.h"

namespace attune {

CudaStream::CudaStream(const CudaDriver& driver, CUcontext context) : driver_(driver), context_(context) {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}

CudaStream::~CudaStream() {
  const CurrentContext current(driver_, context_);
  for (CUevent event : events_) {
    if (event != nullptr) driver_.cuEventDestroy(event);
  }
  driver_.cuStreamDestroy(stream_);
}

void CudaStream::synchronize() {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuStreamSynchronize(stream_), "complete its work");
}

void CudaStream::record(uint32_t event) {
  const CurrentContext current(driver_, context_);
  CUevent& mark = events_.at(event);
  if (mark == nullptr) driver_.check(driver_.cuEventCreate(&mark, CU_EVENT_DEFAULT), "make an event");
  driver_.check(driver_.cuEventRecord(mark, stream_), "mark a time");
}

double CudaStream::elapsed_us(uint32_t from, uint32_t to) {
  const CurrentContext current(driver_, context_);
  float ms = 0;
  driver_.check(driver_.cuEventElapsedTime(&ms, events_.at(from), events_.at(to)), "take a time");
  return 1e3 * static_cast<double>(ms);
}

}  // namespace attune
