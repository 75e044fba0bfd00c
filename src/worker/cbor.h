// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attune {

/// Bounds of what is decoded: a list in a list is nested twice; an item is a number, a text, a list, a key …
inline constexpr size_t kMaxCborDepth = 64, kMaxCborItems = size_t{1} << 24;

/// CBOR (RFC 8949) of a value. decode_cbor(encode_cbor(v)) == v, with the bits of every number (a NaN's too, as a byte
/// string of 8) and any bytes in texts. Texts need not be UTF-8, which is the one liberty taken with the RFC.
std::string encode_cbor(nlohmann::json value);
/// Throws invalid_input, whatever the bytes are: bytes that are no single item of definite length, deeper or more than
/// the bounds, tags, integers below -2^63, keys that are no texts. Memory is bounded by the number of items and bytes.
nlohmann::json decode_cbor(std::string_view bytes);

}  // namespace attune
