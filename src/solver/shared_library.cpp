// SPDX-License-Identifier: MIT
#include "solver/shared_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"

namespace attune {
namespace {

std::string loader_reason() {
  const char* reason = ::dlerror();
  return reason != nullptr ? reason : "no reason given";
}

}  // namespace

std::optional<std::string> why_truncated(const std::filesystem::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto read = [&](void* record, size_t size, uint64_t offset) {
    return ::pread(descriptor.number(), record, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  };
  ElfW(Ehdr) header{};
  if (descriptor.number() < 0 || !read(&header, sizeof header, 0)) return std::nullopt;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)))
    return std::nullopt;
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(file, error);
  for (int i = 0; i < header.e_phnum && !error; ++i) {
    ElfW(Phdr) segment{};
    const bool is_there = read(&segment, sizeof segment, header.e_phoff + static_cast<uint64_t>(i) * sizeof segment);
    if (is_there && (segment.p_filesz > bytes || segment.p_offset > bytes - segment.p_filesz))
      return fmt::format("the file is truncated, copy it again: it has {} bytes, its segments end later: '{}'", bytes,
                         file.string());
    if (!is_there) return fmt::format("the file is truncated, copy it again: '{}'", file.string());
  }
  return std::nullopt;
}

SharedLibrary::SharedLibrary(const std::filesystem::path& file) {
  if (const auto why = why_truncated(file)) fail(ErrorCode::io, "cannot open a compiled kernel: {}", *why);
  handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr && is_mounted_noexec(file))
    fail(ErrorCode::io, "compiled kernels lie in a folder that is mounted noexec, set ATTUNE_CACHE to another: '{}'",
         file.string());
  if (handle_ == nullptr)
    fail(ErrorCode::io, "cannot open a compiled kernel, `attune kernels clear` has it compiled again: {}",
         loader_reason());
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
  if (found == nullptr) fail(ErrorCode::io, "a shared library lacks a function: {}", loader_reason());
  return found;
}

}  // namespace attune
