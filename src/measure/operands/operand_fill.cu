// SPDX-License-Identifier: MIT
// Writes operands of fp32, bf16 and fp16 in the device's memory.
#include "measure/operands/operand_fill_kernel.h"
#include "tensor/fill_element.h"

namespace attune {

extern "C" __global__ void __launch_bounds__(kFillThreads) attune_fill_operand(OperandToFill operand) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < operand.count; i += stride) {
    const uint32_t bits = fill_element(operand.how, operand.start, static_cast<uint64_t>(i));
    if (operand.how.dtype == DType::fp32)
      static_cast<uint32_t*>(operand.data)[i] = bits;
    else
      static_cast<uint16_t*>(operand.data)[i] = static_cast<uint16_t>(bits);
  }
}

}  // namespace attune
