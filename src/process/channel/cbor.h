// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attune {

/// Bounds of a decoded value: levels of nesting (a list in a list has two), and number of items (a number, a text, a
/// list, a key …).
inline constexpr size_t kMaxCborDepth = 64, kMaxCborItems = size_t{1} << 24;

/// Encodes a value as CBOR (RFC 8949). decode_cbor(encode_cbor(v)) == v, with the bits of every number (NaNs included,
/// as a byte string of 8) and any bytes in texts. Texts need not be UTF-8; this is the only deviation from the RFC.
std::string encode_cbor(nlohmann::json value);
/// Decodes any bytes. Throws invalid_input unless they are one item of definite length within the bounds; also for
/// tags, integers below -2^63, and keys that are not texts. Memory is bounded by the number of items and bytes.
nlohmann::json decode_cbor(std::string_view bytes);

}  // namespace attune
