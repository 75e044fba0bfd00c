// SPDX-License-Identifier: MIT
#include "operand.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "attributes.h"
#include "errors.h"
#include "gil.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

constexpr uintptr_t kAlignment = 16;

/// The contents of a capsule named `dltensor` (unversioned DLPack).
struct ManagedTensor {
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

std::string tuple_text(const int64_t* values, int count) {
  std::string text = "(";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + (count == 1 ? ",)" : ")");
}

/// A type that neither the buffer protocol nor, in PyTorch's older versions, DLPack carries.
struct ViewedType {
  std::string_view name;
  DType dtype;
  const char* view;  ///< The type of the view.
};
constexpr ViewedType kViewedTypes[] = {{"bfloat16", DType::bf16, "uint16"},
                                       {"float8_e4m3fn", DType::e4m3fn, "uint8"},
                                       {"float8_e4m3fnuz", DType::e4m3fnuz, "uint8"},
                                       {"float8_e8m0fnu", DType::e8m0, "uint8"},
                                       {"float4_e2m1fn_x2", DType::e2m1, "uint8"}};
const ViewedType* find_viewed(std::string_view name) {
  for (const ViewedType& type : kViewedTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

/// Converts a format letter of Python's module struct, for native types. `bytes`: what unsigned ones hold.
std::optional<DType> dtype_of_format(const char* format, std::optional<DType> bytes) {
  if (format == nullptr) return std::nullopt;
  if (*format == '<' || *format == '=' || *format == '@') ++format;
  if (std::strcmp(format, "f") == 0) return DType::fp32;
  if (std::strcmp(format, "e") == 0) return DType::fp16;
  if (std::strcmp(format, "b") == 0) return DType::int8;
  if (std::strcmp(format, "B") == 0) return bytes;
  return std::nullopt;
}

std::optional<DType> dtype_of(const nb::dlpack::dtype& dtype, std::optional<DType> bytes) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return std::nullopt;
  // DLPack 1.1 numbers the narrow floats.
  constexpr uint8_t kE4m3fn = 10, kE4m3fnuz = 11, kE8m0 = 14;
  if (dtype.code == kE4m3fn && dtype.bits == 8) return DType::e4m3fn;
  if (dtype.code == kE4m3fnuz && dtype.bits == 8) return DType::e4m3fnuz;
  if (dtype.code == kE8m0 && dtype.bits == 8) return DType::e8m0;
  if (dtype.code == static_cast<uint8_t>(Code::UInt) && dtype.bits == 8) return bytes;
  if (dtype.code == static_cast<uint8_t>(Code::Float) && dtype.bits == 32) return DType::fp32;
  if (dtype.code == static_cast<uint8_t>(Code::Float) && dtype.bits == 16) return DType::fp16;
  if (dtype.code == static_cast<uint8_t>(Code::Bfloat) && dtype.bits == 16) return DType::bf16;
  if (dtype.code == static_cast<uint8_t>(Code::Int) && dtype.bits == 8) return DType::int8;
  return std::nullopt;
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Returns the text of the current Python exception and clears it. Throws one that asks the program to end, such as
/// KeyboardInterrupt, as it is.
std::string taken_error() {
  nb::python_error error;
  if (!error.matches(PyExc_Exception)) throw error;
  return text_of(error.value());
}

/// True for numpy.ma.MaskedArray, whose buffer says nothing of the mask. Remembers the last type that is none.
bool is_masked(nb::handle array) {
  static PyObject* plain_type = nullptr;  // Holds a reference.
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
  if (type == plain_type) return false;
  const nb::object modules = nb::module_::import_("sys").attr("modules");
  const nb::object module = modules.attr("get")("numpy.ma");
  if (!module.is_none() && nb::isinstance(array, module.attr("MaskedArray"))) return true;
  Py_INCREF(type);
  Py_XDECREF(std::exchange(plain_type, type));
  return false;
}

/// Returns numpy.empty; the reference is kept forever.
PyObject* numpy_empty() {
  static PyObject* const function = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  return function;
}
nb::object numpy_dtype(DType dtype) {
  static PyObject* const fp32 = nb::module_::import_("numpy").attr("dtype")("float32").release().ptr();
  static PyObject* const fp16 = nb::module_::import_("numpy").attr("dtype")("float16").release().ptr();
  return nb::borrow(dtype == DType::fp32 ? fp32 : fp16);
}

}  // namespace

Operand::Operand(const char* role, nb::handle array, CallDevice& call, bool writable, ElementTypes types,
                 std::optional<DType> bytes)
    : role_(role), types_(types), bytes_(bytes) {
  if (is_masked(array))
    fail_type(std::string(role) + " is a numpy.ma.MaskedArray, whose mask would be ignored; pass " + role +
              ".filled(0) or another array without a mask");
  try {
    if (take_buffer(array, writable))
      call.enter_host(role);
    else
      take_dlpack(array, call);
  } catch (...) {
    if (has_buffer_) PyBuffer_Release(&buffer_);
    throw;
  }
}

Operand::~Operand() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool Operand::take_buffer(nb::handle array, bool writable) {
  if (!PyObject_CheckBuffer(array.ptr())) return false;
  if (PyObject_GetBuffer(array.ptr(), &buffer_, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO) != 0) {
    const std::string why = taken_error();
    if (take_view(array, writable)) return true;
    if (writable) fail_value(std::string(role_) + " cannot be written to: " + why);
    refuse_dtype(array, why);
  }
  has_buffer_ = true;
  const auto dtype = accepted(viewed_ ? viewed_ : dtype_of_format(buffer_.format, bytes_));
  if (!dtype) refuse_dtype(array, buffer_.format == nullptr ? "bytes" : buffer_.format);
  dtype_ = *dtype;
  data_ = buffer_.buf;
  ndim_ = buffer_.ndim;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  shape_ = reinterpret_cast<const int64_t*>(buffer_.shape);
  count_elements();
  check_layout(reinterpret_cast<const int64_t*>(buffer_.strides), buffer_.itemsize, writable);
  return true;
}

/// Handles arrays of ml_dtypes: NumPy does not export the memory of types that are not its own.
bool Operand::take_view(nb::handle array, bool writable) {
  if (view_.is_valid() || !has_attribute(array, "dtype")) return false;
  const ViewedType* const type = find_viewed(text_of(array.attr("dtype")));
  if (type == nullptr || !accepted(type->dtype)) return false;
  PyObject* const view = in_python([&] { return PyObject_CallMethod(array.ptr(), "view", "s", type->view); });
  if (view == nullptr) nb::raise_python_error();
  view_ = nb::steal(view);
  viewed_ = type->dtype;
  return take_buffer(view_, writable);
}

/// Calls the array's __dlpack__(), for the call's stream if it is on a GPU. Invalid, with a Python error, if that
/// fails.
nb::object Operand::dlpack(nb::handle array, CallDevice& call) const {
  // PyTorch's attribute says it in a tenth of the time of DLPack's function.
  const nb::object is_cuda = attribute_if_any(array, "is_cuda");
  nb::object stream = nb::none();
  if (is_cuda.is(Py_False) || !has_attribute(array, "__dlpack_device__")) {
    call.enter_host(role_);
  } else {
    const nb::object device =
        nb::steal(in_python([&] { return PyObject_CallMethod(array.ptr(), "__dlpack_device__", nullptr); }));
    if (!device.is_valid()) return {};
    stream = call.enter(role_, array, nb::cast<int64_t>(device[0]), nb::cast<int64_t>(device[1]));
  }
  if (stream.is_none())
    return nb::steal(in_python([&] { return PyObject_CallMethod(array.ptr(), "__dlpack__", nullptr); }));
  const nb::object function = nb::steal(in_python([&] { return PyObject_GetAttrString(array.ptr(), "__dlpack__"); }));
  if (!function.is_valid()) return {};
  nb::dict named;
  named["stream"] = stream;
  const nb::object nothing = nb::steal(PyTuple_New(0));
  return nb::steal(in_python([&] { return PyObject_Call(function.ptr(), nothing.ptr(), named.ptr()); }));
}

/// Tensors of PyTorch whose type DLPack does not carry in all its versions are viewed as bytes first.
void Operand::take_dlpack(nb::handle array, CallDevice& call) {
  if (types_ == ElementTypes::all && !view_.is_valid()) {
    constexpr std::string_view kPrefix = "torch.float";
    const nb::object dtype = attribute_if_any(array, "dtype");
    const std::string name = dtype.is_valid() ? text_of(dtype) : "";
    const ViewedType* const type =
        name.starts_with(kPrefix) ? find_viewed(name.substr(kPrefix.find('.') + 1)) : nullptr;
    if (type != nullptr) {
      const nb::object bytes = nb::module_::import_("torch").attr(type->view);
      view_ = array.attr("view")(bytes);
      viewed_ = type->dtype;
      return take_dlpack(view_, call);
    }
  }
  capsule_ = dlpack(array, call);
  if (!capsule_.is_valid()) {
    const std::string why = taken_error();
    if (!has_attribute(array, "__dlpack__"))
      fail_type(std::string(role_) + " must be an array of NumPy, or of a library with DLPack, got " +
                text_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()))).attr("__name__")));
    fail_value(std::string(role_) + " does not expose its memory: " + why);
  }
  // The capsule keeps its name, because the tensor is only read: the producer's function frees it.
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"));
  if (managed == nullptr) fail_type(std::string(role_) + " does not provide a DLPack tensor: " + taken_error());
  const nb::dlpack::dltensor& tensor = managed->tensor;
  if (tensor.device.device_type != nb::device::cpu::value && call.place().kind == DeviceKind::host)
    fail_value(std::string(role_) + " must be on the CPU, its DLPack device is of type " +
               std::to_string(tensor.device.device_type));
  const auto dtype = accepted(viewed_ ? viewed_ : dtype_of(tensor.dtype, bytes_));
  if (!dtype) refuse_dtype(array, std::to_string(tensor.dtype.bits) + " bits");
  dtype_ = *dtype;
  data_ = static_cast<char*>(tensor.data) + tensor.byte_offset;
  ndim_ = tensor.ndim;
  shape_ = tensor.shape;
  count_elements();
  check_layout(tensor.strides, 1, false);
}

