// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune::python {

/// Makes attune::Error reach Python as its code's class in attune.errors.
void register_errors();

/// Raise ValueError or TypeError for a wrong argument.
[[noreturn]] void fail_value(const std::string& sentence);
[[noreturn]] void fail_type(const std::string& sentence);

}  // namespace attune::python
