// SPDX-License-Identifier: MIT
#include "base/sha256.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace attune {
namespace {

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, ReadsAFileOfSeveralPieces) {
  std::string path = (std::filesystem::temp_directory_path() / "attune_sha256_XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  ASSERT_GE(descriptor, 0);
  ::close(descriptor);
  std::string content(200'000, 'a');
  content += '\0';
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(sha256_of_file(path), sha256(content));
  content[150'000] = 'b';
  EXPECT_NE(sha256_of_file(path), sha256(content));
  std::filesystem::remove(path);
  EXPECT_THROW(sha256_of_file(path), Error);
}

}  // namespace
}  // namespace attune
