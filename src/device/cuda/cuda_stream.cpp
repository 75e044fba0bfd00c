// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_stream.h"

namespace attune {
namespace {

/// An executable graph, launched on the stream that it was captured on.
class CudaGraph final : public Graph {
 public:
  CudaGraph(const CudaDriver& driver, CUcontext context, CUstream stream, CUgraphExec executable)
      : driver_(driver), context_(context), stream_(stream), executable_(executable) {}
  ~CudaGraph() override { driver_.cuGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void launch() override {
    const CurrentContext current(driver_, context_);
    driver_.check(driver_.cuGraphLaunch(executable_, stream_), "launch a graph");
  }
  /// Copies the work to the device now. Otherwise its first launch does it, node by node while the kernels run: 0.7 µs
  /// for each (docs/performance/gpu_samples.md, First launch of a graph).
  void upload() {
    const CurrentContext current(driver_, context_);
    driver_.check(driver_.cuGraphUpload(executable_, stream_), "copy a graph to the device");
  }
  /// Returns whether the work was replaced, which requires the same nodes; their parameters may differ.
  bool replace(CUgraph graph) noexcept {
    CUgraphExecUpdateResultInfo info{};
    return driver_.cuGraphExecUpdate(executable_, graph, &info) == CUDA_SUCCESS;
  }

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  CUstream stream_;
  CUgraphExec executable_;
};

}  // namespace

CudaStream::CudaStream(const CudaDriver& driver, CUcontext context) : driver_(driver), context_(context) {
  const CurrentContext current(driver_, context_);
  driver_.check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}

CudaStream::~CudaStream() {
  const CurrentContext current(driver_, context_, std::nothrow);
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
  driver_.check(is_capturing_ ? driver_.cuEventRecordWithFlags(mark, stream_, CU_EVENT_RECORD_EXTERNAL)
                              : driver_.cuEventRecord(mark, stream_),
                "mark a time");
}

void CudaStream::begin_capture() {
  const CurrentContext current(driver_, context_);
  // Thread-local capture mode: only illegal calls on this thread invalidate the capture.
  driver_.check(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "begin a capture");
  is_capturing_ = true;
}

std::unique_ptr<Graph> CudaStream::end_capture(std::unique_ptr<Graph> former) {
  const CurrentContext current(driver_, context_);
  is_capturing_ = false;
  CUgraph graph = nullptr;
  const CUresult result = driver_.cuStreamEndCapture(stream_, &graph);
  if (result != CUDA_SUCCESS || graph == nullptr) return nullptr;
  CUresult made = CUDA_SUCCESS;
  if (former == nullptr || !static_cast<CudaGraph&>(*former).replace(graph)) {
    CUgraphExec executable = nullptr;
    made = driver_.cuGraphInstantiate(&executable, graph, 0);
    if (made == CUDA_SUCCESS) former = std::make_unique<CudaGraph>(driver_, context_, stream_, executable);
  }
  driver_.cuGraphDestroy(graph);
  driver_.check(made, "make a graph");
  static_cast<CudaGraph&>(*former).upload();
  return former;
}

double CudaStream::elapsed_us(uint32_t from, uint32_t to) {
  const CurrentContext current(driver_, context_);
  float ms = 0;
  driver_.check(driver_.event_elapsed_time(&ms, events_.at(from), events_.at(to)), "take a time");
  return 1e3 * static_cast<double>(ms);
}

}  // namespace attune
