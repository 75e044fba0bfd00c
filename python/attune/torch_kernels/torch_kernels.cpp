// SPDX-License-Identifier: MIT
// Kernels for PyTorch's dispatcher that hand products of dense tensors to Attune. attune/_torch_build.py compiles
// this file against the headers of the PyTorch that runs; product_interface.h has what it may ask of Attune.
//
// Every kernel first asks Attune, and calls the kernel that it replaced where Attune refuses. Those of aten::mm and its
// like lie below autograd, autocast and all transforms, so that these work as before and gradients come from PyTorch's
// formulas. aten::linear has no kernel of its own in PyTorch: it is made of others. It gets one here, which saves the
// parts, wherever nothing but the product is to be done; else it is made of its parts again, which arrive below.
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/mv_compositeexplicitautograd_dispatch.h>
#include <ATen/ops/relu.h>
#include <torch/library.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>

#include "counted_product.h"
#include "product_interface.h"
#include "quantised_products.h"
#include "stock_kernels.h"
#include "stock_products.h"
#include "torch_versions.h"

namespace attune::python {
namespace {

/// Set while PyTorch computes a linear layer that Attune refused: its parts are neither asked for nor counted again.
thread_local bool passes_on = false;

/// Set while Attune runs the plan of a call that arrived here, and PyTorch's own kernel is at hand.
thread_local bool is_asking = false;

/// Sets one of these flags while it lives.
class Raised {
 public:
  explicit Raised(bool& flag) : flag_(flag), before_(flag) { flag = true; }
  ~Raised() { flag_ = before_; }
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;

