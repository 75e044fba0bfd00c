// SPDX-License-Identifier: MIT
#pragma once
#include "attune/dtype.h"
#include "attune/problem.h"

namespace attune {

/// The work of a table's row as the older tuners count it, from which the cells `tflops` and `bw` follow. Their bytes
/// are a convention and no measure: a bf16 product counts two bytes for every element of any type, a mixture of
/// experts the weights of all experts.
struct CountedWork {
  double flops = 0, bytes = 0;
  double least_bytes = 0;          ///< Bytes that any kernel must move: a lower bound of the true ones.
  DType arithmetic = DType::fp32;  ///< Type in which the operands are multiplied (Work::arithmetic).
};

/// Products of M×K and N×K, `batch` of them if the family has that attribute; FamilySpec::counted_work. Sources: the
/// tuners of ROCm/aiter (base_tuner.py, `bpes` of each). Throw nothing; a size that is no number counts as 0.
CountedWork counted_16bit_product(const Problem& problem);  ///< 2, 2 and 2 bytes an element, in `dtype`.
CountedWork counted_8bit_product(const Problem& problem);   ///< 1, 1 and 2 bytes.
CountedWork counted_4bit_product(const Problem& problem);   ///< ½, ½ and 2 bytes.
/// A mixture of experts in two stages (gemm_moe_tune.py). A value of packed 4-bit floats counts as a whole byte there.
CountedWork counted_experts(const Problem& problem);

}  // namespace attune
