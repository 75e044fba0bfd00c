// SPDX-License-Identifier: MIT
#include "server/access_token.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/descriptor.h"
#include "base/error.h"

namespace attune {

AccessToken AccessToken::read(const std::filesystem::path& file) {
  constexpr size_t kMinLength = 16, kMaxLength = 512;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (opened.number() < 0 || ::fstat(opened.number(), &status) != 0 || !S_ISREG(status.st_mode))
    fail(ErrorCode::invalid_input, "a token file must be a plain file, not a link: '{}'", file.string());
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    fail(ErrorCode::invalid_input, "a token file must be yours and for nobody else to read, run chmod 600 on it: '{}'",
         file.string());
  std::array<char, kMaxLength + 2> bytes{};
  const ssize_t size = ::read(opened.number(), bytes.data(), bytes.size());
  std::string token(bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (token.ends_with('\n')) token.pop_back();
  const bool is_plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (token.size() < kMinLength || token.size() > kMaxLength || !is_plain)
    fail(ErrorCode::invalid_input,
         "a token is one line of {} to {} printable characters without blanks, make one with `openssl rand -hex 32`: "
         "'{}'",
         kMinLength, kMaxLength, file.string());
  return AccessToken(std::move(token));
}

AccessToken AccessToken::random() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail(ErrorCode::io, "the system has no random numbers for a session");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return AccessToken(std::move(text));
}

bool AccessToken::matches(std::string_view text) const noexcept {
  // The length is no secret: a session's is always the same, and a token's is in the documentation.
  if (text.size() != secret_.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < text.size(); ++i)
    difference |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(secret_[i]);
  return difference == 0;
}

}  // namespace attune
