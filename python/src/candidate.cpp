// SPDX-License-Identifier: MIT
#include "candidate.h"

#include <attune/dispatcher.h>

#include <nanobind/stl/string.h>

#include <vector>

#include "capturing.h"
#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "operand_set.h"
#include "packed_operands.h"

namespace nb = nanobind;

namespace attune::python {

void run_problem(const std::string& problem, nb::handle candidate, nb::handle tensors, nb::handle packed,
                 nb::handle stream) {
  std::string named;
  if (!candidate.is_none() && !nb::try_cast(candidate, named)) fail_type("candidate must be a name or None");
  const PackedOperands* const set = PackedOperands::of(packed);
  if (set == nullptr && !packed.is_none()) fail_type("packed must be the result of pack_operands() or None");
  if (set != nullptr && !candidate.is_none())
    fail_value("packed operands belong to the kernels that tables name, give no candidate with them");
  auto specs = host_dispatcher().operands(problem);
  if (set != nullptr) std::erase_if(specs, [](const TensorSpec& spec) { return spec.is_packed; });
  CallDevice call = set != nullptr ? CallDevice() : CallDevice(stream);
  const OperandSet operands(tensors, specs, call,
                            set != nullptr ? "beside those that are packed the problem has" : "the problem has");
  const CallPlace place = call.place();
  Dispatcher& its = dispatcher(place);
  if (!candidate.is_none()) {
    const GilRelease others_run;
    return its.run_candidate(problem, named, operands.places(), place.stream);
  }
  const Key key = its.key(problem);
  ShapeCapture::note(key, limit_of_threads(place, its));
  const GilRelease others_run;
  if (set != nullptr)
    its.run(key, set->weights(), operands.places());
  else
    its.run(key, operands.places(), place.stream);
}

}  // namespace attune::python
