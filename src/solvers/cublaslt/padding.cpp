// SPDX-License-Identifier: MIT
#include "padding.h"

#include <algorithm>
#include <array>

#include "padding_kernels.h"
#include "tensor/kernel_image.h"

namespace attune {

std::span<const KernelImage> padding_kernels();  // padding_kernels.cu

namespace {

constexpr int64_t kMultiple = 8;                // Elements of 16 bits in 16 bytes.
constexpr uint64_t kCopyAlignment = 256;        // Of each copy.
constexpr uint64_t kMaxCopyBytes = 1ull << 30;  // Of one; a stream of a plan has its own.
constexpr uint64_t kUnit = 2;                   // Bytes, see RowCopy.
constexpr uint32_t kMaxCopyBlocks = 132 * 16;   // Enough to fill any GPU; threads take several vectors.

int64_t rounded_up(int64_t extent) { return (extent + kMultiple - 1) / kMultiple * kMultiple; }

uint64_t matrix_bytes(int64_t rows, int64_t columns, DType dtype) {
  return static_cast<uint64_t>(rows) * static_cast<uint64_t>(columns) * static_cast<uint64_t>(bits(dtype)) / 8;
}

}  // namespace

std::optional<Padding> Padding::of(const GemmShape& shape) {
  if (shape.in != DType::bf16 && shape.in != DType::fp16) return std::nullopt;
  Padding padding;
  padding.shape_ = padding.padded_ = shape;
  GemmShape& padded = padding.padded_;
  padded.k = rounded_up(shape.k);
  padded.n = rounded_up(shape.n);
  if (shape.trans_a) padded.m = rounded_up(shape.m);
  // Plain weights whose rows are fine stay where they are, and so do the activations.
  const bool has_tail =
      padded.k == shape.k && padded.n != shape.n && padded.m == shape.m && !shape.b_is_kn && shape.n > kMultiple;
  if (has_tail) padded.n -= kMultiple;
  if (!padding.copies_a() && !padding.copies_b() && !padding.copies_c()) return std::nullopt;
  bool fits = true;
  const auto place = [&](bool is_copied, int64_t rows, int64_t columns, DType dtype) {
    const uint64_t at = padding.bytes_, bytes = matrix_bytes(rows, columns, dtype);
    if (!is_copied) return at;
    fits = fits && bytes <= kMaxCopyBytes;
    padding.bytes_ += (bytes + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
    return at;
  };
  padding.a_at_ = place(padding.copies_a(), padded.m, padded.k, shape.in);
  padding.b_at_ = place(padding.copies_b(), padded.k, padded.n, shape.in);
  padding.bias_at_ = place(padding.copies_bias(), 1, padded.n, shape.in);
  padding.c_at_ = place(padding.copies_c(), padded.m, padded.n, shape.out);
  fits = fits && matrix_bytes(shape.m, shape.n, shape.out) <= kMaxCopyBytes;
  return fits ? std::optional(padding) : std::nullopt;
}

/// Row-major, without gaps.
struct PaddingKernels::Matrix {
  void* data;
  int64_t rows, columns;
};

PaddingKernels::PaddingKernels(const CudaDriver& driver, CUcontext context)
    : module_(driver, context, image_for(padding_kernels(), "cuda")),
      copy_rows_(module_.function("attune_copy_rows")),
      tail_columns_(module_.function("attune_tail_columns")) {}

void PaddingKernels::copy(const Matrix& from, const Matrix& to, uint64_t element_bytes, CUstream stream) const {
  const auto units = [&](int64_t columns) { return static_cast<uint32_t>(columns) * (element_bytes / kUnit); };
  RowCopy copy = {.from = from.data,
                  .to = to.data,
                  .from_length = static_cast<uint32_t>(units(from.columns)),
                  .from_rows = static_cast<uint32_t>(from.rows),
                  .to_length = static_cast<uint32_t>(units(to.columns)),
                  .to_rows = static_cast<uint32_t>(to.rows),
                  .copied_length = static_cast<uint32_t>(units(std::min(from.columns, to.columns)))};
  constexpr uint32_t kUnitsPerBlock = kCopyThreads * kUnitsPerThread;
  const uint32_t blocks = (copy.to_length * copy.to_rows + kUnitsPerBlock - 1) / kUnitsPerBlock;
  const std::array<void*, 1> arguments = {&copy};
  module_.enqueue(copy_rows_, {std::clamp(blocks, 1u, kMaxCopyBlocks), kCopyThreads}, arguments, stream);
}

PaddingKernels::Operands PaddingKernels::begin(const Padding& padding, std::span<void* const> operands,
                                               std::byte* memory, CUstream stream) const {
  const GemmShape &shape = padding.shape_, &padded = padding.padded_;
  const GemmOperands where = GemmOperands::of(shape);
  Operands given{};
  std::ranges::copy(operands, given.begin());
  const auto replace = [&](size_t operand, uint64_t at, std::pair<int64_t, int64_t> extents,
                           std::pair<int64_t, int64_t> padded_extents, bool is_transposed) {
    if (is_transposed) {
      std::swap(extents.first, extents.second);
      std::swap(padded_extents.first, padded_extents.second);
    }
    copy({operands[operand], extents.first, extents.second}, {memory + at, padded_extents.first, padded_extents.second},
         kUnit, stream);
    given[operand] = memory + at;
  };
  if (padding.copies_a()) replace(where.a, padding.a_at_, {shape.m, shape.k}, {padded.m, padded.k}, shape.trans_a);
  if (padding.copies_b()) replace(where.b, padding.b_at_, {shape.n, shape.k}, {padded.n, padded.k}, shape.b_is_kn);
  if (padding.copies_bias()) replace(where.bias, padding.bias_at_, {1, shape.n}, {1, padded.n}, false);
  if (padding.copies_c()) given[where.c] = memory + padding.c_at_;
  return given;
}

void PaddingKernels::finish(const Padding& padding, std::span<void* const> operands, std::byte* memory,
                            CUstream stream) const {
  if (!padding.copies_c()) return;
  const GemmShape &shape = padding.shape_, &padded = padding.padded_;
  const GemmOperands where = GemmOperands::of(shape);
  copy({memory + padding.c_at_, padded.m, padded.n}, {operands[where.c], shape.m, shape.n},
       static_cast<uint64_t>(bits(shape.out)) / 8, stream);
  if (padding.num_tail_columns() == 0) return;
  TailColumns tail = {.a = operands[where.a],
                      .b = operands[where.b],
                      .bias = shape.bias ? operands[where.bias] : nullptr,
                      .c = operands[where.c],
                      .m = shape.m,
                      .n = shape.n,
                      .k = shape.k,
                      .first_column = padded.n,
                      .in = shape.in,
                      .out = shape.out,
                      .act = shape.epilogue.act};
  const std::array<void*, 1> arguments = {&tail};
  module_.enqueue(tail_columns_, {static_cast<uint32_t>((shape.m + kTailRows - 1) / kTailRows), kTailThreads},
                  arguments, stream);
}

}  // namespace attune
