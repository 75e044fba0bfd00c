// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// File of the shared library that contains a function, by dladdr. Empty if unknown.
std::string library_of(const void* function);

/// Throws unavailable unless the function lies in a library whose file name starts with `name`. OpenBLAS, BLIS and MKL
/// export the same symbols, and a module that called another's symbol would measure the wrong library.
void require_library(const void* function, std::string_view symbol, std::string_view name);

}  // namespace attune
