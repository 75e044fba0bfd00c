// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace attune::experiments {

/// Returns what the processor's widest unit for a type ("fp32" or "bf16") does on `num_threads` threads at once, in
/// GFLOP/s: independent multiply-adds on registers, at the clock that the processor keeps under that load. Of bf16
/// these are AMX tiles where the processor has them, else AVX512-BF16 pairs; without either, and for other types, 0.
/// Takes about 0.2 s.
double measured_peak_gflops(std::string_view dtype, int num_threads);

}  // namespace attune::experiments
