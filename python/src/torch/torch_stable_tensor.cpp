// SPDX-License-Identifier: MIT
#include "torch/torch_stable_tensor.h"

#include <algorithm>
#include <stdexcept>

namespace nb = nanobind;

namespace attune::python {

PyTorch* pytorch = nullptr;

StableTensor StableTensor::make(const TensorView& like, int64_t last, int32_t dtype) {
  std::array<int64_t, kMaxDims> sizes{}, strides{};
  std::copy_n(like.sizes, like.dims, sizes.begin());
  sizes[like.dims - 1] = last;
  strides[like.dims - 1] = 1;
  for (int32_t axis = like.dims - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * sizes[axis];
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.empty_strided(like.dims, sizes.data(), strides.data(), dtype, pytorch->cpu, 0, &made) != 0)
    throw std::runtime_error("attune: PyTorch has no memory for a tensor");
  return StableTensor(made);
}

StableTensor StableTensor::copy(const TensorView& its) const {
  StableTensor made = of_dtype_of(its, its.sizes[its.dims - 1]);
  if (pytorch->abi.copy_(made.get(), handle_, 0) != 0)
    throw std::runtime_error("attune: PyTorch does not copy a tensor");
  return made;
}

StableTensor StableTensor::as_matrix(const std::array<int64_t, 2>& sizes, const std::array<int64_t, 2>& strides) const {
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.reinterpret_tensor(handle_, 2, sizes.data(), strides.data(), 0, &made) != 0)
    throw std::runtime_error("attune: PyTorch makes no matrix of a tensor");
  return StableTensor(made);
}

int32_t StableTensor::torch_dtype() const {
  int32_t dtype = -1;
  return pytorch->abi.get_dtype(handle_, &dtype) == 0 ? dtype : -1;
}

TensorView StableTensor::view() const {
  const TensorView none{nullptr, nullptr, nullptr, -1, 0};
  if (handle_ == nullptr) return none;
  TensorView seen = none;
  int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
  const TorchStableAbi& abi = pytorch->abi;
  if (abi.get_data_ptr(handle_, &seen.data) != 0 || abi.get_dim(handle_, &dims) != 0 ||
      abi.get_sizes(handle_, &sizes) != 0 || abi.get_strides(handle_, &strides) != 0)
    return none;
  const int32_t dtype = torch_dtype();
  for (size_t number = 0; number < pytorch->dtypes.size(); ++number) {
    if (pytorch->dtypes[number] == dtype) seen.dtype = static_cast<int32_t>(number);
  }
  seen.sizes = sizes;
  seen.strides = strides;
  seen.dims = static_cast<int32_t>(dims);
  return seen;
}

StableTensor handle_of(nb::handle object) {
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.tensor_from_pyobject != nullptr)
    return pytorch->abi.tensor_from_pyobject(object.ptr(), &made) == 0 ? StableTensor(made) : StableTensor();
  try {
    const nb::object capsule = pytorch->to_capsule(object);
    made = static_cast<AtenTensorHandle>(PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
    if (made == nullptr) PyErr_Clear();
  } catch (const nb::python_error&) {  // Which takes Python's error with it.
  }
  return StableTensor(made);
}

nb::object object_of(StableTensor tensor) {
  if (pytorch->abi.tensor_to_pyobject != nullptr) {
    void* made = nullptr;
    if (pytorch->abi.tensor_to_pyobject(tensor.get(), nullptr, &made) != 0)
      throw std::runtime_error("attune: PyTorch does not return its tensor");
    return nb::steal(static_cast<PyObject*>(made));
  }
  // Takes the handle over.
  return pytorch->from_capsule(nb::steal(PyCapsule_New(tensor.release(), nullptr, nullptr)));
}

}  // namespace attune::python
