// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "cublas_functions.h"

namespace attune {

/// libcublas, opened at run time (0.1 s, and cuBLASLt with it), so that neither the program nor an application that
/// uses libattune pays for it before a GPU is used. In an application it is the one that is loaded there. Thread-safe.
class CublasLibrary : public CublasFunctions {
 public:
  /// The first call opens the library; the process keeps it. Throws unavailable, with the loader's reason.
  static const CublasLibrary& get();

  /// `13.1.0`.
  std::string version() const;
  /// Throws unavailable for what the library does not support, device for what fails there, unless it is a success.
  void check(cublasStatus_t status, std::string_view action) const;

 private:
  CublasLibrary();
};

}  // namespace attune
