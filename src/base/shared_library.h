// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>

namespace attune {

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
