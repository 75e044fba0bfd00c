// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>

#include "attune/error.h"

namespace attune {

/// Throws Error{code, formatted message}.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Exit status of the program for an error: 2 = the user's input, 3 = infrastructure (I/O, database, device), 4 = a
/// bug.
int exit_status(ErrorCode code) noexcept;

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}

}  // namespace attune

/// Ends the process on a bug. Active in release builds too; a user's input can never trigger it. Further arguments are
/// a fmt format.
#define ATTUNE_CHECK(condition, ...)                                                                            \
  do {                                                                                                          \
    if (!(condition)) ::attune::detail::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
