// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_caller_streams.h"

#include <new>
#include <utility>

namespace attune {
namespace {

/// Allows a thread that captures nothing to make calls which a capture of another thread forbids.
class RelaxedThread final : public CaptureExemption {
 public:
  explicit RelaxedThread(const CudaDriver& driver) : driver_(driver) {
    driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedThread() override { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedThread(const RelaxedThread&) = delete;
  RelaxedThread& operator=(const RelaxedThread&) = delete;

 private:
  const CudaDriver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

void end_object(void* object) { delete static_cast<std::shared_ptr<void>*>(object); }

}  // namespace

uint64_t CudaCallerStreams::capture_of(void* stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  const CUresult result =
      driver_.stream_capture_info(static_cast<CUstream>(stream), &status, &number, nullptr, nullptr, nullptr);
  // Nothing can be added to a failed capture: the launch reports it, and no object is kept for it.
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? number : 0;
}

std::unique_ptr<CaptureExemption> CudaCallerStreams::exempt() { return std::make_unique<RelaxedThread>(driver_); }

void CudaCallerStreams::open(CUcontext context) {
  context_ = context;
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuStreamCreate(&own_, CU_STREAM_NON_BLOCKING), "make a stream");
}

void CudaCallerStreams::close() noexcept {
  if (own_ == nullptr) return;
  const CurrentContext current(driver_, context_, std::nothrow);
  driver_.cuStreamDestroy(std::exchange(own_, nullptr));
}

void CudaCallerStreams::clear(const Buffer& area, std::optional<void*> stream) {
  if (area.bytes == 0) return;
  const CurrentContext current(driver_, context_);
  auto* const queue = stream ? static_cast<CUstream>(*stream) : own_;
  driver_.check(driver_.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(area.data), 0, area.bytes, queue),
                "set its memory");
  // A wait for the whole context would end every capture in it.
  if (!stream) driver_.check(driver_.cuStreamSynchronize(own_), "set its memory");
}

bool CudaCallerStreams::keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  if (driver_.stream_capture_info(static_cast<CUstream>(stream), &status, nullptr, &graph, nullptr, nullptr) !=
          CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return false;
  auto* const kept = new (std::nothrow) std::shared_ptr<void>(std::move(object));
  if (kept == nullptr) return false;
  CUuserObject owner = nullptr;
  if (driver_.cuUserObjectCreate(&owner, kept, end_object, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
    delete kept;
    return false;
  }
  // The graph takes over the only reference.
  if (driver_.cuGraphRetainUserObject(graph, owner, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS) return true;
  driver_.cuUserObjectRelease(owner, 1);
  return false;
}

}  // namespace attune
