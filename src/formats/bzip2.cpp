// SPDX-License-Identifier: MIT
#include "formats/bzip2.h"

#include <bzlib.h>

#include <algorithm>

#include "base/error.h"

namespace attune {
namespace {

constexpr int kLevel = 9;
/// bzlib counts in `unsigned`.
constexpr size_t kMaxPieceBytes = size_t{1} << 30;

/// The input and output of bzlib; it takes both in pieces.
class BzipPieces {
 public:
  BzipPieces(bz_stream& stream, std::string_view input) : stream_(stream), rest_(input) {}
  void offer() {
    if (stream_.avail_in > 0 || rest_.empty()) return;
    const size_t size = std::min(rest_.size(), kMaxPieceBytes);
    stream_.next_in = const_cast<char*>(rest_.data());  // bzlib does not write there.
    stream_.avail_in = static_cast<unsigned>(size);
    rest_.remove_prefix(size);
  }
  void make_room(std::string& output, size_t used, size_t size) {
    output.resize(size);
    stream_.next_out = output.data() + used;
    stream_.avail_out = static_cast<unsigned>(std::min(size - used, kMaxPieceBytes));
  }
  bool is_all_offered() const { return rest_.empty(); }
  size_t unread() const { return rest_.size() + stream_.avail_in; }

 private:
  bz_stream& stream_;
  std::string_view rest_;
};

size_t total_out(const bz_stream& stream) {
  return (static_cast<size_t>(stream.total_out_hi32) << 32) | stream.total_out_lo32;
}

}  // namespace

std::string bzip2(std::string_view bytes) {
  bz_stream stream{};
  if (BZ2_bzCompressInit(&stream, kLevel, 0, 0) != BZ_OK) fail(ErrorCode::internal, "bzip2 cannot be started");
  BzipPieces pieces(stream, bytes);
  std::string output;
  int status = BZ_RUN_OK;
  do {
    pieces.offer();
    // At least what bzlib states as its bound for incompressible input.
    const size_t used = total_out(stream);
    if (stream.avail_out == 0) pieces.make_room(output, used, std::max(used * 2, bytes.size() / 4 + 1024));
    status = BZ2_bzCompress(&stream, pieces.is_all_offered() ? BZ_FINISH : BZ_RUN);
  } while (status == BZ_RUN_OK || status == BZ_FINISH_OK);
  output.resize(total_out(stream));
  BZ2_bzCompressEnd(&stream);
  ATTUNE_CHECK(status == BZ_STREAM_END, "bzip2 ended with {}", status);
  return output;
}

std::string bunzip2(std::string_view bytes, uint64_t max_bytes) {
  bz_stream stream{};
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) fail(ErrorCode::internal, "bzip2 cannot be started");
  BzipPieces pieces(stream, bytes);
  std::string output;
  int status = BZ_OK;
  bool is_cut = false;
  while (status == BZ_OK && !is_cut) {
    pieces.offer();
    const size_t used = total_out(stream);
    if (used > max_bytes) break;
    // One byte more than allowed tells a larger content from one that just fits.
    const size_t room = std::min<uint64_t>(max_bytes + 1, std::max<size_t>(used * 2, 64 << 10));
    if (stream.avail_out == 0) pieces.make_room(output, used, room);
    const size_t unread = pieces.unread();
    status = BZ2_bzDecompress(&stream);
    is_cut = status == BZ_OK && pieces.unread() == 0 && unread == 0 && total_out(stream) == used;
  }
  const size_t size = total_out(stream), unread = pieces.unread();
  BZ2_bzDecompressEnd(&stream);
  if (size > max_bytes)
    fail(ErrorCode::invalid_input, "the bzip2 stream expands to more than the {} bytes that it may have", max_bytes);
  if (is_cut) fail(ErrorCode::invalid_input, "the bzip2 stream is cut");
  if (status != BZ_STREAM_END) fail(ErrorCode::invalid_input, "the bytes are no whole bzip2 stream");
  if (unread > 0) fail(ErrorCode::invalid_input, "{} bytes follow the bzip2 stream", unread);
  output.resize(size);
  return output;
}

}  // namespace attune
