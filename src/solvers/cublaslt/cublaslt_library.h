// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "cublaslt_functions.h"

namespace attune {

/// libcublasLt, opened at run time (0.1 to 0.3 s and 200 MB), so that neither the program nor an application that uses
/// libattune pays for it before a GPU is used. In an application it is the one that is loaded there. Thread-safe.
class CublasltLibrary : public CublasltFunctions {
 public:
  /// The first call opens the library; the process keeps it. Throws unavailable, with the loader's reason.
  static const CublasltLibrary& get();

  /// `13.1.0`.
  std::string version() const;
  /// Throws unavailable for what the library does not support, device for what fails there, unless it is a success.
  void check(cublasStatus_t status, std::string_view action) const;

 private:
  CublasltLibrary();
};

}  // namespace attune
