// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace attune {

/// Which of several installed versions of a library is opened: one that the process has loaded already, so that its
/// application and we share one runtime; the first of our list, the same in every process; or the one of the machine's
/// driver, which a package of libraries has no other version of: as `loaded`, but never one of ATTUNE_LIBRARIES.
enum class LibraryChoice : uint8_t { loaded, listed, of_driver };

/// A vendor's shared library that is opened at run time, so that nobody pays for it before it is used. The process
/// keeps it: drivers and runtimes with threads of their own cannot be unloaded. Thread-safe.
class VendorLibrary {
 public:
  /// What tells a library from others, and how messages speak of it. `name`: `cuBLASLt`. `oldest`: the oldest version
  /// that has all functions, `version 12`. `symbol`: a function that every version has. `advice`: `install the CUDA
  /// toolkit's libraries`.
  struct Description {
    const char* name;
    const char* oldest;
    const char* symbol;
    const char* advice;
  };

  /// Opens the first of `files` (names that the loader looks up, or paths) that can be opened; with
  /// LibraryChoice::loaded one that the process has loaded comes before, and then, also with `listed`, those of the
  /// names that are in the folders (absolute, joined by colons) of ATTUNE_LIBRARIES. A file that is cut off, and
  /// another library of that name, cannot be opened. Throws unavailable with the reason for the first file that is
  /// there, or the first.
  static VendorLibrary open(const Description& description, std::span<const char* const> files,
                            LibraryChoice choice = LibraryChoice::loaded);
  /// Like open(), but returns nothing where no such file is found.
  static std::optional<VendorLibrary> find(const Description& description, std::span<const char* const> files,
                                           LibraryChoice choice = LibraryChoice::loaded);

  /// Sets `function` to the library's function of that name. Throws unavailable, saying that the library is too old.
  template <typename Function>
  void load(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(address_of(symbol));
  }

  /// The file it was loaded from, links followed. Empty if unknown.
  std::filesystem::path file() const;

 private:
  VendorLibrary(const Description& description, void* handle) : description_(description), handle_(handle) {}
  void* address_of(const char* symbol) const;

  Description description_;
  void* handle_;
};

}  // namespace attune
