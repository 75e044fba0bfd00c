// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "product_interface.h"

// PyTorch's own operators as functions, for the solver torch.gemm of the tuner and of applications (docs/adr/0025). The
// library that is compiled on the user's machine exports attune_torch_operators(). Plain structs, because neither its
// C++ standard nor its ABI of strings has to be Attune's.
namespace attune::python {

/// Changes whenever a struct or the meaning of a function does.
inline constexpr int32_t kOperatorInterface = 1;

/// c[m][n] = a[m][k] · b[n][k]ᵀ (+ bias[n]), all of one type and contiguous.
/// a is stored k×m where `a_is_km` says so, b k×n where `b_is_kn` does.
struct OperatorProblem {
  DeviceKind kind;
  int32_t index;  ///< Of the device among those of its kind.
  int64_t m, n, k;
  int32_t dtype;  ///< type_number
  bool a_is_km, b_is_kn, has_bias;
  int32_t threads;  ///< Number of threads that PyTorch runs on, on a host.
};

/// The functions throw nothing and may be called by one thread of the process at a time. `error`: null, or one
/// sentence, valid until the thread's next call.
struct TorchOperators {
  int32_t interface;    ///< kOperatorInterface. The first member for ever.
  const char* version;  ///< Of PyTorch: `1.13.0`.
  const char* config;   ///< How it was built and what it uses here, as torch.__config__.show() says it.
  const char* file;     ///< Of its library for the CPU.
  /// Returns PyTorch's operator for a problem, which the caller ends; null if PyTorch does not compute it.
  void* (*prepare)(const OperatorProblem* problem, const char** error);
  /// Computes (on a GPU: enqueues on `stream`). Inside a product that PyTorch's dispatcher has handed to Attune nothing
  /// is computed: the dispatcher's kernel is told, and calls the one that it replaced.
  void (*run)(void* product, const ProductAddresses* addresses, void* stream, const char** error);
  void (*end)(void* product);
};

/// Type of attune_torch_operators(), which returns the same object at every call.
using TorchOperatorsFunction = const TorchOperators* (*)();

}  // namespace attune::python
