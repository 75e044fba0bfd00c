// SPDX-License-Identifier: MIT
#include "torch/torch_library.h"

#include <dlfcn.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "torch/torch_served.h"
#include "torch/torch_stable_kernels.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// `bias` and `out` are null if there is none.
struct Operands {
  nb::handle x, w, bias, out;
  bool w_is_kn;
  int32_t dims;  ///< As in StableProduct.
};

/// Returns the result, `out` if there is one, or null if PyTorch is to compute the call.
nb::object serve(const Operands& call) {
  if (PassesOn::is_set()) return {};
  const StableTensor x = handle_of(call.x), w = handle_of(call.w);
  const StableTensor bias = call.bias ? handle_of(call.bias) : StableTensor();
  const StableTensor out = call.out ? handle_of(call.out) : StableTensor();
  if (!x || !w || (call.bias && !bias) || (call.out && !out)) {
    count_refused(Reason::context);
    return {};
  }
  Served served = serve(StableProduct{x, w, bias, out, call.w_is_kn, call.dims}, true);
  if (!served.is_computed) return {};
  return call.out ? nb::borrow(call.out) : object_of(std::move(served.made));
}

/// PyTorch's own kernel.
template <typename... Arguments>
nb::object stock(const char* name, Arguments&&... arguments) {
  return pytorch->stock[name](pytorch->keys, std::forward<Arguments>(arguments)...);
}

bool is_one(nb::handle number) {
  const int is_equal = PyObject_RichCompareBool(number.ptr(), nb::int_(1).ptr(), Py_EQ);
  if (is_equal < 0) nb::raise_python_error();
  return is_equal != 0;
}

nb::object serve_addmm(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha, nb::handle out) {
  if (is_one(beta) && is_one(alpha)) return serve({x, w, self, out, true, 2});
  count_refused(Reason::addend);
  return {};
}

nb::object addmm(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha) {
  nb::object out = serve_addmm(self, x, w, beta, alpha, {});
  return out ? out : stock("addmm", self, x, w, "beta"_a = beta, "alpha"_a = alpha);
}

nb::object addmm_out(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha, nb::handle out) {
  nb::object served = serve_addmm(self, x, w, beta, alpha, out);
  return served ? served : stock("addmm.out", self, x, w, "beta"_a = beta, "alpha"_a = alpha, "out"_a = out);
}

/// What the feed-forward part of PyTorch's fast path calls.
nb::object addmm_activation(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha,
                            bool use_gelu) {
  const nb::object out = serve_addmm(self, x, w, beta, alpha, {});
  if (!out) return stock("_addmm_activation", self, x, w, "beta"_a = beta, "alpha"_a = alpha, "use_gelu"_a = use_gelu);
  return use_gelu ? pytorch->gelu_(out) : pytorch->relu_(out);
}

nb::object baddbmm(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha) {
  count_refused(Reason::no_family);
  return stock("baddbmm", self, x, w, "beta"_a = beta, "alpha"_a = alpha);
}

bool wants_gradient(nb::handle tensor) {
  if (tensor.is_none()) return false;
  return nb::cast<bool>(tensor.attr(pytorch->requires_grad));
}

/// Whether the product is all there is to do: no gradient, in neither direction, and no mode, subclass or transform
/// below.
bool is_product_alone(nb::handle keys, nb::handle x, nb::handle w, nb::handle bias) {
  const auto number = nb::cast<uint64_t>(keys.attr(pytorch->raw_repr)());
  if (std::ranges::find(pytorch->plain_keys, number) == pytorch->plain_keys.end()) return false;
  if (nb::cast<int>(pytorch->forward_mode.attr("_current_level")) >= 0) return false;
  return !pytorch->abi.grad_mode_is_enabled() || !(wants_gradient(x) || wants_gradient(w) || wants_gradient(bias));
}

/// For the keys CPU and AutogradCPU: saves the parts that PyTorch makes a linear layer of, where nothing but the
/// product is to be done. Else the layer is made of them, and they arrive below.
nb::object linear(nb::handle keys, nb::handle x, nb::handle w, nb::handle bias) {
  if (!is_product_alone(keys, x, w, bias)) return stock("linear", x, w, bias);
  nb::object out = serve({x, w, bias.is_none() ? nb::handle() : bias, {}, false, 0});
  if (out) return out;
  const PassesOn parts_are_not_asked_for;
  return stock("linear", x, w, bias);
}

/// Returns why the kernels cannot be had, or nothing.
std::string open_library_kernels(const std::string& file, const nb::dict& functions, nb::object keys,
                                 const std::array<uint64_t, 3>& plain_keys, nb::dict stock) {
  if (pytorch != nullptr) return "";
  auto found = std::make_unique<PyTorch>();
  void* const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return "PyTorch's library is not loaded: " + file;
  if (const char* missing = found->abi.load(library)) return std::string("PyTorch has no function ") + missing;
  found->pools = ThreadPools(library);
  found->dtypes[type_number::other] = -1;
  found->dtypes[type_number::fp32] = found->abi.dtype_float32();
  found->dtypes[type_number::bf16] = found->abi.dtype_bfloat16();
  found->dtypes[type_number::fp16] = found->abi.dtype_float16();
  found->cpu = found->abi.device_type_cpu();
  found->to_capsule = functions["to_capsule"];
  found->from_capsule = functions["from_capsule"];
  found->get_num_threads = functions["get_num_threads"];
  found->set_num_threads = functions["set_num_threads"];
  found->relu_ = functions["relu_"];
  found->gelu_ = functions["gelu_"];
  found->forward_mode = functions["forward_mode"];
  found->requires_grad = nb::str("requires_grad");
  found->raw_repr = nb::str("raw_repr");
  found->keys = std::move(keys);
  found->plain_keys = plain_keys;
  found->stock = std::move(stock);
  pytorch = found.release();
  return "";
}

}  // namespace

void add_torch_library(nb::module_& module) {
  module.def("open_library_kernels", &open_library_kernels, "file"_a, "functions"_a, "keys"_a, "plain_keys"_a,
             "stock"_a, "Returns why the kernels below cannot be had with this PyTorch, or ''. Once a process.");
  nb::dict kernels;
  const auto add = [&](const char* operator_name, auto* function, auto... arguments) {
    kernels[operator_name] = nb::cpp_function(function, nb::name(operator_name), nb::scope(module), arguments...);
  };
  const auto beta = "beta"_a = 1, alpha = "alpha"_a = 1;
  add("linear", &linear, "keys"_a, "input"_a, "weight"_a, "bias"_a.none() = nb::none());
  add("addmm", &addmm, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha);
  add("addmm.out", &addmm_out, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha, "out"_a);
  add("_addmm_activation", &addmm_activation, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha,
      "use_gelu"_a = false);
  add("baddbmm", &baddbmm, "self"_a, "batch1"_a, "batch2"_a, nb::kw_only(), beta, alpha);
  module.attr("library_kernels") = kernels;
  module.def("register_stable_kernels", &register_stable_kernels,
             "Registers kernels for the other products; returns why not, or ''. PyTorch's own must be in stock.");
  module.def("withdraw_stable_kernels", &withdraw_stable_kernels);
}

}  // namespace attune::python
