// SPDX-License-Identifier: MIT
#pragma once
#include <attune/tensor.h>
#include <nanobind/nanobind.h>

#include <list>
#include <span>
#include <string>
#include <vector>

#include "operand.h"

namespace attune::python {

/// The arrays of a call, or those that are packed together: each of exactly the shape and type of its specification,
/// the outputs apart from all others. Construction and destruction require the GIL.
class OperandSet {
 public:
  /// `tensors`: arrays in the order of the specifications, or a dict of them by role. Throws ValueError and TypeError,
  /// naming the array. `whose`: `the problem has`, for messages.
  OperandSet(nanobind::handle tensors, const std::vector<TensorSpec>& specs, CallDevice& call,
             const std::string& whose);

  std::span<void* const> places() const noexcept { return places_; }

 private:
  std::list<std::string> roles_;  ///< Operands keep pointers to them.
  std::list<Operand> operands_;   ///< A list does not move its elements.
  std::vector<void*> places_;
};

}  // namespace attune::python
