// SPDX-License-Identifier: MIT
#include "store/fleet/kernels/hex_bytes.h"

#include <charconv>

namespace attune {

std::string bytes_of_hex(std::string_view digits) {
  constexpr int kBase = 16;
  std::string bytes(digits.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(digits.data() + 2 * i, digits.data() + 2 * i + 2, byte, kBase);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

std::string hex_of_bytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    digits += kDigits[byte / 16];
    digits += kDigits[byte % 16];
  }
  return digits;
}

}  // namespace attune
