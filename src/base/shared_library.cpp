// SPDX-License-Identifier: MIT
#include "base/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/error.h"

namespace attune {
namespace {

std::string loader_reason() {
  const char* reason = ::dlerror();
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace

SharedLibrary::SharedLibrary(const std::filesystem::path& file)
    : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) fail(ErrorCode::unavailable, "a shared library does not open: {}", loader_reason());
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

void* SharedLibrary::symbol(const std::string& name) const {
  void* found = ::dlsym(handle_, name.c_str());
  if (found == nullptr) fail(ErrorCode::unavailable, "a shared library lacks a function: {}", loader_reason());
  return found;
}

}  // namespace attune
