// SPDX-License-Identifier: MIT
#include "process/channel/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "base/hash.h"

namespace attune {
namespace {

using testing::HasSubstr;

void feed(FrameReader& reader, std::string_view bytes) { reader.feed(std::as_bytes(std::span(bytes))); }

/// The message of the Error that next() throws; empty if it throws none.
std::string refusal(FrameReader& reader) {
  try {
    reader.next();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
}
std::string refusal(std::string_view bytes) {
  FrameReader reader;
  feed(reader, bytes);
  return refusal(reader);
}

/// A header with a valid checksum of its own, for any length.
std::string header(uint64_t length) {
  std::string bytes = encode_frame({1, ""}).substr(0, 16);
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift);
  const auto sum = static_cast<uint32_t>(hash128(bytes).low);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(sum >> shift);
  return bytes + "0000";
}

TEST(Frame, LooksTheSameOnEveryMachine) {
  const std::string bytes = encode_frame({0x0102030405060708, "payload"});
  ASSERT_EQ(bytes.size(), kFrameHeaderBytes + 7);
  EXPECT_EQ(bytes.substr(0, 24), std::string("ATTUNE\x05\x00"
                                             "\x08\x07\x06\x05\x04\x03\x02\x01"
                                             "\x07\x00\x00\x00\x00\x00\x00\x00",
                                             24));
  EXPECT_EQ(hash128(bytes).hex(), "f169369b1bc4522bb9262b04b11d0a18") << "the checksums, and the payload";
}

TEST(Frame, ComesBackAsItWas) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  for (const Frame& frame : {Frame{0, ""}, Frame{std::numeric_limits<uint64_t>::max(), all_bytes},
                             Frame{7, std::string(100'000, '\0')}, Frame{8, encode_frame({9, "a frame in a frame"})}}) {
    FrameReader reader;
    feed(reader, encode_frame(frame));
    EXPECT_EQ(reader.next(), frame);
    EXPECT_EQ(reader.next(), std::nullopt);
    EXPECT_EQ(reader.num_pending(), 0u);
  }
}

TEST(Frame, SeveralInOneFeedComeOutInOrder) {
  FrameReader reader;
  feed(reader, encode_frame({1, "one"}) + encode_frame({2, ""}) + encode_frame({3, "three"}).substr(0, 34));
  EXPECT_EQ(reader.next(), (Frame{1, "one"}));
  EXPECT_EQ(reader.next(), (Frame{2, ""}));
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.num_pending(), 34u) << "a stream that ended here would be torn";
  feed(reader, encode_frame({3, "three"}).substr(34));
  EXPECT_EQ(reader.next(), (Frame{3, "three"}));
  EXPECT_EQ(reader.num_pending(), 0u);
}

TEST(Frame, ComesByteByByte) {
  std::string bytes;
  for (uint64_t number = 0; number < 20; ++number) bytes += encode_frame({number, std::string(number * 3, 'x')});
  FrameReader reader;
  uint64_t expected = 0;
  for (const char byte : bytes) {
    feed(reader, {&byte, 1});
    while (const auto frame = reader.next()) {
      EXPECT_EQ(*frame, (Frame{expected, std::string(expected * 3, 'x')}));
      ++expected;
    }
  }
  EXPECT_EQ(expected, 20u);
  EXPECT_EQ(reader.num_pending(), 0u);
}

TEST(Frame, TornAnywhereIsNoFrame) {
  const std::string bytes = encode_frame({1, "payload"});
  for (size_t size = 0; size < bytes.size(); ++size) {
    FrameReader reader;
    feed(reader, bytes.substr(0, size));
    EXPECT_EQ(reader.next(), std::nullopt) << size;
    EXPECT_EQ(reader.num_pending(), size);
  }
}

TEST(Frame, EachFlippedBitIsRefused) {
  const std::string bytes = encode_frame({1, "payload"});
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(refusal(changed), "") << "bit " << bit;
  }
}

TEST(Frame, MissingOrAddedBytesAreRefusedByTheNextFrame) {
  const std::string one = encode_frame({1, "payload"}), two = encode_frame({2, "payload"});
  for (size_t at = 0; at < one.size(); ++at) {
    EXPECT_NE(refusal(one.substr(0, at) + one.substr(at + 1) + two), "") << "without byte " << at;
  }
  FrameReader reader;
  feed(reader, one + "x" + two);
  EXPECT_EQ(reader.next()->number, 1u);
  EXPECT_THAT(refusal(reader), HasSubstr("'xATTUNE"));
}

TEST(Frame, AnotherProgramsOutputIsRefusedAtItsFirstByte) {
  EXPECT_THAT(refusal("h"), HasSubstr("expected a frame that begins with ATTUNE, got 'h'"));
  EXPECT_THAT(refusal("ATTUNER: hello\x1b"), HasSubstr("version"));
  EXPECT_THAT(refusal("warning\x1b[0m\n"), HasSubstr("'warning\\x1b[0m\\n'")) << "shown so that it harms no terminal";
}

TEST(Frame, AnotherVersionIsRefusedByItsNumber) {
  std::string bytes = encode_frame({1, ""});
  bytes[6] = 6;
  EXPECT_THAT(refusal(bytes.substr(0, 8)), HasSubstr("got version 6"));
  bytes[7] = 1;
  EXPECT_THAT(refusal(bytes), HasSubstr("got version 262"));
}

TEST(Frame, AStreamThatWasRefusedStaysSo) {
  FrameReader reader;
  std::string bytes = encode_frame({1, "payload"});
  bytes.back() = 'x';
  feed(reader, bytes);
  EXPECT_THAT(refusal(reader), HasSubstr("payload"));
  feed(reader, encode_frame({2, ""}));
  EXPECT_THAT(refusal(reader), HasSubstr("payload"));
}

TEST(Frame, ALengthIsBoundedEvenWhenTheHeaderHolds) {
  EXPECT_THAT(refusal(header(kMaxFrameBytes + 1)), HasSubstr("at most 268435456 bytes of payload, got 268435457"));
  EXPECT_THAT(refusal(header(std::numeric_limits<uint64_t>::max())), HasSubstr("got 18446744073709551615"));
  EXPECT_EQ(refusal(header(kMaxFrameBytes)), "") << "it may still come";
}

TEST(Frame, ALengthIsNotBelievedBeforeTheHeadersChecksumHolds) {
  std::string bytes = encode_frame({1, "payload"}).substr(0, kFrameHeaderBytes);
  bytes[18] = 1;  // would wait for 64 KiB more
  EXPECT_THAT(refusal(bytes), HasSubstr("the header of a frame is corrupt"));
}

TEST(Frame, WhatWasTakenIsNotKept) {
  FrameReader reader;
  const std::string bytes = encode_frame({1, std::string(1000, 'x')});
  // The pieces of the stream never end at the end of a frame.
  std::string stream;
  for (int i = 0; i < 100; ++i) stream += bytes;
  size_t num_frames = 0, max_pending = 0;
  for (size_t at = 0; at < stream.size(); at += 777) {
    feed(reader, std::string_view(stream).substr(at, 777));
    while (reader.next()) ++num_frames;
    max_pending = std::max(max_pending, reader.num_pending());
  }
  EXPECT_EQ(num_frames, 100u);
  EXPECT_LT(max_pending, bytes.size());
}

}  // namespace
}  // namespace attune
