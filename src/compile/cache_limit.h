// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/text.h"
#include "base/variable.h"

namespace attune {

/// Size to which compiled kernels may grow in the program, and in an application.
inline constexpr uint64_t kProgramCacheBytes = uint64_t{1} << 30;
inline constexpr uint64_t kApplicationCacheBytes = uint64_t{4} << 30;

/// The size set by ATTUNE_MAX_CACHE_BYTES.
struct CacheLimit {
  uint64_t bytes = 0;
  std::string error;  ///< A sentence about an invalid variable, which is ignored.
};

/// Reads the environment; no other thread may change it during the call. `default_value`: size if the variable is not
/// set. Cheap.
inline CacheLimit cache_limit(uint64_t default_value) {
  const char* text = variable_or_null("ATTUNE_MAX_CACHE_BYTES");
  if (text == nullptr) return {default_value, ""};
  if (const auto number = parse_int(text); number && *number >= 0) return {static_cast<uint64_t>(*number), ""};
  return {default_value, fmt::format("ATTUNE_MAX_CACHE_BYTES expects a number of bytes, got '{}'", shown(text))};
}

}  // namespace attune
