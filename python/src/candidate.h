// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <string>

namespace attune::python {

/// Runs one candidate of a problem, regardless of tables. `tensors`: a sequence of arrays in the order of the problem's
/// operands, the output last; each is checked against the problem's shapes and types before anything runs. Releases the
/// GIL while the kernel is compiled and runs.
void run_candidate(const std::string& problem, const std::string& candidate, nanobind::handle tensors);

}  // namespace attune::python
