// SPDX-License-Identifier: MIT
#include "solver/own_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/error.h"

namespace attune {

std::string library_of(const void* function) {
  Dl_info info{};
  if (!dladdr(function, &info) || !info.dli_fname) return {};
  return std::filesystem::path(info.dli_fname).filename().string();
}

void require_library(const void* function, std::string_view symbol, std::string_view name) {
  const std::string found = library_of(function);
  if (!found.starts_with(name)) {
    fail(ErrorCode::unavailable, "{} is called from another library than {}: '{}'", symbol, name, found);
  }
}

}  // namespace attune