/// Nothing for a type that this operand must not have.
std::optional<DType> Operand::accepted(std::optional<DType> dtype) const {
  const bool is_float = dtype == DType::fp32 || dtype == DType::fp16 || dtype == DType::bf16;
  return types_ == ElementTypes::floats && !is_float ? std::nullopt : dtype;
}

void Operand::refuse_dtype(nb::handle array, const std::string& what) const {
  fail_type(std::string(role_) + " must be " +
            (types_ == ElementTypes::all ? "fp32, fp16, bf16, int8 or a narrow float" : "fp32, fp16 or bf16") +
            ", got " + (has_attribute(array, "dtype") ? text_of(array.attr("dtype")) : what));
}

void Operand::count_elements() {
  elements_ = 1;
  for (int axis = 0; axis < ndim_; ++axis) {
    if (shape_[axis] == 0) {
      elements_ = 0;
      return;
    }
  }
  constexpr int64_t kMaxBytes = 16;  // Sizes in bytes must fit, too.
  for (int axis = 0; axis < ndim_; ++axis) {
    if (__builtin_mul_overflow(elements_, shape_[axis], &elements_) || elements_ > INT64_MAX / kMaxBytes)
      fail_value(std::string(role_) + " is too large, its shape is " + shape_text());
  }
}

