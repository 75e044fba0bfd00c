// SPDX-License-Identifier: MIT
#include "torch/torch_calls.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "torch/torch_product.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// Address, type_number, sizes, strides.
using Description = std::tuple<uintptr_t, int, std::vector<int64_t>, std::vector<int64_t>>;

constexpr CallPlace kHost{DeviceKind::host, 0, nullptr};

void* pointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

TensorView view_of(const Description& tensor) {
  const auto& [address, dtype, sizes, strides] = tensor;
  if (sizes.size() != strides.size()) fail_value("a tensor has as many sizes as strides");
  return {pointer(address), sizes.data(), strides.data(), static_cast<int32_t>(sizes.size()), dtype};
}

/// A product that Python holds between the two calls, in which its thread may compute others.
struct KeptProduct {
  PreparedProduct prepared;
  std::shared_ptr<const Plan> plan;  ///< That of `prepared`.
};

std::optional<KeptProduct> examine_linear(const Description& x, const Description& w,
                                          const std::optional<Description>& bias, int threads) {
  const TensorView none{nullptr, nullptr, nullptr, -1, 0};
  KeptProduct kept;
  const ProductCall call{kHost, view_of(x), view_of(w), bias ? view_of(*bias) : none, none, false, false, threads};
  const GilRelease others_run;  // A plan that is missing may take long to make.
  if (const Reason why = examine(call, kept.prepared); why != Reason::routed) {
    count(why);
    return std::nullopt;
  }
  kept.plan = host_dispatcher().keep({.plan = static_cast<const Plan*>(kept.prepared.plan)});
  return kept;
}

bool run_product(const KeptProduct& kept, uintptr_t x, uintptr_t w, uintptr_t bias, uintptr_t out) {
  const GilRelease others_run;
  return is_attunes(run(kept.prepared, {pointer(x), pointer(w), pointer(bias), pointer(out)}));
}

void count_product(const std::string& reason) {
  for (int32_t i = 0; i < static_cast<int32_t>(Reason::count); ++i) {
    if (reason == name(static_cast<Reason>(i))) return count(static_cast<Reason>(i));
  }
  fail_value("no reason is named " + reason);
}

/// By the names of PyTorch's types.
nb::dict product_types() {
  nb::dict all;
  all["float32"] = type_number::fp32;
  all["bfloat16"] = type_number::bf16;
  all["float16"] = type_number::fp16;
  return all;
}

nb::dict all_counts() {
  const auto now = product_counts();
  nb::dict all;
  for (size_t i = 0; i < now.size(); ++i) all[std::string(name(static_cast<Reason>(i))).c_str()] = now[i];
  return all;
}

}  // namespace

void add_torch_calls(nb::module_& module) {
  nb::class_<KeptProduct>(module, "PreparedProduct", "A product that Attune takes; see examine_linear.")
      .def_prop_ro("copies_x", [](const KeptProduct& kept) { return kept.prepared.copies_x; })
      .def_prop_ro("copies_bias", [](const KeptProduct& kept) { return kept.prepared.copies_bias; });
  module.def(
      "examine_linear", &examine_linear, "x"_a, "w"_a, "bias"_a.none(), "threads"_a,
      "Takes (address, number of product_types, sizes, strides) of each; counts, and returns None, where PyTorch is to "
      "compute the call.");
  module.def("run_product", &run_product, "prepared"_a, "x"_a, "w"_a, "bias"_a, "out"_a,
             "Runs it on addresses (bias 0: none). Returns False where no library supports it.");
  module.def("serve_untuned", &serve_untuned, "serves"_a,
             "Whether libraries of Attune serve the host's calls without a row from now on, or PyTorch.");
  module.attr("product_types") = product_types();
  module.def("count_product", &count_product, "reason"_a);
  module.def("product_counts", &all_counts);
  module.def("captured_stand_ins", &captured_stand_ins, "Calls in captured graphs that kept PyTorch's kernel.");
  module.def("product_functions", [] { return reinterpret_cast<uintptr_t>(&product_functions()); });
}

}  // namespace attune::python
