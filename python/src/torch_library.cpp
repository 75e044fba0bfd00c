// SPDX-License-Identifier: MIT
#include "torch_library.h"

#include <dlfcn.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "errors.h"
#include "gil.h"
#include "thread_pools.h"
#include "torch_product.h"
#include "torch_stable_abi.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// What the kernels need of the PyTorch that runs. Left alone at the end of the process, when Python may be gone.
struct PyTorch {
  TorchStableAbi abi;
  ThreadPools pools;
  std::array<int32_t, 4> dtypes{};  ///< PyTorch's number of each attune::DType; that of 0 means nothing.
  int32_t cpu = 0;
  /// Of versions without tensor_from_pyobject(): functions of torch._C that exchange a tensor and a capsule with its
  /// handle.
  nb::object to_capsule, from_capsule;
  nb::object get_num_threads, set_num_threads, relu_, gelu_;
  nb::object requires_grad, raw_repr;  ///< Names of attributes.
  nb::object forward_mode;             ///< Module whose `_current_level` is not negative while tangents are in use.
  nb::object keys;                     ///< What a kernel that PyTorch calls for a host tensor is told.
  /// Sets of keys, as numbers, that have nothing but autograd above the kernels for host tensors.
  std::array<uint64_t, 3> plain_keys{};
  nb::dict stock;   ///< PyTorch's own kernels, by the name of the operator.
};
PyTorch* pytorch = nullptr;

