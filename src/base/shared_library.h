// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// Why a file cannot be mapped as the ELF object that its header promises: a truncated one would end the process with
/// SIGBUS while it is loaded. Nothing for a whole one, and for what is no ELF object: the loader says so by itself.
std::optional<std::string> why_truncated(const std::filesystem::path& file);

/// A shared object opened for this object alone (RTLD_NOW, RTLD_LOCAL); closed when it ends. Movable, not copyable.
class SharedLibrary {
 public:
  /// Throws io with the loader's reason.
  explicit SharedLibrary(const std::filesystem::path& file);
  ~SharedLibrary();
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;

  /// Address of an exported function. Throws io when there is none of that name.
  template <typename Function>
  Function function(const std::string& name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const std::string& name) const;
  void* handle_ = nullptr;
};

}  // namespace attune
