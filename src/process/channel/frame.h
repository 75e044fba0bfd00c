// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace attune {

/// One message on a channel between two processes of this program: a header of 32 bytes, then the payload
/// (docs/formats/worker.md). `number` counts requests. An answer carries the number of its request, so that an
/// unexpected answer is a protocol error.
struct Frame {
  uint64_t number = 0;
  std::string payload;  ///< CBOR; at most kMaxFrameBytes.
  bool operator==(const Frame&) const = default;
};
inline constexpr uint16_t kFrameVersion = 5;
inline constexpr size_t kFrameHeaderBytes = 32, kMaxFrameBytes = size_t{256} << 20;

/// Returns the bytes of a frame. Throws internal when the payload is too long.
std::string encode_frame(const Frame& frame);

/// Splits a byte stream into frames. Memory is bounded: it holds at most one frame and what was fed beyond it, and uses
/// a length only after the header's checksum was verified.
class FrameReader {
 public:
  void feed(std::span<const std::byte> bytes);
  /// Returns the next whole frame, or nullopt if it is incomplete. Throws invalid_input as soon as the bytes cannot be
  /// a frame (another program's output, a torn or changed frame, another version). The stream cannot be used any more
  /// after that: each further call throws again.
  std::optional<Frame> next();
  /// Bytes fed and not returned yet; if some remain when a stream ends, it was torn.
  size_t num_pending() const noexcept { return buffer_.size() - at_; }

 private:
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace attune
