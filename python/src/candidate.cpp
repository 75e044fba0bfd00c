// SPDX-License-Identifier: MIT
#include "candidate.h"

#include <attune/dispatcher.h>

#include <nanobind/stl/string.h>

#include <vector>

#include "capturing.h"
#include "errors.h"
#include "gil.h"
#include "operand_set.h"
#include "packed_operands.h"

namespace nb = nanobind;

namespace attune::python {

void run_problem(const std::string& problem, nb::handle candidate, nb::handle tensors, nb::handle packed) {
  std::string named;
  if (!candidate.is_none() && !nb::try_cast(candidate, named)) fail_type("candidate must be a name or None");
  const PackedOperands* const set = PackedOperands::of(packed);
  if (set == nullptr && !packed.is_none()) fail_type("packed must be the result of pack_operands() or None");
  if (set != nullptr && !candidate.is_none())
    fail_value("packed operands belong to the kernels that tables name, give no candidate with them");
  Dispatcher& dispatcher = Dispatcher::global();
  auto specs = dispatcher.operands(problem);
  if (set != nullptr) std::erase_if(specs, [](const TensorSpec& spec) { return spec.is_packed; });
  const OperandSet operands(tensors, specs,
                            set != nullptr ? "beside those that are packed the problem has" : "the problem has");
  if (!candidate.is_none()) {
    const GilRelease others_run;
    return dispatcher.run_candidate(problem, named, operands.places());
  }
  const Key key = dispatcher.key(problem);
  ShapeCapture::note(key);
  const GilRelease others_run;
  if (set != nullptr)
    dispatcher.run(key, set->weights(), operands.places());
  else
    dispatcher.run(key, operands.places());
}

}  // namespace attune::python
