// SPDX-License-Identifier: MIT
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "attune/export.h"

namespace attune {

/// Why an operation could not go on. `main` maps it to an exit status (see base/exit_status.h).
enum class ErrorCode { invalid_input, not_found, unavailable, io, database, device, timeout, internal };

/// Name of a code as it appears in JSON output.
ATTUNE_API std::string_view name(ErrorCode code) noexcept;

/// The only exception type Attune throws. The message has its fixed text first and the values last, says what to do,
/// and is one sentence. Layers above may add where they were: `reading shapes.csv:17`.
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
