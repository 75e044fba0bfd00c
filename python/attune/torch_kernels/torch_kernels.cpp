// SPDX-License-Identifier: MIT
// Kernels for PyTorch's dispatcher that hand products of dense host tensors to Attune. attune/_torch_build.py compiles
// this file against the headers of the PyTorch that runs; product_interface.h has what it may ask of Attune.
//
// Every kernel first asks Attune, and calls the kernel that it replaced where Attune refuses. Those of aten::mm and its
// like lie below autograd, autocast and all transforms, so that these work as before and gradients come from PyTorch's
// formulas. aten::linear has no kernel of its own in PyTorch: it is made of others. It gets one here, which saves the
// parts, wherever nothing but the product is to be done; else it is made of its parts again, which arrive below.
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_addmm_activation_cpu_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mv_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/relu.h>
#include <torch/library.h>

#include <exception>
#include <string>

#include "product_interface.h"
#include "torch_versions.h"

namespace attune::python {
namespace {

const ProductFunctions* functions = nullptr;

/// Set while PyTorch computes a linear layer that Attune refused: its parts are neither asked for nor counted again.
thread_local bool passes_on = false;

class PassOn {
 public:
  PassOn() : before_(passes_on) { passes_on = true; }
  ~PassOn() { passes_on = before_; }
  PassOn(const PassOn&) = delete;
  PassOn& operator=(const PassOn&) = delete;

 private:
  bool before_;
};

/// Numbers of attune::DType.
int32_t dtype_of(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::Float:
      return 1;
    case at::ScalarType::BFloat16:
      return 2;
    case at::ScalarType::Half:
      return 3;
    default:
      return 0;
  }
}

TensorView view_of(const at::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.sizes().data(), tensor.strides().data(), static_cast<int32_t>(tensor.dim()),
          dtype_of(tensor.scalar_type())};
}

/// `bias`: null if there is none. `out`: the caller's, or undefined, and then made.
struct Operands {
  const at::Tensor& x;
  const at::Tensor& w;
  const at::Tensor* bias;
  at::Tensor& out;
  bool w_is_kn;
};

at::Tensor make_out(const at::Tensor& x, int64_t n) {
  c10::SmallVector<int64_t, 5> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = n;
  return at::detail::empty_cpu(sizes, x.scalar_type());
}

at::Tensor copy(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView no_gradient_is_recorded;
  return tensor.clone(at::MemoryFormat::Contiguous);
}

/// Libraries that share OpenMP with PyTorch change its number of threads.
class KeepNumThreads {
 public:
  ~KeepNumThreads() {
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
  }
  const int threads = at::get_num_threads();
};

/// Returns whether Attune has computed the call. Throws where results are required to keep what no kernel does.
bool serve(const Operands& call) {
  if (passes_on) return false;
  if (at::in_parallel_region()) {  // The limit of threads is the process's, not this region's.
    functions->count(Reason::context);
    return false;
  }
  const TensorView none{nullptr, nullptr, nullptr, -1, 0};
  const ProductCall asked{view_of(call.x), view_of(call.w), call.bias != nullptr ? view_of(*call.bias) : none,
                          call.out.defined() ? view_of(call.out) : none, call.w_is_kn};
  PreparedProduct product{};
  if (functions->examine(&asked, &product) != Reason::routed) return false;
  at::Tensor x, bias;
  if (product.copies_x) x = copy(call.x);
  if (product.copies_bias) bias = copy(*call.bias);
  at::Tensor out = call.out.defined() ? call.out : make_out(call.x, product.n);
  const ProductAddresses addresses{product.copies_x ? x.data_ptr() : asked.x.data, asked.w.data,
                                   product.copies_bias ? bias.data_ptr() : asked.bias.data, out.data_ptr()};
  const char* error = nullptr;
  const KeepNumThreads keep;
  const Reason served = functions->run(&product, &addresses, keep.threads, &error);
  TORCH_CHECK(error == nullptr, "attune: ", error);
  if (served == Reason::no_library) return false;
  if (!call.out.defined()) call.out = std::move(out);
  return true;
}

bool adds_a_bias(const at::Scalar& beta, const at::Scalar& alpha) {
  return !beta.isComplex() && !alpha.isComplex() && beta.toDouble() == 1 && alpha.toDouble() == 1;
}

bool serve_addmm(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                 const at::Scalar& alpha, at::Tensor& out) {
  if (adds_a_bias(beta, alpha)) return serve({x, w, &self, out, true});
  if (!passes_on) functions->count(Reason::addend);
  return false;
}

at::Tensor mm(const at::Tensor& x, const at::Tensor& w) {
  at::Tensor out;
  return x.dim() == 2 && serve({x, w, nullptr, out, true}) ? out : at::cpu::mm(x, w);
}

