// SPDX-License-Identifier: MIT
#include "compile/cache_limit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/variable.h"

namespace attune {

CacheLimit cache_limit(uint64_t default_value) {
  const char* text = variable_or_null("ATTUNE_MAX_CACHE_BYTES");
  if (text == nullptr) return {default_value, ""};
  if (const auto number = parse_int(text); number && *number >= 0) return {static_cast<uint64_t>(*number), ""};
  return {default_value, fmt::format("ATTUNE_MAX_CACHE_BYTES expects a number of bytes, got '{}'", shown(text))};
}

}  // namespace attune
