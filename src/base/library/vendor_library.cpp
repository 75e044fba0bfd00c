// SPDX-License-Identifier: MIT
#include "base/library/vendor_library.h"

#include <dlfcn.h>
#include <link.h>

#include "base/error.h"

namespace attune {
namespace {

void* open_first(std::span<const char* const> files, int flags) {
  for (const char* file : files) {
    if (void* const handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | flags)) return handle;
  }
  return nullptr;
}

}  // namespace

std::optional<VendorLibrary> VendorLibrary::find(const Words& words, std::span<const char* const> files) {
  void* handle = open_first(files, RTLD_NOLOAD);
  if (handle == nullptr) handle = open_first(files, 0);
  if (handle == nullptr) return std::nullopt;
  return VendorLibrary(words, handle);
}

VendorLibrary VendorLibrary::open(const Words& words, std::span<const char* const> files) {
  if (const auto library = find(words, files)) return *library;
  ::dlopen(files.front(), RTLD_NOW | RTLD_LOCAL);
  const char* const reason = ::dlerror();
  fail(ErrorCode::unavailable, "{} cannot be opened, {}: {}", words.name, words.advice,
       reason != nullptr ? reason : "the loader gives no reason");
}

void* VendorLibrary::address_of(const char* symbol) const {
  void* const address = ::dlsym(handle_, symbol);
  if (address == nullptr)
    fail(ErrorCode::unavailable, "{} is older than {}, install a newer one: it has no {}", words_.name, words_.oldest,
         symbol);
  return address;
}

std::filesystem::path VendorLibrary::file() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(map->l_name, error);
  return error ? std::filesystem::path() : file;
}

}  // namespace attune
