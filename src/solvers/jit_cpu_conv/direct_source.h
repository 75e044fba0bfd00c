// SPDX-License-Identifier: MIT
#pragma once
#include "core/binary.h"
#include "core/device_info.h"

namespace attune::jit_cpu_conv {

// The generated C declares the same struct with the same members in the same order: change both.

/// One call of the kernel: a block of `channels` × `vectors` of one row of the output. Steps count floats.
struct DirectArguments {
  const float* input;    ///< The first channel at the block's first position, for tap offset 0.
  long plane;            ///< From one channel of the input to the next.
  const long* offsets;   ///< Of each tap.
  long taps, inputs;     ///< Taps, and channels of the input.
  const float* weights;  ///< [channel of the output][channel of the input][tap]
  float* output;
  long output_plane;   ///< From one channel of the output to the next.
  long first_channel;  ///< Channels before it are not written: another block writes them.
  long columns;        ///< Columns that are written.
};
using DirectKernel = void (*)(const DirectArguments*);

/// Compile-time parameters of a kernel.
struct DirectSpec {
  int lanes = 0;  ///< Floats in a vector: 8 with AVX2, 16 with AVX-512; 0: none of these.
  int channels = 1, vectors = 1;

  int columns() const noexcept { return lanes * vectors; }
  /// Whether the sums, a row of vectors and a broadcast fit the registers.
  bool fits() const noexcept { return channels * vectors + vectors + 1 <= (lanes == 16 ? 32 : 16); }
};

/// Floats in a vector of a processor.
int lanes_of(const DeviceInfo& device);
/// Exports `direct` (DirectKernel).
CompileTask direct_task(const DirectSpec& spec);

}  // namespace attune::jit_cpu_conv
