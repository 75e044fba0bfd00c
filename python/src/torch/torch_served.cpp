// SPDX-License-Identifier: MIT
#include "torch/torch_served.h"

#include <optional>
#include <stdexcept>

#include "gil.h"
#include "torch/torch_product.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

/// Keeps PyTorch's numbers of threads: libraries that share OpenMP or OpenBLAS with it change them.
class KeepTorchThreads {
 public:
  ~KeepTorchThreads() {
    openblas_.restore();
    if (now() == number) return;
    const nb::gil_scoped_acquire gil;
    pytorch->set_num_threads(number);
  }
  const int number = now();

 private:
  static int now() {
    uint32_t number = 0;
    if (pytorch->abi.get_num_threads != nullptr && pytorch->abi.get_num_threads(&number) == 0)
      return static_cast<int>(number);
    const nb::gil_scoped_acquire gil;
    return nb::cast<int>(pytorch->get_num_threads());
  }
  const OpenblasThreads openblas_{pytorch->pools};
};

/// Whether only a row is missing, so that PyTorch can have nothing to object.
bool is_for_want_of_a_row(Reason why) {
  return why == Reason::no_row || why == Reason::not_ready || why == Reason::stock_row;
}

bool is_contiguous(const TensorView& tensor) {
  int64_t stride = 1;
  for (int32_t axis = tensor.dims - 1; axis >= 0; stride *= tensor.sizes[axis--]) {
    if (tensor.strides[axis] != stride) return false;
  }
  return true;
}

/// Whether PyTorch makes one product, or one sum with a product, of matrices of the call.
bool is_of_matrices(const TensorView& x) { return x.dims == 2 || (x.dims == 3 && is_contiguous(x)); }

/// PyTorch's own kernel by its name. Through Python and PyTorch's dispatcher a linear layer would arrive here again as
/// its parts, which takes 3 to 4 µs more.
StableTensor computed_by_stock(const StableProduct& call, const ProductCall& asked, const PreparedProduct& product) {
  const int64_t m = product.m, n = product.n, k = product.k;
  StableTensor made, x, w, out;
  if (!call.out) made = StableTensor::of_dtype_of(asked.x, n);
  const StableTensor& result = call.out ? call.out : made;
  if (asked.x.dims == 3) {
    x = call.x.as_matrix({m, k}, {k, 1});
    out = result.as_matrix({m, n}, {n, 1});
  }
  if (!call.w_is_kn) w = call.w.as_matrix({k, n}, {asked.w.strides[1], asked.w.strides[0]});
  const AtenTensorHandle to = out ? out.get() : result.get(), a = x ? x.get() : call.x.get(),
                         b = w ? w.get() : call.w.get();
  const int32_t failure =
      call.bias ? pytorch->abi.cpu_addmm_out(to, call.bias.get(), a, b, 1, 1) : pytorch->abi.cpu_mm_out(to, a, b);
  if (failure != 0) throw std::runtime_error("attune: PyTorch's own product failed");
  return made;
}

}  // namespace

thread_local bool PassesOn::is_set_ = false;

void count_refused(Reason why) {
  if (!PassesOn::is_set()) count(why);
}

Served serve(const StableProduct& call, bool has_gil) {
  if (PassesOn::is_set()) return {false, {}};
  // The limit of threads is the process's, not a parallel region's.
  if (pytorch->pools.in_openmp != nullptr && pytorch->pools.in_openmp() != 0) {
    count(Reason::context);
    return {false, {}};
  }
  const KeepTorchThreads keep;
  const ProductCall asked{{DeviceKind::host, 0, nullptr},
                          call.x.view(),
                          call.w.view(),
                          call.bias.view(),
                          call.out.view(),
                          call.w_is_kn,
                          false,
                          keep.number};
  const bool is_hidden =
      asked.x.dims < 0 || asked.w.dims < 0 || (call.bias && asked.bias.dims < 0) || (call.out && asked.out.dims < 0);
  if (is_hidden || (call.dims != 0 && asked.x.dims != call.dims)) return {false, {}};  // PyTorch's error.
  if (asked.x.dims > kMaxDims) {
    count(Reason::shape);
    return {false, {}};
  }
  std::optional<GilRelease> others_run;
  if (has_gil) others_run.emplace();  // A plan that is missing may take long to make.
  PreparedProduct product{};
  if (const Reason why = product_functions().examine(&asked, &product); why != Reason::routed) {
    if (!is_for_want_of_a_row(why) || !is_of_matrices(asked.x)) return {false, {}};
    return {true, computed_by_stock(call, asked, product)};
  }
  StableTensor x, bias, made;
  if (product.copies_x) x = call.x.copy(asked.x);
  if (product.copies_bias) bias = call.bias.copy(asked.bias);
  if (!call.out) made = StableTensor::of_dtype_of(asked.x, product.n);
  const ProductAddresses addresses{product.copies_x ? x.view().data : asked.x.data, asked.w.data,
                                   product.copies_bias ? bias.view().data : asked.bias.data,
                                   call.out ? asked.out.data : made.view().data};
  return {is_attunes(run(product, addresses)), std::move(made)};
}

}  // namespace attune::python
