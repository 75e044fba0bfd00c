// SPDX-License-Identifier: MIT
#include "process/channel/frame.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr std::string_view kMagic = "ATTUNE";
// Offsets of the header's fields; each field ends at the next offset.
constexpr size_t kVersionAt = 6, kNumberAt = 8, kLengthAt = 16, kHeaderSumAt = 24, kPayloadSumAt = 28;

/// Writes little-endian on every machine.
template <typename Integer>
void put(std::string& bytes, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

template <typename Integer>
Integer get(std::string_view bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return static_cast<Integer>(value);
}

uint32_t checksum(std::string_view bytes) { return static_cast<uint32_t>(hash128(bytes).low); }

}  // namespace

std::string encode_frame(const Frame& frame) {
  if (frame.payload.size() > kMaxFrameBytes) {
    fail(ErrorCode::internal, "a message to or from a worker has at most {} bytes, got {}", kMaxFrameBytes,
         frame.payload.size());
  }
  std::string bytes;
  bytes.reserve(kFrameHeaderBytes + frame.payload.size());
  bytes += kMagic;
  put(bytes, kFrameVersion);
  put(bytes, frame.number);
  put(bytes, uint64_t{frame.payload.size()});
  put(bytes, checksum(bytes));
  put(bytes, checksum(frame.payload));
  return bytes += frame.payload;
}

void FrameReader::feed(std::span<const std::byte> bytes) {
  // Bytes already returned are dropped here, and only when they are the larger part, so each byte is moved once on
  // average.
  if (at_ == buffer_.size()) {
    buffer_ = std::string();
    at_ = 0;
  } else if (at_ > buffer_.size() / 2) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::optional<Frame> FrameReader::next() {
  const auto bytes = std::string_view(buffer_).substr(at_);
  // Checked at once: a writer of plain text may never write 32 bytes.
  if (!bytes.starts_with(kMagic.substr(0, std::min(bytes.size(), kMagic.size())))) {
    fail(ErrorCode::invalid_input, "expected a frame that begins with {}, got '{}'", kMagic,
         shown(bytes.substr(0, kFrameHeaderBytes)));
  }
  if (bytes.size() < kNumberAt) return std::nullopt;
  // Checked before the checksum, which may have another offset in another version's header.
  if (const auto version = get<uint16_t>(bytes, kVersionAt); version != kFrameVersion) {
    fail(ErrorCode::invalid_input,
         "supervisor and worker must be of one build and use version {} of the channel, got version {}", kFrameVersion,
         version);
  }
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  if (checksum(bytes.substr(0, kHeaderSumAt)) != get<uint32_t>(bytes, kHeaderSumAt)) {
    fail(ErrorCode::invalid_input, "the header of a frame is corrupt: its checksum does not match");
  }
  const auto length = get<uint64_t>(bytes, kLengthAt);
  if (length > kMaxFrameBytes) {
    fail(ErrorCode::invalid_input, "a frame has at most {} bytes of payload, got {}", kMaxFrameBytes, length);
  }
  if (bytes.size() - kFrameHeaderBytes < length) return std::nullopt;
  const auto payload = bytes.substr(kFrameHeaderBytes, length);
  if (checksum(payload) != get<uint32_t>(bytes, kPayloadSumAt)) {
    fail(ErrorCode::invalid_input, "the payload of a frame is corrupt: its checksum does not match");
  }
  Frame frame{get<uint64_t>(bytes, kNumberAt), std::string(payload)};
  at_ += kFrameHeaderBytes + length;
  return frame;
}

}  // namespace attune
