// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "operator_interface.h"

namespace attune {

/// The variable that names the library of PyTorch's operators, which the Python package compiles. Its file is opened in
/// a process that uses the solver and nowhere else.
inline constexpr const char* kOperatorsVariable = "ATTUNE_TORCH_OPERATORS";

/// The opened library, which the process keeps.
struct TorchLibrary {
  const python::TorchOperators* operators;
  /// PyTorch's version and a hash of its build: `1.13.0.8d3f0c21`. The hash is of what PyTorch says about its build and
  /// this machine, and of the size of its library, because builds of one version differ.
  std::string version;
};

/// Opens the library of a path. Calls of PyTorch's stay within its own libraries (open_separately()). Throws
/// unavailable, with what to do, for a file that is none, is cut off, could have been written by other users, or
/// belongs to another version of Attune. The first call takes as long as `import torch` does in its libraries.
TorchLibrary open_torch_library(const std::string& file);

}  // namespace attune
