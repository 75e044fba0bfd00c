// SPDX-License-Identifier: MIT
#include "accelerator_kernels.h"

#include <array>
#include <cstring>
#include <string_view>

#include "accelerator_device.h"
#include "base/error.h"
#include "measure/comparison/comparison_kernel.h"
#include "measure/operands/operand_fill_kernel.h"
#include "ops/gemm/gemm_reference.h"
#include "ops/gemm/gemm_reference_kernel.h"
#include "tensor/convert.h"
#include "tensor/random_fill.h"

namespace attune::toys {
namespace {

using Arguments = std::span<void* const>;

template <typename Value>
Value value_of(Arguments arguments, size_t index) {
  Value value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

/// `attune_gemm_reference` of ops/gemm/gemm_reference_kernel.h.
void gemm_reference(Accelerator& device, const LaunchGrid&, Arguments arguments) {
  const auto inputs = value_of<KernelInputs>(arguments, 0);
  const auto problem = value_of<GemmReferenceProblem>(arguments, 3);
  const GemmShape& shape = problem.shape;
  const GemmOperands& where = problem.where;
  HostTensors tensors;
  tensors.operands.resize(where.c + 1);
  const auto place = [&](bool is_there, size_t index, DType dtype, int64_t count) {
    if (!is_there) return;
    const auto bytes = static_cast<uint64_t>(count) * static_cast<uint64_t>(bits(dtype)) / 8;
    tensors.operands[index] = {device.reach(inputs.data[index], bytes), bytes};
  };
  place(true, where.a, shape.in, shape.m * shape.k);
  place(true, where.b, shape.in, shape.n * shape.k);
  place(shape.bias, where.bias, shape.in, shape.n);
  place(shape.epilogue.beta != Factor::zero, where.residual, shape.out, shape.m * shape.n);
  place(shape.epilogue.alpha == Factor::any, where.alpha, DType::fp32, 1);
  place(shape.epilogue.beta == Factor::any, where.beta, DType::fp32, 1);
  place(shape.epilogue.out_scale, where.out_scale, DType::fp32, 1);
  const auto numbers = [&](size_t index) {
    const auto count = static_cast<size_t>(shape.m * shape.n);
    std::byte* const begin = device.reach(value_of<double*>(arguments, index), count * sizeof(double));
    return std::span(reinterpret_cast<double*>(begin), count);
  };
  fast_gemm(shape, tensors, {{0, shape.m}, {0, shape.n}, numbers(1), numbers(2)});
}

/// `attune_compare` of measure/comparison/comparison_kernel.h: a part for each block, whose threads take elements in
/// turn.
void compare(Accelerator& device, const LaunchGrid& grid, Arguments arguments) {
  const auto input = value_of<ComparisonInput>(arguments, 0);
  const auto count = static_cast<size_t>(input.count);
  const auto numbers = [&](const double* address) {
    return reinterpret_cast<const double*>(device.reach(address, count * sizeof(double)));
  };
  const double* const values = numbers(input.values);
  const double* const scales = numbers(input.scales);
  std::vector<double> got(count);
  to_double(input.dtype, device.reach(input.got, count * static_cast<uint64_t>(bits(input.dtype)) / 8), got);
  const int64_t stride = int64_t{grid.blocks} * grid.threads;
  auto* const parts = reinterpret_cast<ComparisonPart*>(
      device.reach(value_of<ComparisonPart*>(arguments, 1), grid.blocks * sizeof(ComparisonPart)));
  for (uint32_t block = 0; block < grid.blocks; ++block) {
    ComparisonPart all{};
    for (uint32_t thread = 0; thread < grid.threads; ++thread) {
      ComparisonPart own{};
      for (int64_t i = int64_t{block} * grid.threads + thread; i < input.count; i += stride)
        add(own, input.bounds, i, got[static_cast<size_t>(i)], values[i], scales[i]);
      add(all, own);
    }
    parts[block] = all;
  }
}

/// `attune_fill_operand` of measure/operands/operand_fill_kernel.h.
void fill_operand(Accelerator& device, const LaunchGrid&, Arguments arguments) {
  const auto operand = value_of<OperandToFill>(arguments, 0);
  const auto bytes = static_cast<uint64_t>(operand.count) * static_cast<uint64_t>(bits(operand.how.dtype)) / 8;
  fill_tensor(operand.how, {device.reach(operand.data, bytes), bytes});
}

/// What an image is: a name and its code.
struct Code {
  std::string_view name;
  void (*run)(Accelerator& device, const LaunchGrid& grid, Arguments arguments);
};
constexpr Code kReference = {"attune_gemm_reference", gemm_reference}, kCompare = {"attune_compare", compare},
               kFill = {"attune_fill_operand", fill_operand};
constexpr std::array kKernels = {KindKernel{kReference.name, &kReference}, KindKernel{kCompare.name, &kCompare},
                                 KindKernel{kFill.name, &kFill}};

class AcceleratorKernel final : public KernelModule {
 public:
  AcceleratorKernel(Accelerator& device, const Code& code) : device_(device), code_(code) {}
  void run(const char* kernel, const LaunchGrid& grid, Arguments arguments) override {
    if (code_.name != kernel) fail(ErrorCode::device, "the image has no such kernel: '{}'", kernel);
    device_.synchronize();
    device_.enqueue(nullptr, 0, [&] { code_.run(device_, grid, arguments); });
  }

 private:
  Accelerator& device_;
  const Code& code_;
};

}  // namespace

std::span<const KindKernel> accelerator_kernels() { return kKernels; }

std::unique_ptr<KernelModule> load_accelerator_kernel(Accelerator& device, const void* image) {
  return std::make_unique<AcceleratorKernel>(device, *static_cast<const Code*>(image));
}

}  // namespace attune::toys