/// `strides` are in units, and an element has `unit` of them; null: contiguous.
void Operand::check_layout(const int64_t* strides, int64_t unit, bool writable) const {
  if (elements_ == 0) return;
  int64_t wanted = unit;
  for (int axis = ndim_ - 1; axis >= 0 && strides != nullptr; --axis) {
    if (shape_[axis] != 1 && strides[axis] != wanted) {
      fail_value(std::string(role_) + " must be C-contiguous, it has shape " + shape_text() + " and strides " +
                 tuple_text(strides, ndim_) + (has_buffer_ ? " in bytes" : " in elements") +
                 (writable      ? "; the result is written in place"
                  : has_buffer_ ? std::string("; pass numpy.ascontiguousarray(") + role_ + ")"
                                : std::string("; pass ") + role_ + ".contiguous()"));
    }
    wanted *= shape_[axis];
  }
  if (reinterpret_cast<uintptr_t>(data_) % kAlignment != 0)
    fail_value(std::string(role_) + " must start at a multiple of " + std::to_string(kAlignment) +
               " bytes, this part of an array does not; pass a copy");
}

std::string Operand::shape_text() const { return tuple_text(shape_, ndim_); }

nb::object Operand::make_out(nb::handle array, int64_t length, DType dtype) const {
  nb::object shape = nb::steal(PyTuple_New(ndim_));
  for (int axis = 0; axis < ndim_; ++axis)
    PyTuple_SetItem(shape.ptr(), axis, PyLong_FromLongLong(axis == ndim_ - 1 ? length : shape_[axis]));
  const bool is_other = dtype != dtype_;
  try {
    if (view_.is_valid() && !is_other) return nb::handle(numpy_empty())(shape, array.attr("dtype"));
    if (has_buffer_ && dtype == DType::bf16)
      return nb::handle(numpy_empty())(shape, nb::module_::import_("ml_dtypes").attr("bfloat16"));
    if (has_buffer_) return nb::handle(numpy_empty())(shape, numpy_dtype(dtype));
    if (has_attribute(array, "new_empty") && is_other) {
      constexpr std::string_view kPrefix = "torch.";
      const nb::object torch_dtype =
          nb::module_::import_("torch").attr(std::string(torch_name(dtype).substr(kPrefix.size())).c_str());
      return array.attr("new_empty")(shape, nb::arg("dtype") = torch_dtype);
    }
    if (has_attribute(array, "new_empty")) return array.attr("new_empty")(shape);
  } catch (nb::python_error& error) {
    if (!is_other || !error.matches(PyExc_ImportError)) throw;
  }
  fail_type("out is required: cannot make an array of type " + std::string(name(dtype)) + " of the same kind as x");
}

/// Elements of four bits are counted in pairs.
int64_t Operand::num_bytes() const noexcept { return elements_ * (bits(dtype_) == 4 ? 1 : bits(dtype_) / 8); }

bool Operand::overlaps(const Operand& other) const noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(data_), other_begin = reinterpret_cast<uintptr_t>(other.data_);
  const auto end = begin + static_cast<uintptr_t>(num_bytes());
  const auto other_end = other_begin + static_cast<uintptr_t>(other.num_bytes());
  return begin < other_end && other_begin < end;
}

}  // namespace attune::python
