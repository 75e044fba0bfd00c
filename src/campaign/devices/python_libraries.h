// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// Makes this process and its workers use the CUDA libraries of a Python program's packages. Sets ATTUNE_LIBRARIES
/// (VendorLibrary) to the folders in which PyTorch finds cuBLASLt there. `python`: a path, or a name to look up in
/// PATH. Runs it for some tenths of a second, without a shell. Call it before a library is opened, while no other
/// thread reads the environment. Throws invalid_input if the program is missing, fails, or has no such package.
void use_libraries_of(const std::string& python);

}  // namespace attune
