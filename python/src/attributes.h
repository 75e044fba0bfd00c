// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include "gil.h"

namespace attune::python {

/// Returns an attribute; invalid if the object has none of that name. An attribute that raises another exception than
/// AttributeError (a property may) is not one that is missing: the exception is thrown, KeyboardInterrupt included.
inline nanobind::object attribute_if_any(nanobind::handle object, const char* name) {
  auto found = nanobind::steal(in_python([&] { return PyObject_GetAttrString(object.ptr(), name); }));
  if (found.is_valid()) return found;
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) nanobind::raise_python_error();
  PyErr_Clear();
  return found;
}

inline bool has_attribute(nanobind::handle object, const char* name) {
  return attribute_if_any(object, name).is_valid();
}

}  // namespace attune::python
