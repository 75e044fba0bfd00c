// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune::python {

/// From now on attune::Error reaches Python as the class of its code in attune.errors.
void register_errors();

/// A mistake in an argument: its value, its type.
[[noreturn]] void fail_value(const std::string& sentence);
[[noreturn]] void fail_type(const std::string& sentence);

}  // namespace attune::python
