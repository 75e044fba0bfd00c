// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace attune {

/// A vendor's shared library that is opened at run time, so that nobody pays for it before it is used. The process
/// keeps it: drivers and runtimes with threads of their own cannot be unloaded. Thread-safe.
class VendorLibrary {
 public:
  /// How messages speak of a library. `name`: `cuBLASLt`. `oldest`: the oldest version that has all functions, `version
  /// 12`. `advice`: `install the CUDA toolkit's libraries`.
  struct Words {
    const char* name;
    const char* oldest;
    const char* advice;
  };

  /// Opens the first of `files` (names that the loader looks up, or paths) that the process has loaded already; if it
  /// has none, the first that can be opened. Throws unavailable with the loader's reason for the first file.
  static VendorLibrary open(const Words& words, std::span<const char* const> files);
  /// Like open(), but returns nothing where none can be opened.
  static std::optional<VendorLibrary> find(const Words& words, std::span<const char* const> files);

  /// Sets `function` to the library's function of that name. Throws unavailable, saying that the library is too old.
  template <typename Function>
  void load(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(address_of(symbol));
  }

  /// The file it was loaded from, links followed. Empty if unknown.
  std::filesystem::path file() const;

 private:
  VendorLibrary(const Words& words, void* handle) : words_(words), handle_(handle) {}
  void* address_of(const char* symbol) const;

  Words words_;
  void* handle_;
};

}  // namespace attune