at::Tensor& mm_out(const at::Tensor& x, const at::Tensor& w, at::Tensor& out) {
  return x.dim() == 2 && serve({x, w, nullptr, out, true}) ? out : at::cpu::mm_outf(x, w, out);
}

/// One row: what a linear layer of a vector consists of.
at::Tensor mv(const at::Tensor& w, const at::Tensor& x) {
  at::Tensor out;
  return x.dim() == 1 && serve({x, w, nullptr, out, false}) ? out : at::compositeexplicitautograd::mv(w, x);
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                 const at::Scalar& alpha) {
  at::Tensor out;
  return x.dim() == 2 && serve_addmm(self, x, w, beta, alpha, out) ? out : at::cpu::addmm(self, x, w, beta, alpha);
}

at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
  return x.dim() == 2 && serve_addmm(self, x, w, beta, alpha, out) ? out
                                                                   : at::cpu::addmm_outf(self, x, w, beta, alpha, out);
}

/// What the feed-forward part of PyTorch's fast path calls.
at::Tensor addmm_activation(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                            const at::Scalar& alpha, bool use_gelu) {
  at::Tensor out;
  if (x.dim() != 2 || !serve_addmm(self, x, w, beta, alpha, out))
    return at::cpu::_addmm_activation(self, x, w, beta, alpha, use_gelu);
  return use_gelu ? at::gelu_(out) : at::relu_(out);
}

at::Tensor bmm(const at::Tensor& x, const at::Tensor& w) {
  functions->count(Reason::no_family);
  return at::cpu::bmm(x, w);
}

at::Tensor& bmm_out(const at::Tensor& x, const at::Tensor& w, at::Tensor& out) {
  functions->count(Reason::no_family);
  return at::cpu::bmm_outf(x, w, out);
}

at::Tensor baddbmm(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                   const at::Scalar& alpha) {
  functions->count(Reason::no_family);
  return at::cpu::baddbmm(self, x, w, beta, alpha);
}

const at::Tensor* given(const OptionalTensor& bias) { return bias && bias->defined() ? &*bias : nullptr; }

at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias) {
  at::Tensor out;
  if (serve({x, w, given(bias), out, false})) return out;
  const PassOn parts_are_not_asked_for;
  return at::native::linear(x, w, bias);
}

bool has_tangent(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

/// Whether the product is all there is to do: no gradient, in neither direction, and no mode, subclass or transform
/// below.
bool is_product_alone(c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w, const at::Tensor* bias) {
  const auto below = keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  if (below.highestPriorityTypeId() != c10::DispatchKey::CPU) return false;
  if (at::GradMode::is_enabled() && (x.requires_grad() || w.requires_grad() || (bias && bias->requires_grad())))
    return false;
  return !(has_tangent(x) || has_tangent(w) || (bias && has_tangent(*bias)));
}

at::Tensor linear_above_autograd(c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w,
                                 const OptionalTensor& bias) {
  if (is_product_alone(keys, x, w, given(bias))) return linear(x, w, bias);
  return at::native::linear(x, w, bias);
}

/// Lives as long as the kernels are registered; PyTorch's own are in force again afterwards.
class Registration {
 public:
  Registration() {
    cpu_.impl("linear", TORCH_FN(linear));
    cpu_.impl("mm", TORCH_FN(mm));
    cpu_.impl("mm.out", TORCH_FN(mm_out));
    cpu_.impl("mv", TORCH_FN(mv));
    cpu_.impl("addmm", TORCH_FN(addmm));
    cpu_.impl("addmm.out", TORCH_FN(addmm_out));
    cpu_.impl("_addmm_activation", TORCH_FN(addmm_activation));
    cpu_.impl("bmm", TORCH_FN(bmm));
    cpu_.impl("bmm.out", TORCH_FN(bmm_out));
    cpu_.impl("baddbmm", TORCH_FN(baddbmm));
    autograd_.impl("linear", TORCH_FN(linear_above_autograd));
  }

 private:
  torch::Library cpu_{torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__};
  torch::Library autograd_{torch::Library::IMPL, "aten", c10::DispatchKey::AutogradCPU, __FILE__, __LINE__};
};

Registration* registration = nullptr;  ///< Left alone at the end of the process, when threads may still be in a kernel.
std::string message;

}  // namespace
}  // namespace attune::python

/// Registers the kernels. Returns null, or what failed, valid until the next call. No other thread may be inside
/// PyTorch or either function.
extern "C" __attribute__((visibility("default"))) const char* attune_torch_register(
    const attune::python::ProductFunctions* functions) {
  using namespace attune::python;
  try {
    attune::python::functions = functions;
    const Quiet quiet;
    if (registration == nullptr) registration = new Registration;
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}

extern "C" __attribute__((visibility("default"))) void attune_torch_unregister() {
  delete attune::python::registration;
  attune::python::registration = nullptr;
}
