// SPDX-License-Identifier: MIT
#pragma once
#include <attune/dtype.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "call_device.h"

namespace attune::python {

/// Which types an array may have: fp32, fp16 and bf16, the types of a linear layer, or int8 and narrow floats, too.
enum class ElementTypes : uint8_t { floats, all };

/// A Python array that the library can use: on the device of its call, of one of these types, C-contiguous, aligned to
/// 16 bytes. Nothing is copied. Arrays come through the buffer protocol (NumPy) or DLPack (PyTorch and others), which
/// makes those on a GPU ready for the call's stream; both keep the memory in place while this lives. Types that these
/// do not carry (ml_dtypes, PyTorch's fp8 and fp4) are taken by a view of their bits. Construction and destruction
/// require the GIL.
class Operand {
 public:
  /// Throws ValueError or TypeError, naming the argument, if the library cannot use the array, or it is not on the
  /// device of `call`. `writable`: the array will be written. `bytes`: what an array of uint8 holds, of e2m1 two
  /// elements a byte; nothing: it is refused.
  Operand(const char* role, nanobind::handle array, CallDevice& call, bool writable = false,
          ElementTypes types = ElementTypes::floats, std::optional<DType> bytes = {});
  ~Operand();
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  void* data() const noexcept { return data_; }
  DType dtype() const noexcept { return dtype_; }
  int ndim() const noexcept { return ndim_; }
  int64_t dim(int axis) const noexcept { return shape_[axis]; }
  int64_t elements() const noexcept { return elements_; }  ///< A pair of e2m1 counts as one.
  std::string shape_text() const;                          ///< `(4, 96)`
  /// Returns an uninitialised array of the same kind and type `dtype`, with a last axis of `length`. Throws TypeError
  /// if the array's library is not supported.
  nanobind::object make_out(nanobind::handle array, int64_t length, DType dtype) const;
  bool overlaps(const Operand& other) const noexcept;

 private:
  bool take_buffer(nanobind::handle array, bool writable);
  bool take_view(nanobind::handle array, bool writable);
  nanobind::object dlpack(nanobind::handle array, CallDevice& call) const;
  void take_dlpack(nanobind::handle array, CallDevice& call);
  void refuse_dtype(nanobind::handle array, const std::string& what) const;
  void count_elements();
  void check_layout(const int64_t* strides, int64_t unit, bool writable) const;

  std::optional<DType> accepted(std::optional<DType> dtype) const;
  int64_t num_bytes() const noexcept;

  const char* const role_;
  const ElementTypes types_;
  const std::optional<DType> bytes_;
  void* data_ = nullptr;
  int ndim_ = 0;
  const int64_t* shape_ = nullptr;
  int64_t elements_ = 1;
  DType dtype_ = DType::fp32;
  bool has_buffer_ = false;
  Py_buffer buffer_;
  nanobind::object capsule_;     ///< From DLPack; the producer's function frees it.
  nanobind::object view_;        ///< The bits of an array as unsigned integers.
  std::optional<DType> viewed_;  ///< The type of the array that is viewed.
};

}  // namespace attune::python
