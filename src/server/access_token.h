// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace attune {

/// A secret of the server, compared in a time that does not depend on where texts differ.
class AccessToken {
 public:
  explicit AccessToken(std::string secret) : secret_(std::move(secret)) {}
  /// Reads a token: the first line of a file of this user that nobody else may read. Throws invalid_input for another
  /// file and a token of fewer than 16 characters, or with blanks.
  static AccessToken read(const std::filesystem::path& file);
  /// A new one of 256 random bits.
  static AccessToken random();

  bool matches(std::string_view text) const noexcept;
  const std::string& secret() const noexcept { return secret_; }

 private:
  std::string secret_;
};

}  // namespace attune
