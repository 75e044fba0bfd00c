// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <utility>

#include "product_interface.h"
#include "thread_pools.h"
#include "torch/torch_stable_abi.h"

namespace attune::python {

/// What the kernels need of the PyTorch that runs.
struct PyTorch {
  TorchStableAbi abi;
  ThreadPools pools;
  std::array<int32_t, type_number::count> dtypes{};  ///< PyTorch's number of each type_number; no type has `other`'s.
  int32_t cpu = 0;
  /// Of versions without tensor_from_pyobject(): functions of torch._C that exchange a tensor and a capsule with its
  /// handle.
  nanobind::object to_capsule, from_capsule;
  nanobind::object get_num_threads, set_num_threads, relu_, gelu_;
  nanobind::object requires_grad, raw_repr;  ///< Names of attributes.
  nanobind::object forward_mode;  ///< Module whose `_current_level` is not negative while tangents are in use.
  nanobind::object keys;          ///< What a kernel that PyTorch calls for a host tensor is told.
  /// Sets of keys, as numbers, that have nothing but autograd above the kernels for host tensors.
  std::array<uint64_t, 3> plain_keys{};
  nanobind::dict stock;  ///< PyTorch's own kernels, by the name of the operator.
};

/// Null until open_library_kernels(). Left alone at the end of the process, when Python may be gone.
extern PyTorch* pytorch;

/// Rows of more axes are PyTorch's.
inline constexpr int32_t kMaxDims = 8;

/// Owns a tensor's handle; empty: no tensor.
class StableTensor {
 public:
  StableTensor() = default;
  explicit StableTensor(AtenTensorHandle handle) : handle_(handle) {}
  StableTensor(StableTensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  StableTensor& operator=(StableTensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~StableTensor() {
    if (handle_ != nullptr) pytorch->abi.delete_tensor_object(handle_);
  }
  /// An uninitialised, contiguous one of the leading sizes of `like` and one more, `last`. `dtype`: PyTorch's number.
  /// Throws std::runtime_error.
  static StableTensor make(const TensorView& like, int64_t last, int32_t dtype);
  static StableTensor of_dtype_of(const TensorView& like, int64_t last) {
    return make(like, last, pytorch->dtypes[like.dtype]);
  }

  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
  explicit operator bool() const { return handle_ != nullptr; }
  /// The view's dims are -1 where there is none, or PyTorch does not say: it has no memory of its own.
  TensorView view() const;
  int32_t torch_dtype() const;  ///< PyTorch's number.
  /// The same memory as a matrix. Throws std::runtime_error.
  StableTensor as_matrix(const std::array<int64_t, 2>& sizes, const std::array<int64_t, 2>& strides) const;
  /// A contiguous copy. Throws std::runtime_error.
  StableTensor copy(const TensorView& its) const;

 private:
  AtenTensorHandle handle_ = nullptr;
};

/// The GIL must be held for both. Empty if PyTorch refuses, with Python's error cleared.
StableTensor handle_of(nanobind::handle object);
/// Throws if PyTorch refuses.
nanobind::object object_of(StableTensor tensor);

}  // namespace attune::python
