// SPDX-License-Identifier: MIT
#include "packed_operands.h"

#include <nanobind/stl/string.h>

#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "operand_set.h"

namespace nb = nanobind;

namespace attune::python {

const PackedOperands* PackedOperands::of(nb::handle object) {
  static const nb::handle type = nb::type<PackedOperands>();
  return object.type().is(type) ? nb::inst_ptr<PackedOperands>(object) : nullptr;
}

PackedOperands pack_operands(const std::string& problem, nb::handle tensors, bool per_shape, uint64_t max_bytes) {
  Dispatcher& dispatcher = host_dispatcher();
  auto specs = dispatcher.operands(problem);
  std::erase_if(specs, [](const TensorSpec& spec) { return !spec.is_packed; });
  if (specs.empty()) fail_value("the problem packs no operands, set the attribute that says so (bpreshuffle=1)");
  CallDevice host;
  const OperandSet operands(tensors, specs, host, "the problem packs");
  const std::vector<const void*> plain(operands.places().begin(), operands.places().end());
  const PackOptions options{per_shape ? Packing::per_shape : Packing::one_layout, max_bytes};
  const Key key = dispatcher.key(problem);
  const GilRelease others_run;
  return PackedOperands(dispatcher.pack_weights(key, plain, options));
}

}  // namespace attune::python
