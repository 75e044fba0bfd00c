// SPDX-License-Identifier: MIT
// Cost for the host of a turn that is timed by a graph on an NVIDIA GPU: capture of N launches, replacement of the work
// of an executable graph, and a graph made anew. A Markdown table; medians of 51 turns.
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
      "| launches | capture, us | replace, us | make anew, us | us a launch on the GPU: replaced | made anew |\n");
  std::printf("|---|---|---|---|---|---|\n");
  for (const int launches : {10, 100, 1000}) {
    std::vector<double> capture, replace, make, replaced_run, made_run;
    cudaGraphExec_t kept = nullptr;
    for (int turn = 0; turn <= kTurns; ++turn) {
      const double start = now_us();
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      check(cudaEventRecordWithFlags(begin, stream, cudaEventRecordExternal));
      for (int i = 0; i < launches; ++i) add<<<1, 1, 0, stream>>>(memory, (i * 7 + turn) % kCopies);
      check(cudaEventRecordWithFlags(end, stream, cudaEventRecordExternal));
      cudaGraph_t graph{};
      check(cudaStreamEndCapture(stream, &graph));
      const double captured = now_us();
      cudaGraphExec_t anew{};
      check(cudaGraphInstantiate(&anew, graph, 0));
      const double made = now_us();
      cudaGraphExecUpdateResultInfo info{};
      if (kept != nullptr) check(cudaGraphExecUpdate(kept, graph, &info));
      const double replaced = now_us();
      const auto run = [&](cudaGraphExec_t one) {
        float ms = 0;
        check(cudaGraphLaunch(one, stream));
        check(cudaGraphLaunch(one, stream));
        check(cudaStreamSynchronize(stream));
        check(cudaEventElapsedTime(&ms, begin, end));
        return 1e3 * ms / launches;
      };
      if (kept == nullptr) {
        kept = anew;
      } else {
        replaced_run.push_back(run(kept));
        made_run.push_back(run(anew));
        capture.push_back(captured - start);
        make.push_back(made - captured);
        replace.push_back(replaced - made);
        check(cudaGraphExecDestroy(anew));
      }
      check(cudaGraphDestroy(graph));
    }
    check(cudaGraphExecDestroy(kept));
    std::printf("| %d | %.0f | %.0f | %.0f | %.2f | %.2f |\n", launches, median(capture), median(replace), median(make),
                median(replaced_run), median(made_run));
  }
}
