// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

// What the package's own extension offers to torch_kernels.cpp, which is compiled on the user's machine against the
// headers of the PyTorch that runs there. C++17 without any other header, because PyTorch's version decides the rest.
namespace attune::python {

/// Who computed a call and why. Attune's: routed, untuned. PyTorch's: all others.
enum class Reason : int32_t {
  routed,      ///< A row of a table served it.
  untuned,     ///< Attune served it without a row: something is required of results, or patch() was told to.
  dtype,       ///< Not of one type, or not fp32, bf16 or fp16.
  shape,       ///< No product: sizes that do not fit, no elements, no matrix.
  layout,      ///< Strides that no kernel reads and that are not worth a copy.
  alignment,   ///< Weights or result at no multiple of 16 bytes.
  addend,      ///< A matrix, or a scaled one, is added, not a bias.
  no_family,   ///< An operator that tables have no family for, such as bmm.
  no_library,  ///< No library of this machine supports the problem.
  grad,        ///< A gradient is wanted, and PyTorch's function was replaced in Python.
  context,     ///< Autocast, tracing, a subclass, a transform, or a parallel region of PyTorch.
  settings,    ///< PyTorch's settings ask for other arithmetic than rows have, or several devices are named.
  no_row,      ///< No row serves it. It is captured, for tuning.
  not_ready,   ///< The row's kernel is not compiled.
  stock_row,   ///< The row names PyTorch's own operator: nothing was faster when the shape was tuned.
  count
};

constexpr bool is_attunes(Reason reason) { return reason == Reason::routed || reason == Reason::untuned; }

enum class DeviceKind : int32_t { host, cuda };

/// Where a call's tensors are, and the stream that their work goes to (null on the host).
struct CallPlace {
  DeviceKind kind;
  int32_t index;
  void* stream;
};

/// Numbers of attune::DType, which torch_product.cpp holds them to. `other`: one that has no products here.
namespace type_number {
inline constexpr int32_t other = 0, fp32 = 1, bf16 = 2, fp16 = 3, count = 4;
}

/// A tensor. `dims` < 0: there is none. Strides are in elements.
struct TensorView {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t dims;
  int32_t dtype;  ///< type_number
};

/// out[..., n] = x[..., k] · w (+ bias[n]).
struct ProductCall {
  CallPlace place;
  TensorView x, w, bias, out;
  bool w_is_kn;  ///< w has the shape (k, n), as for mm(); else (n, k), as for linear(). Its strides may say otherwise.
  bool must_be_repeatable;  ///< Only kernels whose results repeat may compute it.
  int32_t threads;          ///< That it may run on, on the host, with the rows for that many. On a GPU without meaning.
};

/// What to run. If `copies_x` or `copies_bias`, the caller passes a contiguous copy in its place.
struct PreparedProduct {
  CallPlace place;
  /// The row's plan, valid until the thread's next call of Attune. Null: Attune computes the call without a row, or
  /// with the one that it finds then.
  const void* plan;
  int64_t m, n, k;
  int32_t dtype;
  uint32_t flags;  ///< attune::GemmKey::Flag
  bool copies_x, copies_bias;
};

struct ProductAddresses {
  void *x, *w, *bias, *out;  ///< `bias` is null without one.
};

/// Functions that any thread may call, with and without the GIL. They throw nothing.
struct ProductFunctions {
  /// Fills in `prepared` if Attune can take the call, and returns Reason::routed; else counts and returns why not. May
  /// change the thread numbers of libraries that PyTorch uses, too, as run() may.
  Reason (*examine)(const ProductCall* call, PreparedProduct* prepared);
  /// Computes the call and counts who served it. `error`: null, or one sentence on what failed, valid until the
  /// thread's next call. Nothing is written where PyTorch is to compute the call (is_attunes() says so).
  Reason (*run)(const PreparedProduct* prepared, const ProductAddresses* addresses, const char** error);
  void (*count)(Reason reason);
  /// Tells run(), of this thread, that the plan which it runs is PyTorch's own operator, which has computed nothing.
  void (*leave_to_stock)();
};

}  // namespace attune::python
