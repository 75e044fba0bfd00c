// SPDX-License-Identifier: MIT
#include "torch/torch_stable_kernels.h"

#include <attune/error.h>

#include <stdexcept>
#include <string_view>

#include "torch/torch_product.h"
#include "torch/torch_served.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// The arguments of a call, whose handles are the kernel's, and afterwards its result, whose handle is the caller's.
using Stack = StableIValue*;

StableTensor take(Stack stack, int position) {
  return StableTensor(reinterpret_cast<AtenTensorHandle>(std::exchange(stack[position], 0)));
}

void give(Stack stack, StableTensor result) { stack[0] = reinterpret_cast<StableIValue>(result.release()); }

/// A second handle of the same tensor, for object_of().
StableTensor again(const StableTensor& tensor) {
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.new_tensor_handle(tensor.get(), &made) != 0)
    throw std::runtime_error("attune: PyTorch does not share a tensor");
  return StableTensor(made);
}

/// PyTorch's own kernel, found through Python: it says what is wrong with a call, which the shim's functions do not.
StableTensor stock(const char* name, const StableTensor& a, const StableTensor& b, const StableTensor& out) {
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object kernel = pytorch->stock[name];
    const nb::object first = object_of(again(a)), second = object_of(again(b));
    return handle_of(out ? kernel(pytorch->keys, first, second, "out"_a = object_of(again(out)))
                         : kernel(pytorch->keys, first, second));
  } catch (const nb::python_error& error) {  // PyTorch knows none of Python's errors in a kernel.
    throw std::runtime_error(nb::str(error.value()).c_str());
  }
}

/// Whether PyTorch's kernel of [batch][m][k] · [batch][k][n] has nothing to object.
bool fits(const TensorView& x, const TensorView& w, int32_t dims) {
  return x.dims == dims && w.dims == dims && (dims == 2 || x.sizes[0] == w.sizes[0]) &&
         x.sizes[dims - 1] == w.sizes[dims - 2];
}

/// A refused call: PyTorch's own kernel by its name, without a second dispatch, where it has nothing to object.
StableTensor compute_by(StockProduct* product, const char* name, const StableTensor& x, const StableTensor& w,
                        StableTensor out) {
  const TensorView x_view = x.view(), w_view = w.view();
  const int32_t dims = std::string_view(name).starts_with("bmm") ? 3 : 2, dtype = x.torch_dtype();
  if (!fits(x_view, w_view, dims) || w.torch_dtype() != dtype || (out && out.torch_dtype() != dtype))
    return stock(name, x, w, out);
  if (!out) out = StableTensor::make(x_view, w_view.sizes[dims - 1], dtype);
  if (product(out.get(), x.get(), w.get()) != 0) throw std::runtime_error("attune: PyTorch's own product failed");
  return out;
}

void run_mm(Stack stack, uint64_t num_arguments, uint64_t) {
  const StableTensor x = take(stack, 0), w = take(stack, 1), none;
  StableTensor out = num_arguments == 3 ? take(stack, 2) : StableTensor();
  Served served = serve({x, w, none, out, true, 2}, false);
  const bool is_given = static_cast<bool>(out);
  if (!served.is_computed)
    out = compute_by(pytorch->abi.cpu_mm_out, is_given ? "mm.out" : "mm", x, w, std::move(out));
  else if (!is_given)
    out = std::move(served.made);
  give(stack, std::move(out));
}

/// One row: what a linear layer of a vector consists of.
void run_mv(Stack stack, uint64_t, uint64_t) {
  const StableTensor w = take(stack, 0), x = take(stack, 1), none;
  Served served = serve({x, w, none, none, false, 1}, false);
  give(stack, served.is_computed ? std::move(served.made) : stock("mv", w, x, none));
}

void run_bmm(Stack stack, uint64_t num_arguments, uint64_t) {
  const StableTensor x = take(stack, 0), w = take(stack, 1);
  StableTensor out = num_arguments == 3 ? take(stack, 2) : StableTensor();
  count_refused(Reason::no_family);
  give(stack, compute_by(pytorch->abi.cpu_bmm_out, out ? "bmm.out" : "bmm", x, w, std::move(out)));
}

/// Runs a kernel, whose errors PyTorch is to know.
template <StableKernel* kKernel>
void guarded(Stack stack, uint64_t num_arguments, uint64_t num_results) {
  try {
    kKernel(stack, num_arguments, num_results);
  } catch (const Error& error) {
    throw std::runtime_error(std::string("attune: ") + error.what());
  }
}

TorchLibraryHandle registered = nullptr;

}  // namespace

std::string register_stable_kernels() {
  if (pytorch->abi.library_init_impl("aten", "CPU", "attune", 0, &registered) != 0)
    return "PyTorch refuses the kernels";
  const struct {
    const char* name;
    StableKernel* kernel;
  } kernels[] = {{"mm", &guarded<run_mm>},
                 {"mm.out", &guarded<run_mm>},
                 {"mv", &guarded<run_mv>},
                 {"bmm", &guarded<run_bmm>},
                 {"bmm.out", &guarded<run_bmm>}};
  for (const auto& [name, kernel] : kernels) {
    if (pytorch->abi.library_impl(registered, name, kernel) == 0) continue;
    withdraw_stable_kernels();
    return std::string("PyTorch refuses the kernel of ") + name;
  }
  return "";
}

void withdraw_stable_kernels() {
  if (registered != nullptr) pytorch->abi.delete_library_object(registered);
  registered = nullptr;
}

}  // namespace attune::python
