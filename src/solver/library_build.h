// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// Identifies the build of a shared library loaded in this process: the build id that its linker wrote (hexadecimal),
/// or `sha256:` and the file's hash if there is none. Distributions rebuild libraries without a new version. Empty when
/// no library of this file name (`libdnnl.so.2`) is loaded. Takes about 20 µs with a build id.
std::string library_build(std::string_view file_name);

}  // namespace attune
