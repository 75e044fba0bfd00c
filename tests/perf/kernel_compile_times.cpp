// SPDX-License-Identifier: MIT
// What NVRTC takes for the kernels that searches of jit_cuda ask for, without a GPU: attune_kernel_compile_times
// [--list] [CONFIGS [ARCHITECTURE]]. The starts and CONFIGS (100) random configs of bf16 products of M = 1, 16, 64, 512
// and 4096, N = K = 4096, on one core. --list: prints their names instead.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "compile/compiler.h"
#include "process/temporary_folder.h"
#include "solvers/jit_cuda/gemm_space.h"
#include "solvers/jit_cuda/kernel_text.h"

namespace attune::jit_cuda {
namespace {

/// Milliseconds of a compilation, and what NVRTC says of its phases.
struct Times {
  double all = 0, front_end = 0, optimizer = 0, assembler = 0;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of `kernel.cu, NVVM Optimizer, 66, ms`.
double phase(const std::string& report, const std::string& name) {
  const size_t at = report.find(", " + name + ", ");
  return at == report.npos ? 0 : std::stod(report.substr(at + name.size() + 4));
}

Times times_of(const LibraryCompiler& nvrtc, CompileTask task, const std::string& report) {
  task.options.push_back("--time=" + report);
  std::filesystem::remove(report);  // NVRTC appends.
  Times times;
  const double begin = seconds();
  const LibraryOutput output = nvrtc.compile(task);
  times.all = (seconds() - begin) * 1e3;
  if (!output.is_compiled) fail(ErrorCode::internal, "a kernel does not compile: {}", output.log);
  const std::string text = read_file(report);
  times.front_end = phase(text, "CUDA C++ Frontend");
  times.optimizer = phase(text, "NVVM Optimizer");
  times.assembler = phase(text, "PTX Translation");
  return times;
}

std::string kind_of(const GemmConfig& config) {
  if (config.blocks > 0) return "tile, shares";
  return std::string(kKernels[static_cast<size_t>(config.kernel)]) + (config.split_k > 1 ? ", parts" : "");
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void print(const std::string& kind, const std::vector<Times>& times) {
  const auto values = [&](double Times::*member) {
    std::vector<double> all;
    for (const Times& one : times) all.push_back(one.*member);
    return all;
  };
  const std::vector<double> all = values(&Times::all);
  double sum = 0;
  for (const double one : all) sum += one;
  fmt::print("{:<14} {:>7} {:>7.0f} {:>7.0f} {:>7.0f} {:>9.0f} {:>9.0f} {:>9.0f}\n", kind, all.size(),
             sum / static_cast<double>(all.size()), median(all), *std::ranges::max_element(all),
             median(values(&Times::front_end)), median(values(&Times::optimizer)), median(values(&Times::assembler)));
}

int run(size_t count, const std::string& arch, bool lists) {
  const DeviceInfo gpu = {
      .id = "cuda:0", .kind = "cuda", .gfx = arch, .num_units = 132, .facts = {{"shared_bytes", 232448}}};
  Random random(18);
  std::map<std::string, std::vector<CompileTask>> tasks;
  std::set<std::string> recipes;  // Configs may share a kernel, which is compiled once.
  for (const int64_t m : {1, 16, 64, 512, 4096}) {
    const GemmShape shape = {.m = m, .n = 4096, .k = 4096, .in = DType::bf16, .out = DType::bf16};
    std::vector<GemmConfig> configs = gemm_starts(shape, gpu);
    const SearchSpace space = gemm_space(shape, gpu);
    for (size_t i = 0; i < count; ++i) configs.push_back(GemmConfig::of(space.at(random.below(space.size()))));
    for (const GemmConfig& config : configs) {
      CompileTask task = gemm_task(shape, config, arch);
      if (!recipes.insert(task.recipe()).second) continue;
      if (lists) fmt::print("{} {}\n", kind_of(config), config.text().key());
      tasks[kind_of(config)].push_back(std::move(task));
    }
  }
  if (lists) return 0;
  const LibraryCompiler& nvrtc = *find_compiler("nvrtc")->library();
  const TemporaryFolder folder("kernel-compile-times");
  const std::string report = (folder.path() / "times.csv").string();
  times_of(nvrtc, tasks.begin()->second.front(), report);  // Opens the library.
  // One of each kind in turn, so that another process's load meets all of them.
  std::map<std::string, std::vector<Times>> times;
  for (size_t i = 0, left = 1; left > 0; ++i) {
    left = 0;
    for (const auto& [kind, of_kind] : tasks) {
      if (i >= of_kind.size()) continue;
      times[kind].push_back(times_of(nvrtc, of_kind[i], report));
      ++left;
    }
  }
  fmt::print("{:<14} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9} {:>9}\n", "ms", "kernels", "mean", "median", "worst",
             "front end", "optimizer", "assembler");
  std::vector<Times> all;
  for (const auto& [kind, of_kind] : times) {
    print(kind, of_kind);
    all.insert(all.end(), of_kind.begin(), of_kind.end());
  }
  print("all", all);
  return 0;
}

}  // namespace
}  // namespace attune::jit_cuda

int main(int argc, char** argv) {
  const bool lists = argc > 1 && std::string(argv[1]) == "--list";
  const int at = lists ? 2 : 1;
  const long count = at < argc ? std::strtol(argv[at], nullptr, 10) : 100;
  if (count < 1 || argc > at + 2) {
    fmt::print(stderr, "usage: attune_kernel_compile_times [--list] [CONFIGS [ARCHITECTURE]]\n");
    return 2;
  }
  try {
    return attune::jit_cuda::run(static_cast<size_t>(count), at + 1 < argc ? argv[at + 1] : "sm_90", lists);
  } catch (const std::exception& error) {
    fmt::print(stderr, "attune_kernel_compile_times: {}\n", error.what());
    return 1;
  }
}
