// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "process/channel/frame.h"

namespace attune {

/// A pair of connected sockets for this process and a child. Unlike pipes, they can be written to without a signal when
/// the other end is gone. The child's end is closed in this process once the child has it.
struct ChannelPair {
  /// Throws device when the process has too many open files.
  ChannelPair();
  Descriptor ours, theirs;  ///< Ours is for a ChannelEnd.
};

/// The end of a channel that never waits: that of the process which polls it with other things. Not thread-safe.
class ChannelEnd {
 public:
  explicit ChannelEnd(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  int descriptor() const noexcept { return descriptor_.number(); }
  /// Takes a frame that write() is to send. Requires: is_sending() is false. Throws internal when it is too long.
  void send(const Frame& frame);
  bool is_sending() const noexcept { return !unsent_.empty(); }
  /// Sends what there is space for. What nobody can read any more is dropped.
  void write();
  /// Reads what is there; false once the other process has closed its end.
  bool read();
  /// Returns the next frame of what was read; throws like FrameReader::next().
  std::optional<Frame> next() { return reader_.next(); }
  /// Whether bytes were read that next() has not returned.
  bool has_rest() const noexcept { return reader_.num_pending() > 0; }

 private:
  Descriptor descriptor_;
  FrameReader reader_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(65536);  // not on the stack, which may be small
  std::string unsent_;
};

/// Whether a descriptor is an end of a ChannelPair. Other sockets might never say anything.
bool is_channel(int descriptor) noexcept;

/// The end of a channel that a child inherited, which waits.
class InheritedChannel {
 public:
  explicit InheritedChannel(int descriptor) : descriptor_(descriptor) {}

  /// Waits for a frame; nullopt when the other process is gone. Throws like FrameReader::next().
  std::optional<Frame> read();
  /// False when the other process is gone.
  bool write(const Frame& frame);

 private:
  int descriptor_;
  FrameReader reader_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(65536);  // not on the stack, which may be small
};

}  // namespace attune
