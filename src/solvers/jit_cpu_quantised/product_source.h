// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/binary.h"
#include "solvers/jit_cpu/kernel_text.h"

namespace attune::jit_cpu_quantised {

using jit_cpu::TextWriter;
using jit_cpu::VectorUnit;

/// Vector registers and the instruction that multiplies int8.
struct ByteUnit {
  VectorUnit vectors;
  bool vnni = false;  ///< vpdpbusd on bytes; otherwise int16 and vpmaddwd.

  /// The unit of a device's processor. Zero lanes without AVX2.
  static ByteUnit of(const DeviceInfo& device);
  int lanes() const noexcept { return vectors.lanes; }             ///< int32 sums in a register.
  int in_lane() const noexcept { return vnni ? 4 : 2; }            ///< Elements of K that one lane multiplies.
  int step() const noexcept { return in_lane() * vectors.lanes; }  ///< Elements of K in a vector.
  int element_bytes() const noexcept { return 4 / in_lane(); }     ///< Of an element in a copy or panel.
  bool operator==(const ByteUnit&) const = default;
};

/// dot: vectors along K, b is read in place. tile: vectors across columns of C, b is packed into panels. stream: the
/// same, but b is prepacked, and decoded in registers.
enum class Kernel : uint8_t { dot, tile, stream };
/// Which bytes of b a dot kernel prefetches.
enum class Prefetch : uint8_t {
  off,
  row,  ///< The same rows, 512 bytes further on.
  tile  ///< The next tile's rows.
};

/// What a kernel multiplies.
enum class Engine : uint8_t {
  bytes,  ///< int8, or doubled e2m1 as int8.
  bf16,   ///< Pairs of bf16 (vdpbf16ps), to which vpermi2b decodes fp8.
  fp32    ///< One fp32 a lane.
};

/// The layout of packed e2m1 (attune/tensor.h): K is padded to kPackedK, and a panel's row is kPackedRow bytes: 8
/// elements along K of 16 columns.
inline constexpr const char* kPackedLayout = "host.vnni8x16.v1";
inline constexpr int64_t kPackedK = 128, kPackedRow = 64, kPackedColumns = 16;

/// Compile-time parameters of a kernel. M, N and K are not among them.
struct ProductSpec {
  ByteUnit unit;
  DType in = DType::int8, out = DType::bf16;
  Engine engine = Engine::bytes;
  int group = 0;  ///< Elements of K that share a scale of a row of a; 0: all of K.
  Kernel kernel = Kernel::dot;
  int rows = 1;    ///< Rows of a in the register block.
  int width = 1;   ///< dot: rows of b. tile: vectors of columns.
  int unroll = 1;  ///< dot: vectors of K in the loop, each with its own sums.
  Prefetch prefetch = Prefetch::off;
  int ahead = 0;           ///< Bytes of a row, or panel, of b by which a kernel of fp8 and e2m1 prefetches; 0: not.
  bool is_packed = false;  ///< b is e2m1 in kPackedLayout, for vectors of 16 lanes.

  int columns() const noexcept { return kernel == Kernel::dot ? width : width * unit.lanes(); }
  /// Elements of K that one lane multiplies.
  int in_lane() const noexcept {
    if (in == DType::int8) return unit.in_lane();
    return engine == Engine::bytes ? 4 : engine == Engine::bf16 ? 2 : 1;
  }
  bool packs_scales() const noexcept { return in == DType::e2m1 && kernel != Kernel::dot; }
  /// Whether vectors along K multiply e2m1 in place. A vector of stored b is two of bytes, and four of a's copy: the
  /// low halves, the high halves, where the sums start, and the scales.
  bool is_dot_of_e2m1() const noexcept { return in == DType::e2m1 && kernel == Kernel::dot; }
  /// Of an element in a copy or panel.
  int element_bytes() const noexcept { return is_dot_of_e2m1() ? 2 : 4 / in_lane(); }
  /// Elements of K in a vector that is loaded.
  int step() const noexcept { return in == DType::int8 ? unit.step() : 32 * unit.lanes() / bits(in); }
};

/// Exports `product`, `copy_row` and `finish`, for a tile kernel `pack`, for e2m1 `pack_scales` (product_arguments.h).
CompileTask product_task(const ProductSpec& spec);

/// Text of `product` and, for a tile, `pack`. They use what product_task() writes first: `vi` (vectors of unsigned
/// lanes), `viu` (at any address), `a_t`, `kStep`, load_b(), load_rest() and multiply_add().
std::string dot_text(const ProductSpec& spec);
std::string tile_text(const ProductSpec& spec);
/// Text of `product`, `pack`, `copy_row` and, for e2m1, `pack_scales`, of tile kernels for fp8 and e2m1.
std::string float_text(const ProductSpec& spec);

}  // namespace attune::jit_cpu_quantised
