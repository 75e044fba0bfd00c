// SPDX-License-Identifier: MIT
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "attune/export.h"

namespace attune {

/// The kind of an error. `main` maps it to an exit status (exit_status() in base/error.h).
enum class ErrorCode { invalid_input, not_found, unavailable, io, database, device, timeout, internal };

/// Name of a code as it appears in JSON output.
ATTUNE_API std::string_view name(ErrorCode code) noexcept;

/// The only exception type Attune throws. The message is one sentence that says what to do; its fixed text comes first,
/// the values last. Higher layers may add where it happened: `reading shapes.csv:17`.
class ATTUNE_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code), message_(message) {}
  ErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }
  /// Prepends `where: ` to the message; the layer nearest the user ends up first.
  Error& add_context(std::string_view where) {
    message_ = std::string(where) + ": " + message_;
    return *this;
  }

 private:
  ErrorCode code_;
  std::string message_;
};

}  // namespace attune
