// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "process/channel/frame.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace attune {
namespace {

struct Reading {
  std::vector<Frame> frames;
  size_t num_pending = 0;
  bool refused = false;
  bool operator==(const Reading&) const = default;
};

/// Reads the frames of a stream that arrives in pieces of the given size.
Reading read(std::string_view stream, size_t piece) {
  Reading reading;
  FrameReader reader;
  try {
    for (size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::as_bytes(std::span(stream.substr(at, piece))));
      while (auto frame = reader.next()) reading.frames.push_back(std::move(*frame));
    }
    reading.num_pending = reader.num_pending();
  } catch (const Error&) {
    reading.refused = true;
  }
  return reading;
}

}  // namespace
}  // namespace attune

/// No mutation finds a checksum, so two of three inputs are made into one or two frames.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 3 == 0) return size;
  const std::string payload(reinterpret_cast<const char*>(data), std::min<size_t>(size, 256));
  std::string stream = attune::encode_frame({seed, payload});
  if (seed % 3 == 1) stream += attune::encode_frame({seed + 1ull, stream});
  size = std::min(stream.size(), max_size);
  std::copy_n(stream.begin(), size, data);
  return size;
}

/// Any bytes are either frames that are re-encoded unchanged, or an Error; the piece size makes no difference.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  const Reading whole = read(stream, std::max<size_t>(size, 1));
  ATTUNE_CHECK(read(stream, 1) == whole && read(stream, 37) == whole, "pieces changed a stream");
  std::string written;
  for (const Frame& frame : whole.frames) written += encode_frame(frame);
  ATTUNE_CHECK(stream.starts_with(written), "a frame changed on its way");
  ATTUNE_CHECK(whole.refused || written.size() + whole.num_pending == size, "bytes were lost");
  return 0;
}
