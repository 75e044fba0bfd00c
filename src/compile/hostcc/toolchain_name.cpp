// SPDX-License-Identifier: MIT
#include "compile/hostcc/toolchain_name.h"

#include <cctype>

namespace attune {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The first number with a dot that is a separate word: not the `12.2.0` of `(Debian 12.2.0-14+deb12u1)`.
std::string_view version_in(std::string_view text) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (!is_digit(text[begin]) || (begin > 0 && text[begin - 1] != ' ')) continue;
    size_t end = begin;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    const std::string_view number = text.substr(begin, end - begin);
    const bool whole = end == text.size() || text[end] == ' ' || text[end] == '\n';
    if (whole && number.find('.') != std::string_view::npos && number.back() != '.') return number;
    begin = end;
  }
  return {};
}

}  // namespace

std::optional<std::string> toolchain_name(std::string_view answer, std::string_view program) {
  const std::string_view line = answer.substr(0, answer.find('\n'));
  std::string name;
  std::string_view version;
  if (const size_t at = line.find("clang version "); at != std::string_view::npos) {
    // `14.0.6`, `Ubuntu clang version 18.1.3 (1ubuntu1)`, `15.0.7-rc1`
    name = "clang";
    version = line.substr(at + std::string_view("clang version ").size());
    version = version.substr(0, version.find_first_not_of("0123456789."));
  } else {
    if (answer.find("Free Software Foundation") != std::string_view::npos) name = "gcc";
    version = version_in(line);
  }
  if (version.empty()) return std::nullopt;
  if (name.empty()) {
    for (const char c : program) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name + '-' + std::string(version);
}

}  // namespace attune
