// SPDX-License-Identifier: MIT
#include "compile/nvrtc/nvrtc_functions.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/library/vendor_library.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// By name, for the loader, and at the default path of the toolkit.
constexpr const char* kFiles[] = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
                                  "/usr/local/cuda/lib64/libnvrtc.so.12"};

constexpr VendorLibrary::Description kDescription{"NVRTC", "version 12", "nvrtcVersion",
                                                  "install the CUDA toolkit's libraries"};

/// Toolkits have sibling folders `lib64/` and `include/`, PyPI's packages `lib/` and `include/`.
std::string find_includes(const fs::path& file) {
  std::error_code error;
  for (fs::path folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "include/cuda_bf16.h", error)) return folder / "include";
  }
  return {};
}

}  // namespace

NvrtcLibrary::NvrtcLibrary() {
  // Ignores libraries that the application has loaded: kernels are named after the toolchain that compiles them, in a
  // helper.
  const VendorLibrary library = VendorLibrary::open(kDescription, kFiles, LibraryChoice::listed);
#define ATTUNE_NVRTC_LOAD(name) library.load(#name, name);
  ATTUNE_NVRTC_FUNCTIONS(ATTUNE_NVRTC_LOAD)
#undef ATTUNE_NVRTC_LOAD
  const fs::path file = library.file();
  include_folder_ = find_includes(file);
  file_hash_ = hash128(read_file(file)).hex().substr(0, 8);  // 0.1 GB, 30 ms.
}

const NvrtcLibrary& NvrtcLibrary::get() {
  static const NvrtcLibrary& library = *new NvrtcLibrary;  // Never destroyed: threads may end after main().
  return library;
}

std::pair<int, int> NvrtcLibrary::version_number() const {
  std::pair<int, int> number;
  if (nvrtcVersion(&number.first, &number.second) != NVRTC_SUCCESS)
    fail(ErrorCode::unavailable,
         "NVRTC does not tell its version: install NVRTC of the CUDA toolkit 12 or 13 again (libnvrtc.so)");
  return number;
}

std::string NvrtcLibrary::version() const {
  const auto [major, minor] = version_number();
  return fmt::format("{}.{}-{}", major, minor, file_hash_);
}

}  // namespace attune
