// SPDX-License-Identifier: MIT
#include "process/channel/cbor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace attune {
namespace {

using nlohmann::json;

/// Validates an encoded item without decoding it. nlohmann::json recurses into nested items and wraps integers that do
/// not fit, so it only gets bytes that passed this check.
class CborCheck {
 public:
  explicit CborCheck(std::string_view bytes) : bytes_(bytes) {}

  void run() {
    size_t num_items = 0;
    do {
      if (++num_items > kMaxCborItems) refuse("more items than a message may have");
      item();
      while (depth_ > 0 && left_[depth_ - 1] == 0) --depth_;
    } while (depth_ > 0);
    if (at_ != bytes_.size()) refuse("bytes after the end");
  }

 private:
  enum Major : uint8_t { positive, negative, binary, text, list, map, tag, simple };

  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorCode::invalid_input, "a message of the worker's channel is not valid CBOR at byte {}: {}", at_, why);
  }
  size_t num_left() const { return bytes_.size() - at_; }

  uint64_t take(size_t size) {
    if (num_left() < size) refuse("the end is missing");
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
    return value;
  }

  void item() {
    // The item counts as one of the items of its list.
    if (depth_ > 0) --left_[depth_ - 1];
    const auto first = static_cast<uint8_t>(take(1));
    const auto major = static_cast<Major>(first >> 5);
    const uint8_t info = first & 31;
    if (info > 27) refuse("an indefinite length");
    const uint64_t argument = info < 24 ? info : take(size_t{1} << (info - 24));
    if (major == negative && argument > uint64_t{std::numeric_limits<int64_t>::max()}) refuse("an integer below -2^63");
    if (major == binary || major == text) {
      if (argument > num_left()) refuse("the end is missing");
      at_ += argument;
    }
    if (major == list || major == map) enter(argument, major == map ? 2 : 1);
    if (major == tag) refuse("a tag");
    // False, true, null; floating-point numbers of 2, 4 and 8 bytes.
    if (major == simple && (info < 20 || info == 23 || info == 24)) refuse("a value that JSON does not have");
  }

  void enter(uint64_t length, uint64_t items_each) {
    // Every item has at least one byte.
    if (length > num_left() / items_each) refuse("the end is missing");
    if (depth_ == kMaxCborDepth) refuse("nested too deep");
    left_[depth_++] = length * items_each;
  }

  std::string_view bytes_;
  size_t at_ = 0, depth_ = 0;
  std::array<uint64_t, kMaxCborDepth> left_{};  ///< Items still expected in each open list or map.
};

/// nlohmann::json writes every NaN with the same bits.
void pack_nans(json& value) {
  if (value.is_structured()) {
    for (json& inner : value) pack_nans(inner);
  } else if (value.is_number_float() && std::isnan(value.get<double>())) {
    const auto bits = std::bit_cast<uint64_t>(value.get<double>());
    json::binary_t bytes;
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(bits >> shift));
    value = json::binary(std::move(bytes));
  }
}

void unpack_nans(json& value) {
  if (value.is_structured()) {
    for (json& inner : value) unpack_nans(inner);
  } else if (value.is_binary()) {
    uint64_t bits = 0;
    for (const uint8_t byte : value.get_binary()) bits = bits << 8 | byte;
    const auto number = std::bit_cast<double>(bits);
    if (value.get_binary().size() != sizeof(double) || !std::isnan(number)) {
      fail(ErrorCode::invalid_input, "a byte string in a message must hold the bits of a NaN, got {} bytes",
           value.get_binary().size());
    }
    value = number;
  }
}

}  // namespace

std::string encode_cbor(json value) {
  pack_nans(value);
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

json decode_cbor(std::string_view bytes) {
  CborCheck(bytes).run();
  try {
    json value = json::from_cbor(bytes.begin(), bytes.end());
    unpack_nans(value);
    return value;
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "a message of the worker's channel is not valid CBOR: {}", error.what());
  }
}

}  // namespace attune
