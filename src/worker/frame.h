// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace attune {

/// One message on a channel between supervisor and worker: a header of 32 bytes, then the payload
/// (docs/formats/worker.md). `number`: of the request; an answer carries its request's, so that an answer nobody waits
/// for is a protocol error.
struct Frame {
  uint64_t number = 0;
  std::string payload;  ///< CBOR; at most kMaxFrameBytes.
  bool operator==(const Frame&) const = default;
};
inline constexpr uint16_t kFrameVersion = 2;
inline constexpr size_t kFrameHeaderBytes = 32, kMaxFrameBytes = size_t{256} << 20;

/// The bytes of a frame. Throws internal when the payload is too long.
std::string encode_frame(const Frame& frame);

/// Takes a byte stream apart. Bounded: holds no more than one frame and what was fed beyond it, and believes a length
/// only once the header's own checksum holds.
class FrameReader {
 public:
  void feed(std::span<const std::byte> bytes);
  /// The next whole frame, or nothing yet. Throws invalid_input for bytes that are no frame (another program's output,
  /// a torn or a changed one, another version), as soon as the first of them cannot be: the stream cannot be used any
  /// more, and each further call throws again.
  std::optional<Frame> next();
  /// Bytes fed and not yet taken: a stream that ends with some was torn.
  size_t num_pending() const noexcept { return buffer_.size() - at_; }

 private:
  std::string buffer_;
  size_t at_ = 0;
};

}  // namespace attune
