// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace attune {

/// Has this process and its workers use the CUDA libraries of the packages of a Python program: sets ATTUNE_LIBRARIES
/// (VendorLibrary) to the folders in which PyTorch finds cuBLASLt there. `python`: a path, or a name that is looked up
/// in PATH. Runs it for some tenths of a second, without a shell. Call it before a library is opened, with no other
/// thread that reads the environment. Throws invalid_input for a program that is not there, fails, or has no such
/// package.
void use_libraries_of(const std::string& python);

}  // namespace attune
