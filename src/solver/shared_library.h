// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace attune {

/// Reports why a file cannot be mapped as its ELF header says: loading a truncated object would end the process with
/// SIGBUS. Empty for an intact file, and for a file that is not an ELF object, which the loader reports itself.
std::optional<std::string> why_truncated(const std::filesystem::path& file);

/// A shared object opened with RTLD_NOW and RTLD_LOCAL; closed by the destructor. Movable, not copyable.
class SharedLibrary {
 public:
  /// Throws io with the loader's reason.
  explicit SharedLibrary(const std::filesystem::path& file);
  ~SharedLibrary();
  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;

  /// Address of an exported function. Throws io for an unknown name.
  template <typename Function>
  Function function(const std::string& name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const std::string& name) const;
  void* handle_ = nullptr;
};

}  // namespace attune
