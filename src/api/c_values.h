// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <cstring>
#include <span>

#include "attune/attune.h"
#include "attune/attune_key.h"
#include "attune/dispatcher.h"
#include "attune/error.h"
#include "base/error.h"

namespace attune {

/// Throws invalid_input for the size of a struct that is no size of any version.
inline void check_size(size_t size, size_t min_size) {
  constexpr size_t kMaxSize = 4096;
  if (size < min_size || size > kMaxSize)
    fail(ErrorCode::invalid_input,
         "the field `size` of a struct must be from {} to {}, as its INIT macro sets it; got {}", min_size, kMaxSize,
         size);
}

/// Converts a caller's struct to this library's version. Fields that the caller's version lacks get the values of
/// `default_value`; fields that this version lacks must be 0, because they would be ignored. Throws invalid_input.
template <typename Struct>
Struct taken(const Struct& given, const Struct& default_value, size_t min_size) {
  check_size(given.size, min_size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t i = sizeof(Struct); i < given.size; ++i) {
    if (bytes[i] != 0)
      fail(ErrorCode::invalid_input, "a struct sets a field that this version does not know, at byte {}", i);
  }
  Struct known = default_value;
  std::memcpy(static_cast<void*>(&known), &given, given.size < sizeof(Struct) ? given.size : sizeof(Struct));
  known.size = sizeof(Struct);
  return known;
}

/// Throws invalid_input if a reserved byte is set, because a later version may give it a meaning.
inline void check_reserved(std::span<const uint8_t> reserved) {
  for (const uint8_t byte : reserved) {
    if (byte != 0) fail(ErrorCode::invalid_input, "a struct's reserved bytes must be 0, got {}", byte);
  }
}

/// Writes the part of a result that fits the caller's struct, and keeps its size. Throws invalid_input.
template <typename Struct>
void give(Struct& wanted, const Struct& result, size_t min_size) {
  const size_t size = wanted.size;
  check_size(size, min_size);
  std::memcpy(static_cast<void*>(&wanted), &result, size < sizeof(Struct) ? size : sizeof(Struct));
  wanted.size = size;
}

/// Throws invalid_input for a number that no enumerator has, and for a size below 1.
GemmKey gemm_key_of(const attune_gemm_key& key);
/// Converts a problem in text. Throws invalid_input.
GemmKey gemm_key_of(std::string_view text);
Key key_of(std::string_view text);
Key complete_key_of(std::string_view text);
/// Throws invalid_input for too many values, and for a number that no op can have.
Key key_of(const attune_key& key);
/// The same for a lookup, which finds nothing for a number that no op has.
Key looked_up_key_of(const attune_key& key);
attune_gemm_key c_key(const GemmKey& key) noexcept;
attune_key c_key(const Key& key) noexcept;
attune_hit c_hit(const Hit& hit) noexcept;
attune_counters c_counters(const DispatchCounts& counts) noexcept;
/// Throws invalid_input.
DispatcherOptions options_of(const attune_options& options);
int status_of(ErrorCode code) noexcept;

}  // namespace attune
