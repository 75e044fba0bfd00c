// SPDX-License-Identifier: MIT
// A turn that is timed by a graph on an NVIDIA GPU. For the host: capture of N launches, replacement of the work of an
// executable graph, a graph made anew, and its copy to the device. On the GPU: the time of a launch in the graph's
// first launch, with and without that copy, and in a later one. A Markdown table; medians of 51 turns.
//     nvcc -std=c++20 -O2 -o graph_turns tests/perf/graph_turns.cu && ./graph_turns
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "graph_turns: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

__global__ void add(float* to, int copy) { to[copy] += 1; }

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + values.size() / 2);
  return values[values.size() / 2];
}

}  // namespace

int main() {
  constexpr int kTurns = 51, kCopies = 64;
  float* memory = nullptr;
  cudaStream_t stream{};
  cudaEvent_t begin{}, end{};
  check(cudaMalloc(&memory, kCopies * sizeof(float)));
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::printf(
      "| launches | capture, us | replace, us | make anew, us | copy, us | us a launch on the GPU: first, not copied | "
      "first, "
      "copied | later |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const int launches : {10, 100, 1000}) {
    std::vector<double> capture_us, replace_us, make_us, copy_us, first, copied, later;
    cudaGraphExec_t kept = nullptr;
    int turn = 0;
    const auto capture = [&] {
      cudaGraph_t graph{};
      const double start = now_us();
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      check(cudaEventRecordWithFlags(begin, stream, cudaEventRecordExternal));
      for (int i = 0; i < launches; ++i) add<<<1, 1, 0, stream>>>(memory, (i * 7 + turn) % kCopies);
      check(cudaEventRecordWithFlags(end, stream, cudaEventRecordExternal));
      check(cudaStreamEndCapture(stream, &graph));
      capture_us.push_back(now_us() - start);
      return graph;
    };
    const auto replace = [&] {
      cudaGraph_t graph = capture();
      cudaGraphExecUpdateResultInfo info{};
      const double start = now_us();
      check(cudaGraphExecUpdate(kept, graph, &info));
      replace_us.push_back(now_us() - start);
      check(cudaGraphDestroy(graph));
    };
    // A device that comes from rest would take longer, so other work comes right before.
    const auto run_us = [&] {
      float ms = 0;
      for (int i = 0; i < 16; ++i) add<<<1, 1, 0, stream>>>(memory, i);
      check(cudaGraphLaunch(kept, stream));
      check(cudaStreamSynchronize(stream));
      check(cudaEventElapsedTime(&ms, begin, end));
      return 1e3 * ms / launches;
    };
    for (; turn <= kTurns; ++turn) {
      cudaGraph_t graph = capture();
      cudaGraphExec_t anew{};
      const double start = now_us();
      check(cudaGraphInstantiate(&anew, graph, 0));
      make_us.push_back(now_us() - start);
      check(cudaGraphDestroy(graph));
      if (kept == nullptr) {
        kept = anew;
        continue;
      }
      check(cudaGraphExecDestroy(anew));
      replace();
      first.push_back(run_us());
      later.push_back(run_us());
      replace();
      const double before = now_us();
      check(cudaGraphUpload(kept, stream));
      copy_us.push_back(now_us() - before);
      copied.push_back(run_us());
    }
    check(cudaGraphExecDestroy(kept));
    std::printf("| %d | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f |\n", launches, median(capture_us),
                median(replace_us), median(make_us), median(copy_us), median(first), median(copied), median(later));
  }
}
