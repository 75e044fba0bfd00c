// SPDX-License-Identifier: MIT
#include "measure/operands/device_fill.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "device/device_kind.h"
#include "measure/operands/operand_fill_kernel.h"
#include "tensor/kernel_dtype.h"
#include "tensor/random_fill.h"

namespace attune {

std::span<const KernelImage> operand_fill_kernels();  // operand_fill.cu

namespace {

constexpr const char* kFillKernel = "attune_fill_operand";
constexpr int64_t kFillBlocksPerUnit = 8;

}  // namespace

std::unique_ptr<DeviceFill> DeviceFill::open(Device& device, const Op& op, const Problem& problem) {
  const OpKernels* const kernels = op.kernels();
  const void* const image = kernel_image(operand_fill_kernels(), kFillKernel, device.info().kind);
  if (kernels == nullptr || image == nullptr) return nullptr;
  const auto fills = kernels->fills(problem, Distribution::normal, 0);
  if (fills.empty() || !std::ranges::all_of(fills, is_kernel_dtype, &TensorFill::dtype)) return nullptr;
  auto loaded = device.load(image);
  if (!loaded) return nullptr;
  return std::unique_ptr<DeviceFill>(new DeviceFill(device, *kernels, problem, std::move(loaded)));
}

void DeviceFill::fill(Distribution distribution, uint64_t seed, std::span<const Buffer> inputs) {
  const auto fills = kernels_.fills(problem_, distribution, seed);
  ATTUNE_CHECK(fills.size() == inputs.size(), "{} inputs, {} of them filled", inputs.size(), fills.size());
  for (size_t i = 0; i < fills.size(); ++i) fill(fills[i], inputs[i]);
}

void DeviceFill::fill(const TensorFill& how, const Buffer& input) {
  OperandToFill operand = {.data = input.data,
                           .count = static_cast<int64_t>(input.bytes) * 8 / bits(how.dtype),
                           .how = how,
                           .start = fill_start(how.seed)};
  const int64_t max = std::max<int64_t>(1, device_.info().num_units * kFillBlocksPerUnit);
  const int64_t blocks = std::clamp<int64_t>((operand.count + kFillThreads - 1) / kFillThreads, 1, max);
  const std::array<void*, 1> arguments = {&operand};
  loaded_->run(kFillKernel, {static_cast<uint32_t>(blocks), kFillThreads}, arguments);
}

}  // namespace attune
