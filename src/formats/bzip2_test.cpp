// SPDX-License-Identifier: MIT
#include "formats/bzip2.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string bzip2_error(std::string_view stream, uint64_t max_bytes) {
  try {
    bunzip2(stream, max_bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Bzip2, GivesBackWhatItCompressed) {
  std::string noise(300'000, '\0');
  uint32_t state = 1;
  for (char& one : noise) one = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const std::string& bytes : {std::string(), std::string("kernel"), std::string(1'000'000, 'a'), noise}) {
    const std::string stream = bzip2(bytes);
    EXPECT_EQ(stream.substr(0, 4), "BZh9");
    EXPECT_EQ(bunzip2(stream, bytes.size()), bytes);
  }
}

TEST(Bzip2, AStreamIsBounded) {
  const std::string bomb = bzip2(std::string(50'000'000, '\0'));
  EXPECT_LT(bomb.size(), 1000u);
  EXPECT_THAT(bzip2_error(bomb, 4096), HasSubstr("expands to more than the 4096 bytes"));
  EXPECT_THAT(bzip2_error(bzip2("12345"), 4), HasSubstr("expands to more than the 4 bytes"));
  EXPECT_THAT(bzip2_error(bzip2("1"), 0), HasSubstr("expands to more than the 0 bytes"));
}

TEST(Bzip2, ADamagedStreamIsRefused) {
  const std::string stream = bzip2(std::string(1000, 'k') + "ernel");
  EXPECT_THAT(bzip2_error(stream.substr(0, stream.size() - 5), 4096), HasSubstr("cut"));
  EXPECT_THAT(bzip2_error("", 4096), HasSubstr("cut"));
  EXPECT_THAT(bzip2_error("not bzip2 at all", 4096), HasSubstr("no whole bzip2 stream"));
  EXPECT_THAT(bzip2_error(stream + "more", 4096), HasSubstr("4 bytes follow"));
  std::string damaged = stream;
  damaged[stream.size() / 2] = static_cast<char>(damaged[stream.size() / 2] ^ 0x10);
  EXPECT_NE(bzip2_error(damaged, 4096), "accepted");
}

}  // namespace
}  // namespace attune
