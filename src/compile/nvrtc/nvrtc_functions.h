// SPDX-License-Identifier: MIT
#pragma once
#include <nvrtc.h>

#include <string>
#include <string_view>
#include <utility>

namespace attune {

/// Functions of libnvrtc that are called; X is a macro of one name.
#define ATTUNE_NVRTC_FUNCTIONS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcCompileProgram)          \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetCUBIN)                \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetProgramLog)

/// libnvrtc, opened at run time: it needs no GPU and no driver. Thread-safe.
class NvrtcLibrary {
 public:
  /// The first call opens the library (30 ms); the process keeps it. Throws unavailable, naming what to install.
  static const NvrtcLibrary& get();

  /// `13.0-f5cbe52a`: the version that the library reports, and the beginning of its file's hash. Builds of one version
  /// generate different code.
  std::string version() const;
  /// The version that the library reports. Throws unavailable.
  std::pair<int, int> version_number() const;
  /// Folder of CUDA's headers that belong to the library; empty when they are not installed with it.
  const std::string& include_folder() const noexcept { return include_folder_; }

#define ATTUNE_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
  ATTUNE_NVRTC_FUNCTIONS(ATTUNE_NVRTC_MEMBER)
#undef ATTUNE_NVRTC_MEMBER

 private:
  NvrtcLibrary();
  std::string include_folder_, file_hash_;
};

}  // namespace attune
