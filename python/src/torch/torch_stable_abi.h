// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune::python {

/// A tensor of PyTorch, by the stable C interface of its libraries.
struct AtenTensorOpaque;
using AtenTensorHandle = AtenTensorOpaque*;
struct TorchLibraryOpaque;
using TorchLibraryHandle = TorchLibraryOpaque*;
/// An argument or a result of an operator: of a tensor, its handle.
using StableIValue = uint64_t;
/// What PyTorch's dispatcher calls. The results go where the arguments were.
using StableKernel = void(StableIValue* stack, uint64_t num_arguments, uint64_t num_results);
/// out = a · b.
using StockProduct = int32_t(AtenTensorHandle out, AtenTensorHandle a, AtenTensorHandle b);

/// out = beta · added + alpha · a · b.
using StockSum = int32_t(AtenTensorHandle out, AtenTensorHandle added, AtenTensorHandle a, AtenTensorHandle b,
                         double beta, double alpha);

/// The functions of PyTorch's stable C interface that kernels without a compiler need, as
/// torch/csrc/inductor/aoti_torch/c/shim.h, torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h and
/// torch/csrc/stable/c/shim.h of PyTorch 2.9 to 2.15 declare them. They are
/// found in the libraries of the PyTorch that runs, so that neither its headers nor a compiler are needed. All return 0
/// if they succeed. A handle that a function makes is its caller's.
struct TorchStableAbi {
  int32_t (*get_data_ptr)(AtenTensorHandle, void** data) = nullptr;
  int32_t (*get_dim)(AtenTensorHandle, int64_t* dims) = nullptr;
  int32_t (*get_sizes)(AtenTensorHandle, int64_t** borrowed) = nullptr;
  int32_t (*get_strides)(AtenTensorHandle, int64_t** borrowed) = nullptr;
  int32_t (*get_dtype)(AtenTensorHandle, int32_t* dtype) = nullptr;
  int32_t (*empty_strided)(int64_t dims, const int64_t* sizes, const int64_t* strides, int32_t dtype,
                           int32_t device_type, int32_t device_index, AtenTensorHandle* made) = nullptr;
  int32_t (*copy_)(AtenTensorHandle to, AtenTensorHandle from, int32_t non_blocking) = nullptr;
  int32_t (*new_tensor_handle)(AtenTensorHandle, AtenTensorHandle* made) = nullptr;
  int32_t (*delete_tensor_object)(AtenTensorHandle) = nullptr;
  int32_t (*library_init_impl)(const char* of, const char* key, const char* file, uint32_t line,
                               TorchLibraryHandle* made) = nullptr;
  int32_t (*library_impl)(TorchLibraryHandle, const char* name, StableKernel*) = nullptr;
  int32_t (*delete_library_object)(TorchLibraryHandle) = nullptr;
  StockProduct *cpu_mm_out = nullptr, *cpu_bmm_out = nullptr;
  StockSum* cpu_addmm_out = nullptr;
  /// The memory of a tensor under other sizes and strides, at an offset in elements.
  int32_t (*reinterpret_tensor)(AtenTensorHandle, int64_t dims, const int64_t* sizes, const int64_t* strides,
                                int64_t offset, AtenTensorHandle* made) = nullptr;
  int32_t (*device_type_cpu)() = nullptr;
  int32_t (*dtype_float32)() = nullptr, (*dtype_bfloat16)() = nullptr, (*dtype_float16)() = nullptr;
  bool (*grad_mode_is_enabled)() = nullptr;
  int32_t (*get_num_threads)(uint32_t*) = nullptr;  ///< Of 2.10 and later; null before.
  /// Of 2.14 and later; null before. The GIL must be held.
  int32_t (*tensor_from_pyobject)(void* object, AtenTensorHandle* made) = nullptr;
  int32_t (*tensor_to_pyobject)(AtenTensorHandle, void* type, void** made) = nullptr;

  /// Finds them in a library that is loaded, or in those it needs. Returns null, or the name of a function that PyTorch
  /// lacks (of those that all versions from 2.9 on have).
  const char* load(void* library);
};

}  // namespace attune::python
