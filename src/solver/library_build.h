// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

namespace attune {

/// Which build of a shared library is loaded in this process: the build id that its linker wrote (hexadecimal), or
/// `sha256:` and the file's hash where there is none. A distribution rebuilds a library without a new version. Empty
/// when no library of this file name (`libdnnl.so.2`) is loaded. About 20 µs with a build id.
std::string library_build(std::string_view file_name);

}  // namespace attune