 private:
  bool& flag_;
  bool before_;
};

int32_t dtype_of(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::Float:
      return type_number::fp32;
    case at::ScalarType::BFloat16:
      return type_number::bf16;
    case at::ScalarType::Half:
      return type_number::fp16;
    default:
      return type_number::other;
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

template <typename Stock>
at::Tensor make_out(const at::Tensor& x, int64_t n) {
  c10::SmallVector<int64_t, 5> sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = n;
  return Stock::empty(sizes, x);
}

at::Tensor copy(const at::Tensor& tensor) {
  const at::AutoDispatchBelowADInplaceOrView no_gradient_is_recorded;
  return tensor.clone(at::MemoryFormat::Contiguous);
}

/// Returns whether Attune has computed the call. Throws where results are required to keep what no kernel does.
template <typename Stock>
bool serve(const Operands& call) {
  if (passes_on) return false;
  if (const Reason why = Stock::objection(call.x, call.w, call.bias, call.out); why != Reason::routed) {
    functions->count(why);
    return false;
  }
  const TensorView none{nullptr, nullptr, nullptr, -1, 0};
  const typename Stock::Threads keep;
  const ProductCall asked{Stock::place_of(call.x),
                          view_of(call.x),
                          view_of(call.w),
                          call.bias != nullptr ? view_of(*call.bias) : none,
                          call.out.defined() ? view_of(call.out) : none,
                          call.w_is_kn,
                          Stock::wants_repeatable(),
                          keep.number};
  PreparedProduct product{};
  if (functions->examine(&asked, &product) != Reason::routed) return false;
  Stock::prepare_thread(call.x);
  at::Tensor x, bias;
  if (product.copies_x) x = copy(call.x);
  if (product.copies_bias) bias = copy(*call.bias);
  at::Tensor out = call.out.defined() ? call.out : make_out<Stock>(call.x, product.n);
  const ProductAddresses addresses{product.copies_x ? x.data_ptr() : asked.x.data, asked.w.data,
                                   product.copies_bias ? bias.data_ptr() : asked.bias.data, out.data_ptr()};
  const char* error = nullptr;
  const Raised asking(is_asking);
  const Reason served = functions->run(&product, &addresses, &error);
  TORCH_CHECK(error == nullptr, "attune: ", error);
  if (!is_attunes(served)) return false;
  if (!call.out.defined()) call.out = std::move(out);
  return true;
}

bool adds_a_bias(const at::Scalar& beta, const at::Scalar& alpha) {
  return !beta.isComplex() && !alpha.isComplex() && beta.toDouble() == 1 && alpha.toDouble() == 1;
}

template <typename Stock>
bool serve_addmm(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                 const at::Scalar& alpha, at::Tensor& out) {
  if (adds_a_bias(beta, alpha)) return serve<Stock>({x, w, &self, out, true});
  if (!passes_on) functions->count(Reason::addend);
  return false;
}

template <typename Stock>
at::Tensor mm(const at::Tensor& x, const at::Tensor& w) {
  at::Tensor out;
  return x.dim() == 2 && serve<Stock>({x, w, nullptr, out, true}) ? out : Stock::mm(x, w);
}

template <typename Stock>
at::Tensor& mm_out(const at::Tensor& x, const at::Tensor& w, at::Tensor& out) {
  return x.dim() == 2 && serve<Stock>({x, w, nullptr, out, true}) ? out : Stock::mm_outf(x, w, out);
}

/// One row: what a linear layer of a vector consists of.
template <typename Stock>
at::Tensor mv(const at::Tensor& w, const at::Tensor& x) {
  at::Tensor out;
  return x.dim() == 1 && serve<Stock>({x, w, nullptr, out, false}) ? out : at::compositeexplicitautograd::mv(w, x);
}

template <typename Stock>
at::Tensor addmm(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                 const at::Scalar& alpha) {
  at::Tensor out;
  return x.dim() == 2 && serve_addmm<Stock>(self, x, w, beta, alpha, out) ? out : Stock::addmm(self, x, w, beta, alpha);
}

template <typename Stock>
at::Tensor& addmm_out(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
  return x.dim() == 2 && serve_addmm<Stock>(self, x, w, beta, alpha, out)
             ? out
             : Stock::addmm_outf(self, x, w, beta, alpha, out);
}

/// What the feed-forward part of PyTorch's fast path calls.
template <typename Stock>
at::Tensor addmm_activation(const at::Tensor& self, const at::Tensor& x, const at::Tensor& w, const at::Scalar& beta,
                            const at::Scalar& alpha, bool use_gelu) {
  if constexpr (Stock::kFusesActivations) {  // One launch, where a product and an activation are two.
    functions->count(Reason::no_family);
    return Stock::_addmm_activation(self, x, w, beta, alpha, use_gelu);
  }
  at::Tensor out;
  if (x.dim() != 2 || !serve_addmm<Stock>(self, x, w, beta, alpha, out))
    return Stock::_addmm_activation(self, x, w, beta, alpha, use_gelu);
  return use_gelu ? at::gelu_(out) : at::relu_(out);
}

const at::Tensor* given(const OptionalTensor& bias) { return bias && bias->defined() ? &*bias : nullptr; }

template <typename Stock>
at::Tensor linear(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias) {
  at::Tensor out;
  if (serve<Stock>({x, w, given(bias), out, false})) return out;
  const Raised parts_are_not_asked_for(passes_on);
  return at::native::linear(x, w, bias);
}

bool has_tangent(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

/// Whether the product is all there is to do: no gradient, in neither direction, and no mode, subclass or transform
/// below.
template <typename Stock>
bool is_product_alone(c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w, const at::Tensor* bias) {
  const auto below = keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  if (below.highestPriorityTypeId() != Stock::kKey) return false;
  if (at::GradMode::is_enabled() && (x.requires_grad() || w.requires_grad() || (bias && bias->requires_grad())))
    return false;
  return !(has_tangent(x) || has_tangent(w) || (bias && has_tangent(*bias)));
}

template <typename Stock>
at::Tensor linear_above_autograd(c10::DispatchKeySet keys, const at::Tensor& x, const at::Tensor& w,
                                 const OptionalTensor& bias) {
  if (is_product_alone<Stock>(keys, x, w, given(bias))) return linear<Stock>(x, w, bias);
  return at::native::linear(x, w, bias);
}

/// The kernels of one device. They live as long as this; PyTorch's own are in force again afterwards.
template <typename Stock>
class KernelsOfDevice {
 public:
  KernelsOfDevice() {
    device_.impl("linear", TORCH_FN(linear<Stock>));
    device_.impl("mm", TORCH_FN(mm<Stock>));
    device_.impl("mm.out", TORCH_FN(mm_out<Stock>));
    device_.impl("mv", TORCH_FN(mv<Stock>));
    device_.impl("addmm", TORCH_FN(addmm<Stock>));
    device_.impl("addmm.out", TORCH_FN(addmm_out<Stock>));
    device_.impl("_addmm_activation", TORCH_FN(addmm_activation<Stock>));
    device_.impl("bmm", TORCH_FN(Counted<Stock::bmm>::call));
    device_.impl("bmm.out", TORCH_FN(Counted<Stock::bmm_outf>::call));
    device_.impl("baddbmm", TORCH_FN(Counted<Stock::baddbmm>::call));
    count_quantised<Stock>(device_);
    autograd_.impl("linear", TORCH_FN(linear_above_autograd<Stock>));
  }

 private:
  torch::Library device_{torch::Library::IMPL, "aten", Stock::kKey, __FILE__, __LINE__};
  torch::Library autograd_{torch::Library::IMPL, "aten", Stock::kAutogradKey, __FILE__, __LINE__};
};

struct Registration {
  KernelsOfDevice<StockOnCpu> cpu;
  QuantisedLayers quantised;
#if ATTUNE_TORCH_CUDA
  KernelsOfDevice<StockOnCuda> cuda;
#endif
};

/// A product of either device, for Attune.
class AnyProduct {
 public:
  virtual ~AnyProduct() = default;
  virtual void run(const ProductAddresses& addresses, void* stream) const = 0;
};
template <typename Stock>
class ProductOf final : public AnyProduct {
 public:
  explicit ProductOf(const OperatorProblem& problem) : product_(problem) {}
  void run(const ProductAddresses& addresses, void* stream) const override { product_.run(addresses, stream); }

 private:
  StockProduct<Stock> product_;
};

std::unique_ptr<AnyProduct> make_product(const OperatorProblem& problem) {
  if (problem.kind == DeviceKind::host) {
    check_type_on_cpu(problem.dtype);
    return std::make_unique<ProductOf<StockOnCpu>>(problem);
  }
#if ATTUNE_TORCH_CUDA
  return std::make_unique<ProductOf<StockOnCuda>>(problem);
#else
  TORCH_CHECK(false, "its operators for CUDA tensors cannot be called here");
#endif
}

/// Calls one of PyTorch's functions and returns what it throws, as one line.
template <typename Call>
const char* guarded(Call call) {
  thread_local std::string message;
  try {
    call();
    return nullptr;
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "an unknown error";
  }
  message.resize(std::min(message.find('\n'), message.size()));
  return message.c_str();
}

const TorchOperators* operators() {
  static const std::string &config = *new std::string(at::show_config()), &file = *new std::string(pytorch_file());
  static const TorchOperators all{
      kOperatorInterface,
      TORCH_VERSION,
      config.c_str(),
      file.c_str(),
      [](const OperatorProblem* problem, const char** error) -> void* {
        std::unique_ptr<AnyProduct> made;
        *error = guarded([&] { made = make_product(*problem); });
        return made.release();
      },
      [](void* product, const ProductAddresses* addresses, void* stream, const char** error) {
        *error = nullptr;
        if (is_asking)
          functions->leave_to_stock();
        else
          *error = guarded([&] { static_cast<const AnyProduct*>(product)->run(*addresses, stream); });
      },
      [](void* product) { delete static_cast<AnyProduct*>(product); }};
  return &all;
}

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

/// PyTorch's own operators (operator_interface.h), whether the kernels are registered or not.
extern "C" __attribute__((visibility("default"))) const attune::python::TorchOperators* attune_torch_operators() {
  return attune::python::operators();
}

extern "C" __attribute__((visibility("default"))) void attune_torch_unregister() {
  delete attune::python::registration;
  attune::python::registration = nullptr;
}
