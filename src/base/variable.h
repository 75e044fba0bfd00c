// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>

namespace attune {

/// Value of an environment variable; null if it is not set, or if this process has more rights than the user who
/// started it (setuid), who must not control it. No thread may change the environment meanwhile.
inline const char* variable_value(const char* name) noexcept { return ::secure_getenv(name); }

/// Like variable_value(), but null for an empty value, too.
inline const char* variable_or_null(const char* name) noexcept {
  const char* value = variable_value(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace attune
