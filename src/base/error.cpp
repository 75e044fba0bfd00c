// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/blocked_write_signals.h"

namespace attune {

std::string_view name(ErrorCode code) noexcept {
  static constexpr std::array<std::string_view, 8> kNames = {"invalid_input", "not_found", "unavailable", "io",
                                                             "database",      "device",    "timeout",     "internal"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : kNames.back();
}

int exit_status(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_input:
    case ErrorCode::not_found:
      return 2;
    case ErrorCode::unavailable:
    case ErrorCode::io:
    case ErrorCode::database:
    case ErrorCode::device:
    case ErrorCode::timeout:
      return 3;
    case ErrorCode::internal:
      return 4;
  }
  return 4;
}

namespace {

/// The path of a source file within the repository, not on the machine that built the program.
std::string_view repository_path(std::string_view file) {
  for (const std::string_view folder : {"/src/", "/tests/"}) {
    if (const size_t at = file.rfind(folder); at != std::string_view::npos) return file.substr(at + 1);
  }
  return file;
}

}  // namespace

namespace detail {
void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  const BlockedWriteSignals blocked;
  const std::string_view path = repository_path(file);
  std::fprintf(stderr, "attune: bug at %.*s:%d: %s: %s\n", static_cast<int>(path.size()), path.data(), line, condition,
               message.c_str());
  std::abort();
}
}  // namespace detail

}  // namespace attune
