// SPDX-License-Identifier: MIT
#include "base/library/vendor_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/library/library_file.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {
namespace {

using Description = VendorLibrary::Description;

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;

/// A file of the list: its handle, or why it has none.
struct OpenResult {
  void* handle = nullptr;
  std::string reason{};
  bool is_there = false;  ///< Whether the reason is about a file that was found.
};

std::string loader_reason() {
  const char* const reason = ::dlerror();
  return reason != nullptr ? reason : "the loader gives no reason";
}

void* loaded(const char* file, const Description& description) {
  void* const handle = ::dlopen(file, kFlags | RTLD_NOLOAD);
  return handle != nullptr && ::dlsym(handle, description.symbol) != nullptr ? handle : nullptr;
}

OpenResult opened(const char* file, const Description& description) {
  if (void* const handle = loaded(file, description)) return {handle};
  const std::filesystem::path path = library_file(file);
  if (std::string flaw = flaw_of_library(path); !flaw.empty()) return {nullptr, std::move(flaw), true};
  void* const handle = ::dlopen(file, kFlags);
  if (handle == nullptr) return {nullptr, loader_reason(), !path.empty()};
  if (::dlsym(handle, description.symbol) != nullptr) return {handle};
  ::dlclose(handle);
  return {nullptr, fmt::format("another library has its name, without {}: '{}'", description.symbol, path.string()),
          true};
}

/// Those of ATTUNE_LIBRARIES that have a file of one of these names.
std::vector<std::string> files_in_stated_folders(std::span<const char* const> files) {
  std::vector<std::string> found;
  const char* const folders = variable_or_null("ATTUNE_LIBRARIES");
  if (folders == nullptr) return found;
  for (const std::string_view folder : split(folders, ':')) {
    if (!folder.starts_with('/')) continue;
    for (const char* file : files) {
      const std::filesystem::path path = std::filesystem::path(folder) / file;
      std::error_code error;
      if (std::string_view(file).find('/') == std::string_view::npos && std::filesystem::exists(path, error))
        found.push_back(path.string());
    }
  }
  return found;
}

OpenResult first_of(std::span<const char* const> files, const Description& description, LibraryChoice choice) {
  for (const char* file : files) {
    if (choice == LibraryChoice::listed) break;
    if (void* const handle = loaded(file, description)) return {handle};
  }
  OpenResult refused;
  const auto is_open = [&](const char* file) {
    OpenResult one = opened(file, description);
    const bool has_handle = one.handle != nullptr;
    if (has_handle || refused.reason.empty() || (one.is_there && !refused.is_there)) refused = std::move(one);
    return has_handle;
  };
  for (const std::string& file :
       choice == LibraryChoice::of_driver ? std::vector<std::string>() : files_in_stated_folders(files)) {
    if (is_open(file.c_str())) return refused;
  }
  for (const char* file : files) {
    if (is_open(file)) return refused;
  }
  return refused;
}

[[noreturn]] void fail_to_open(const Description& description, const OpenResult& refused) {
  fail(ErrorCode::unavailable, "{} cannot be opened, {}: {}", description.name, description.advice, refused.reason);
}

}  // namespace

std::optional<VendorLibrary> VendorLibrary::find(const Description& description, std::span<const char* const> files,
                                                 LibraryChoice choice) {
  const OpenResult first = first_of(files, description, choice);
  if (first.handle != nullptr) return VendorLibrary(description, first.handle);
  if (!first.is_there) return std::nullopt;
  fail_to_open(description, first);
}

VendorLibrary VendorLibrary::open(const Description& description, std::span<const char* const> files,
                                  LibraryChoice choice) {
  const OpenResult first = first_of(files, description, choice);
  if (first.handle == nullptr) fail_to_open(description, first);
  return {description, first.handle};
}

void* VendorLibrary::address_of(const char* symbol) const {
  void* const address = ::dlsym(handle_, symbol);
  if (address == nullptr)
    fail(ErrorCode::unavailable, "{} is older than {}, install a newer one: it has no {}", description_.name,
         description_.oldest, symbol);
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
