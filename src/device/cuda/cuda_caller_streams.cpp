// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_caller_streams.h"

#include <new>
#include <utility>

namespace attune {
namespace {

void end_object(void* object) { delete static_cast<std::shared_ptr<void>*>(object); }

}  // namespace

bool CudaCallerStreams::is_capturing(void* stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // The default stream cannot be captured, and must not be asked while another is.
  if (stream == nullptr) return false;
  const CUresult result = driver_.cuStreamIsCapturing(static_cast<CUstream>(stream), &status);
  return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

bool CudaCallerStreams::keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  if (driver_.cuStreamGetCaptureInfo(static_cast<CUstream>(stream), &status, nullptr, &graph, nullptr, nullptr,
                                     nullptr) != CUDA_SUCCESS ||
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
