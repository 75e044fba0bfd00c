// SPDX-License-Identifier: MIT
#include "errors.h"

#include <attune/error.h>
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace attune::python {
namespace {

/// attune.errors.CLASSES, which maps the name of a code to its class. Never released, because the module is not
/// unloaded.
PyObject* classes = nullptr;

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyObject* type = PyDict_GetItemString(classes, name(error.code()).data());
    PyErr_SetString(type == nullptr ? PyExc_RuntimeError : type, error.what());
  }
}

}  // namespace

void register_errors() {
  classes = nb::object(nb::module_::import_("attune.errors").attr("CLASSES")).release().ptr();
  nb::register_exception_translator(translate);
}

void fail_value(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }
void fail_type(const std::string& sentence) { throw nb::type_error(sentence.c_str()); }

}  // namespace attune::python
