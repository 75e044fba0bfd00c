// SPDX-License-Identifier: MIT
#include "operand_set.h"

#include <nanobind/stl/string.h>

#include <optional>

#include "errors.h"
#include "gil.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

/// The shape of an array: with elements of four bits, a row is whole bytes.
std::vector<int64_t> array_shape(const TensorSpec& spec) {
  std::vector<int64_t> shape = spec.shape;
  if (bits(spec.dtype) == 4) shape.back() = (shape.back() + 1) / 2;
  return shape;
}

std::string shape_text(const TensorSpec& spec) {
  const std::vector<int64_t> shape = array_shape(spec);
  std::string text = "(";
  for (size_t axis = 0; axis < shape.size(); ++axis) text += (axis == 0 ? "" : ", ") + std::to_string(shape[axis]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

void check(const std::string& role, const Operand& operand, const TensorSpec& spec) {
  if (operand.dtype() != spec.dtype) {
    fail_type(role + " must be " + std::string(name(spec.dtype)) + ", as the problem states, got " +
              std::string(name(operand.dtype())));
  }
  const std::vector<int64_t> shape = array_shape(spec);
  bool fits = operand.ndim() == static_cast<int>(shape.size());
  for (int axis = 0; fits && axis < operand.ndim(); ++axis)
    fits = operand.dim(axis) == shape[static_cast<size_t>(axis)];
  if (!fits)
    fail_value(role + " must have the shape " + shape_text(spec) + ", as the problem states, got " +
               operand.shape_text());
}

/// What an array of uint8 holds: types that not every library of arrays has.
std::optional<DType> bytes_in(DType dtype) {
  return dtype == DType::e2m1 || dtype == DType::e8m0 ? std::optional(dtype) : std::nullopt;
}

/// Returns the values of a dict by role, in the order of the specs.
nb::object values_of(nb::handle tensors, const std::vector<TensorSpec>& specs) {
  const nb::dict named = nb::borrow<nb::dict>(tensors);
  nb::list values;
  std::string wanted;
  for (const TensorSpec& spec : specs) {
    wanted += (wanted.empty() ? "" : ", ") + spec.role;
    if (!named.contains(spec.role.c_str())) fail_value("tensors must have the operand '" + spec.role + "'");
    values.append(named[spec.role.c_str()]);
  }
  if (named.size() != specs.size()) fail_value("tensors must have the operands " + wanted + " and no others");
  return values;
}

nb::object list_of(nb::handle tensors) {
  PyObject* list = in_python([&] { return PySequence_List(tensors.ptr()); });
  if (list == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();  // The error of the iteration.
    PyErr_Clear();
    fail_type("tensors must be arrays in the order of the problem's operands, or a dict of them by role");
  }
  return nb::steal(list);
}

}  // namespace

OperandSet::OperandSet(nb::handle tensors, const std::vector<TensorSpec>& specs, CallDevice& call,
                       const std::string& whose) {
  const nb::object arrays = PyDict_Check(tensors.ptr()) != 0 ? values_of(tensors, specs) : list_of(tensors);
  const auto count = static_cast<size_t>(PyList_Size(arrays.ptr()));
  std::string wanted;
  for (const TensorSpec& spec : specs) wanted += (wanted.empty() ? "" : ", ") + spec.role;
  if (count != specs.size())
    fail_value(whose + " " + std::to_string(specs.size()) + " operands (" + wanted + "), got " + std::to_string(count));
  for (size_t i = 0; i < count; ++i) {
    const bool is_output = specs[i].use == Use::output;
    const nb::handle array(PyList_GetItem(arrays.ptr(), static_cast<Py_ssize_t>(i)));
    const std::string& role = roles_.emplace_back("tensors[" + std::to_string(i) + "] (" + specs[i].role + ")");
    const Operand& operand =
        operands_.emplace_back(role.c_str(), array, call, is_output, ElementTypes::all, bytes_in(specs[i].dtype));
    check(role, operand, specs[i]);
    places_.push_back(operand.data());
    for (const Operand& other : operands_) {
      if (is_output && &other != &operand && operand.overlaps(other))
        fail_value(role + " must not overlap the other tensors");
    }
  }
}

}  // namespace attune::python
