// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>

namespace attune {

/// The value of a variable of the environment; null: it is not set, or this process has rights that who started it has
/// not (setuid) and is not to be steered by it. No thread may change the environment meanwhile.
inline const char* variable_value(const char* name) noexcept { return ::secure_getenv(name); }

/// The same; null for an empty value, too.
inline const char* variable_or_null(const char* name) noexcept {
  const char* value = variable_value(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace attune
