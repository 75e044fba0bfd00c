// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <string>

namespace attune::python {

/// Runs a problem: one candidate of it, regardless of tables, or with None the kernel that they name. `tensors`: arrays
/// in the order of the problem's operands, the output last, or a dict of them by role; each is checked against the
/// problem's shapes and types before anything runs. `packed`: PackedOperands of the problem, whose operands `tensors`
/// omits, or None. `stream` as for CallDevice. Releases the GIL while the kernel is compiled and runs.
void run_problem(const std::string& problem, nanobind::handle candidate, nanobind::handle tensors,
                 nanobind::handle packed, nanobind::handle stream);

}  // namespace attune::python
