// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>

#include "device/cuda/cuda_kernel_module.h"
#include "ops/gemm/gemm_shape.h"

namespace attune {

/// A product of 16-bit types whose rows are no multiple of 16 bytes, which cuBLASLt's fast kernels refuse, computed as
/// one that they accept. Operands with such rows are copied to longer ones, filled with zeros, and C is copied back. Of
/// plain weights (N×K) only columns that fill a multiple of 8 are given to the library, so that they stay where they
/// are; a kernel of ours computes the others. A value.
class Padding {
 public:
  /// Nothing where all rows are such multiples, where the types are others, and where the copies are too large.
  static std::optional<Padding> of(const GemmShape& shape);

  const GemmShape& padded() const noexcept { return padded_; }  ///< What the library computes.
  uint64_t bytes() const noexcept { return bytes_; }            ///< Memory of all copies.
  int64_t num_tail_columns() const noexcept { return padded_.n < shape_.n ? shape_.n - padded_.n : 0; }
  bool copies_a() const noexcept { return padded_.k != shape_.k || padded_.m != shape_.m; }
  bool copies_b() const noexcept { return padded_.k != shape_.k || padded_.n > shape_.n; }
  bool copies_bias() const noexcept { return shape_.bias && padded_.n > shape_.n; }
  bool copies_c() const noexcept { return padded_.n != shape_.n || padded_.m != shape_.m; }

 private:
  friend class PaddingKernels;
  GemmShape shape_, padded_;
  uint64_t a_at_ = 0, b_at_ = 0, bias_at_ = 0, c_at_ = 0, bytes_ = 0;
};

/// The kernels that copy, loaded on a device, which outlives them.
class PaddingKernels {
 public:
  PaddingKernels(const CudaDriver& driver, CUcontext context);  ///< Throws device.
  /// Operands of a product, in the order of GemmOperands; those behind the last are null.
  using Operands = std::array<void*, 8>;
  /// Enqueues the copies of the inputs to `memory`, and returns the operands of the padded product; nothing is
  /// allocated. The current context is the device's. Throws device.
  Operands begin(const Padding& padding, std::span<void* const> operands, std::byte* memory, CUstream stream) const;
  /// Enqueues what follows the padded product. As begin().
  void finish(const Padding& padding, std::span<void* const> operands, std::byte* memory, CUstream stream) const;

 private:
  struct Matrix;
  void copy(const Matrix& from, const Matrix& to, uint64_t element_bytes, CUstream stream) const;
  CudaKernelModule module_;
  CUfunction copy_rows_, tail_columns_;
};

}  // namespace attune