/// A tensor's handle and what it says.
class StableTensor {
 public:
  StableTensor() = default;
  explicit StableTensor(AtenTensorHandle handle) : handle_(handle) {}
  StableTensor(StableTensor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  StableTensor& operator=(StableTensor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~StableTensor() {
    if (handle_ != nullptr) pytorch->abi.delete_tensor_object(handle_);
  }
  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle release() { return std::exchange(handle_, nullptr); }
  explicit operator bool() const { return handle_ != nullptr; }

  /// Returns dims -1 if PyTorch does not say: it has no memory of its own.
  TensorView view() const {
    TensorView seen{nullptr, nullptr, nullptr, -1, 0};
    int64_t dims = 0, *sizes = nullptr, *strides = nullptr;
    int32_t dtype = 0;
    const TorchStableAbi& abi = pytorch->abi;
    if (abi.get_data_ptr(handle_, &seen.data) != 0 || abi.get_dim(handle_, &dims) != 0 ||
        abi.get_sizes(handle_, &sizes) != 0 || abi.get_strides(handle_, &strides) != 0 ||
        abi.get_dtype(handle_, &dtype) != 0)
      return {nullptr, nullptr, nullptr, -1, 0};
    for (int32_t number = 1; number < static_cast<int32_t>(pytorch->dtypes.size()); ++number) {
      if (pytorch->dtypes[number] == dtype) seen.dtype = number;
    }
    seen.sizes = sizes;
    seen.strides = strides;
    seen.dims = static_cast<int32_t>(dims);
    return seen;
  }

 private:
  AtenTensorHandle handle_ = nullptr;
};

/// Returns nothing if PyTorch refuses, with Python's error cleared: its own kernel then says what is wrong.
StableTensor handle_of(nb::handle object) {
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.tensor_from_pyobject != nullptr)
    return pytorch->abi.tensor_from_pyobject(object.ptr(), &made) == 0 ? StableTensor(made) : StableTensor();
  PyObject* const capsule = PyObject_CallOneArg(pytorch->to_capsule.ptr(), object.ptr());
  if (capsule != nullptr) made = static_cast<AtenTensorHandle>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  Py_XDECREF(capsule);
  if (made == nullptr) PyErr_Clear();
  return StableTensor(made);
}

nb::object object_of(StableTensor tensor) {
  if (pytorch->abi.tensor_to_pyobject != nullptr) {
    void* made = nullptr;
    if (pytorch->abi.tensor_to_pyobject(tensor.get(), nullptr, &made) != 0)
      nb::raise("attune: PyTorch does not return its tensor");
    return nb::steal(static_cast<PyObject*>(made));
  }
  // Takes the handle over.
  return pytorch->from_capsule(nb::steal(PyCapsule_New(tensor.release(), nullptr, nullptr)));
}

constexpr int32_t kMaxDims = 8;  ///< Of rows that are served.

/// An uninitialised tensor of the leading sizes of `like` and one more, `last`.
StableTensor make(const TensorView& like, int64_t last) {
  std::array<int64_t, kMaxDims> sizes{}, strides{};
  std::copy_n(like.sizes, like.dims, sizes.begin());
  sizes[like.dims - 1] = last;
  strides[like.dims - 1] = 1;
  for (int32_t axis = like.dims - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * sizes[axis];
  AtenTensorHandle made = nullptr;
  if (pytorch->abi.empty_strided(like.dims, sizes.data(), strides.data(), pytorch->dtypes[like.dtype], pytorch->cpu, 0,
                                 &made) != 0)
    nb::raise("attune: PyTorch has no memory for a tensor");
  return StableTensor(made);
}

/// A contiguous copy.
StableTensor copy(const StableTensor& tensor, const TensorView& view) {
  StableTensor made = make(view, view.sizes[view.dims - 1]);
  if (pytorch->abi.copy_(made.get(), tensor.get(), 0) != 0) nb::raise("attune: PyTorch does not copy a tensor");
  return made;
}

/// Keeps PyTorch's numbers of threads: libraries that share OpenMP or OpenBLAS with it change them.
class KeepTorchThreads {
 public:
  ~KeepTorchThreads() {
    openblas_.restore();
    if (now() != number) pytorch->set_num_threads(number);
  }
  const int number = now();

 private:
  static int now() {
    uint32_t number = 0;
    if (pytorch->abi.get_num_threads != nullptr && pytorch->abi.get_num_threads(&number) == 0)
      return static_cast<int>(number);
    return nb::cast<int>(pytorch->get_num_threads());
  }
  const OpenblasThreads openblas_{pytorch->pools};
};

/// `bias` and `out` are null if there is none.
struct Operands {
  nb::handle x, w, bias, out;
  bool w_is_kn;
  int32_t dims;  ///< That x has; 0: any number.
};

/// Set while PyTorch computes a linear layer that Attune refused: its parts are neither asked for nor counted again.
thread_local bool passes_on = false;
class PassesOn {
 public:
  PassesOn() : before_(std::exchange(passes_on, true)) {}
  ~PassesOn() { passes_on = before_; }
  PassesOn(const PassesOn&) = delete;
  PassesOn& operator=(const PassesOn&) = delete;

 private:
  bool before_;
};

/// Returns the result, `out` if there is one, or null if PyTorch is to compute the call. Throws where results are
/// required to keep what no kernel does.
nb::object serve(const Operands& call) {
  if (passes_on) return {};
  // The limit of threads is the process's, not a parallel region's.
  if (pytorch->pools.in_openmp != nullptr && pytorch->pools.in_openmp() != 0) {
    count(Reason::context);
    return {};
  }
  const StableTensor x = handle_of(call.x), w = handle_of(call.w);
  const StableTensor bias = call.bias ? handle_of(call.bias) : StableTensor();
  const StableTensor given = call.out ? handle_of(call.out) : StableTensor();
  const TensorView none{nullptr, nullptr, nullptr, -1, 0};
  if (!x || !w || (call.bias && !bias) || (call.out && !given)) {
    count(Reason::context);
    return {};
  }
  const ProductCall asked{{DeviceKind::host, 0, nullptr},
                          x.view(),
                          w.view(),
                          bias ? bias.view() : none,
                          given ? given.view() : none,
                          call.w_is_kn,
                          false};
  if (given && asked.out.dims < 0) return {};
  if (call.dims != 0 && asked.x.dims != call.dims) return {};  // PyTorch's error.
  if (asked.x.dims > kMaxDims) {
    count(Reason::shape);
    return {};
  }
  PreparedProduct product{};
  if (product_functions().examine(&asked, &product) != Reason::routed) return {};
  StableTensor x_copy, bias_copy, out;
  if (product.copies_x) x_copy = copy(x, asked.x);
  if (product.copies_bias) bias_copy = copy(bias, asked.bias);
  if (!given) out = make(asked.x, product.n);
  const ProductAddresses addresses{product.copies_x ? x_copy.view().data : asked.x.data, asked.w.data,
                                   product.copies_bias ? bias_copy.view().data : asked.bias.data,
                                   given ? asked.out.data : out.view().data};
  Reason served;
  {
    const KeepTorchThreads keep;
    const GilRelease others_run;
    served = run(product, addresses, keep.number);
  }
  if (served != Reason::routed && served != Reason::no_row) return {};
  return given ? nb::borrow(call.out) : object_of(std::move(out));
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

nb::object serve_addmm(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha,
                       nb::handle out) {
  if (is_one(beta) && is_one(alpha)) return serve({x, w, self, out, true, 2});
  if (!passes_on) count(Reason::addend);
  return {};
}

nb::object mm(nb::handle x, nb::handle w) {
  nb::object out = serve({x, w, {}, {}, true, 2});
  return out ? out : stock("mm", x, w);
}

nb::object mm_out(nb::handle x, nb::handle w, nb::handle out) {
  nb::object served = serve({x, w, {}, out, true, 2});
  return served ? served : stock("mm.out", x, w, "out"_a = out);
}

/// One row: what a linear layer of a vector consists of.
nb::object mv(nb::handle w, nb::handle x) {
  nb::object out = serve({x, w, {}, {}, false, 1});
  return out ? out : stock("mv", w, x);
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
  if (!out)
    return stock("_addmm_activation", self, x, w, "beta"_a = beta, "alpha"_a = alpha, "use_gelu"_a = use_gelu);
  return use_gelu ? pytorch->gelu_(out) : pytorch->relu_(out);
}

nb::object bmm(nb::handle x, nb::handle w) {
  if (!passes_on) count(Reason::no_family);
  return stock("bmm", x, w);
}

nb::object bmm_out(nb::handle x, nb::handle w, nb::handle out) {
  count(Reason::no_family);
  return stock("bmm.out", x, w, "out"_a = out);
}

nb::object baddbmm(nb::handle self, nb::handle x, nb::handle w, nb::handle beta, nb::handle alpha) {
  count(Reason::no_family);
  return stock("baddbmm", self, x, w, "beta"_a = beta, "alpha"_a = alpha);
}

bool wants_gradient(nb::handle tensor) {
  if (tensor.is_none()) return false;
  const nb::object wants = nb::steal(PyObject_GetAttr(tensor.ptr(), pytorch->requires_grad.ptr()));
  return wants.ptr() != Py_False;
}

/// Whether the product is all there is to do: no gradient, in neither direction, and no mode, subclass or transform
/// below.
bool is_product_alone(nb::handle keys, nb::handle x, nb::handle w, nb::handle bias) {
  const nb::object raw = nb::steal(PyObject_CallMethodNoArgs(keys.ptr(), pytorch->raw_repr.ptr()));
  if (!raw.is_valid()) nb::raise_python_error();
  const uint64_t number = PyLong_AsUnsignedLongLong(raw.ptr());
  if (std::ranges::find(pytorch->plain_keys, number) == pytorch->plain_keys.end()) return false;
  if (nb::cast<int>(pytorch->forward_mode.attr("_current_level")) >= 0) return false;
  return !pytorch->abi.grad_mode_is_enabled() || !(wants_gradient(x) || wants_gradient(w) || wants_gradient(bias));
}

/// For the keys CPU and AutogradCPU: saves the parts that PyTorch makes a linear layer of, where nothing but the product
/// is to be done. Else the layer is made of them, and they arrive below.
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
  found->dtypes = {-1, found->abi.dtype_float32(), found->abi.dtype_bfloat16(), found->abi.dtype_float16()};
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
  module.def("open_library_kernels", &open_library_kernels, "file"_a, "functions"_a, "keys"_a, "plain_keys"_a, "stock"_a,
             "Returns why the kernels below cannot be had with this PyTorch, or ''. Once a process.");
  nb::dict kernels;
  const auto add = [&](const char* operator_name, auto* function, auto... arguments) {
    kernels[operator_name] =
        nb::cpp_function(function, nb::name(operator_name), nb::scope(module), arguments...);
  };
  const auto beta = "beta"_a = 1, alpha = "alpha"_a = 1;
  add("linear", &linear, "keys"_a, "input"_a, "weight"_a, "bias"_a.none() = nb::none());
  add("mm", &mm, "self"_a, "mat2"_a);
  add("mm.out", &mm_out, "self"_a, "mat2"_a, nb::kw_only(), "out"_a);
  add("mv", &mv, "self"_a, "vec"_a);
  add("addmm", &addmm, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha);
  add("addmm.out", &addmm_out, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha, "out"_a);
  add("_addmm_activation", &addmm_activation, "self"_a, "mat1"_a, "mat2"_a, nb::kw_only(), beta, alpha,
      "use_gelu"_a = false);
  add("bmm", &bmm, "self"_a, "mat2"_a);
  add("bmm.out", &bmm_out, "self"_a, "mat2"_a, nb::kw_only(), "out"_a);
  add("baddbmm", &baddbmm, "self"_a, "batch1"_a, "batch2"_a, nb::kw_only(), beta, alpha);
  module.attr("library_kernels") = kernels;
}

}  // namespace attune::python
