// SPDX-License-Identifier: MIT
#include "torch_served.h"

#include <optional>

#include "gil.h"
#include "torch_product.h"

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
  if (product_functions().examine(&asked, &product) != Reason::routed) return {false, {}};
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
