// SPDX-License-Identifier: MIT
#include "cli/flags/kernel_flag.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "compile/triton/user_kernel_folder.h"
#include "device/devices.h"
#include "solver/registry.h"

namespace attune {
namespace {

constexpr std::string_view kOwnKernels = "triton.own_gemm";

void check_has_gpu(const std::string& devices) {
  const bool has_gpu = devices.empty() ? !list_devices("cuda:0").empty() : devices.find("cuda") != devices.npos;
  if (!has_gpu)
    fail(ErrorCode::invalid_input, "--kernel needs an NVIDIA GPU to tune on, and {}",
         devices.empty() ? "none is here" : "--devices names none: '" + shown(devices) + "'");
}

void use_kernels(const std::vector<std::string>& places, const std::string* devices) {
  const auto entries = registry().entries();
  if (std::ranges::find(entries, kOwnKernels, &SolverEntry::id) == entries.end())
    fail(ErrorCode::invalid_input, "--kernel needs the solver {}, which this build lacks: build with the CUDA toolkit",
         kOwnKernels);
  if (devices != nullptr) check_has_gpu(*devices);  // Before Triton is asked for: installing it would not help.
  std::vector<UserKernel> kernels;
  try {
    for (const std::string& place : places) kernels.push_back(describe_user_kernel(place));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unavailable) throw;
    fail(ErrorCode::invalid_input, "--kernel needs Triton, {}", error.what());  // Another --python is the remedy.
  }
  std::vector<std::string> names;
  for (const UserKernel& kernel : kernels) names.push_back(store_user_kernel(kernel));
  ::setenv(kUserKernelsVariable, join(names, ",").c_str(), 1);
}

}  // namespace

void add_kernel_flag(CLI::App& command, const std::string* devices) {
  command
      .add_option_function<std::vector<std::string>>(
          "--kernel", [devices](const std::vector<std::string>& places) { use_kernels(places, devices); },
          "Your own Triton GEMM, a @triton.jit function in a Python file: its configs are tried beside the libraries")
      ->type_name("FILE:FUNCTION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace attune
