// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "torch/torch_stable_tensor.h"

namespace attune::python {

/// A product of tensors. `bias` and `out` are empty if there is none.
struct StableProduct {
  const StableTensor &x, &w, &bias, &out;
  bool w_is_kn;
  int32_t dims;  ///< That x has, else PyTorch says what is wrong; 0: any number.
};

/// Whether the product is computed: by Attune, or by PyTorch's own kernel where only a row was missing. What it returns
/// is empty if it has written the caller's `out`.
struct Served {
  bool is_computed;
  StableTensor made;
};

/// Asks the one place that decides (torch_product.h). With and without the GIL: `has_gil` says which, and it is free
/// meanwhile. Throws attune::Error where results are required to keep what no kernel does.
Served serve(const StableProduct& call, bool has_gil);

/// Set, in this thread, while PyTorch computes a linear layer that Attune refused: its parts are neither asked for nor
/// counted again.
class PassesOn {
 public:
  PassesOn() : before_(std::exchange(is_set_, true)) {}
  ~PassesOn() { is_set_ = before_; }
  PassesOn(const PassesOn&) = delete;
  PassesOn& operator=(const PassesOn&) = delete;
  static bool is_set() { return is_set_; }

 private:
  static thread_local bool is_set_;
  bool before_;
};

/// Counts a call of PyTorch's, unless it is a part of one that was counted.
void count_refused(Reason why);

}  // namespace attune::python
