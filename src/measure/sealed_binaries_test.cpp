// SPDX-License-Identifier: MIT
#include "measure/sealed_binaries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace attune {
namespace {

class SealedBinariesTest : public testing::Test {
 protected:
  ~SealedBinariesTest() override { std::filesystem::remove_all(folder_); }
  Binary put(const std::string& name, const std::string& content) {
    std::filesystem::create_directories(folder_);
    write_file_atomically(folder_ / name, content);
    return {.recipe = name, .sha256 = sha256(content), .file = folder_ / name};
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("attune_sealed." + std::to_string(::getpid()));
  SealedBinaries sealed_;
};

TEST_F(SealedBinariesTest, AreTheBytesThatWereHashedWhateverBecomesOfTheFile) {
  const Binary kernel = put("kernel", "good"), pack = put("pack", "also good");
  const auto loaded = sealed_.load(std::vector{kernel, pack});
  put("kernel", "evil");
  std::filesystem::remove(pack.file);
  EXPECT_EQ(read_file(loaded[0].file), "good");
  EXPECT_EQ(read_file(loaded[1].file), "also good");
  EXPECT_NE(loaded[0].file, loaded[1].file);
  EXPECT_EQ(sealed_.load(std::vector{kernel})[0].file, loaded[0].file) << "one content has one name";
  EXPECT_THROW(write_file_atomically(loaded[0].file, "x"), Error);
}

TEST_F(SealedBinariesTest, AFileThatIsNotWhatWasCompiledIsNoVerdict) {
  const Binary kernel = put("kernel", "good");
  put("kernel", "evil");
  try {
    sealed_.load(std::vector{kernel});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);  // load_failed: transient, so the next run tries again
  }
  put("kernel", "good");
  EXPECT_EQ(read_file(sealed_.load(std::vector{kernel})[0].file), "good");
}

/// A search over a whole space of a GPU loads thousands.
TEST_F(SealedBinariesTest, OfThousandsOnlyTheLastAreOpen) {
  const auto first = put("first", "content of the first");
  sealed_.load(std::vector{first});
  std::string last;
  for (size_t i = 0; i < 2 * SealedBinaries::kMaxOthers; ++i) {
    const Binary next = put("kernel", "content " + std::to_string(i));
    last = sealed_.load(std::vector{next})[0].file;
    EXPECT_EQ(read_file(last), "content " + std::to_string(i));
  }
  EXPECT_LT(std::stoul(last.substr(last.rfind('/') + 1)), SealedBinaries::kMaxOthers + 64);
  EXPECT_EQ(read_file(sealed_.load(std::vector{first})[0].file), "content of the first") << "it is read again";
}

TEST_F(SealedBinariesTest, NoneOfOneCallIsClosedForAnother) {
  const Binary old = put("old", "content of the old");
  sealed_.load(std::vector{old});
  for (size_t i = 1; i < SealedBinaries::kMaxOthers; ++i)
    sealed_.load(std::vector{put("kernel", "content " + std::to_string(i))});
  const auto both = sealed_.load(std::vector{old, put("new", "content of the new")});
  EXPECT_EQ(read_file(both[0].file), "content of the old");
  EXPECT_EQ(read_file(both[1].file), "content of the new");
}

TEST_F(SealedBinariesTest, OneWhoseDescriptorACandidateClosedIsRefused) {
  const Binary kernel = put("kernel", "good");
  const auto file = sealed_.load(std::vector{kernel})[0].file.string();
  ::close(std::stoi(file.substr(file.rfind('/') + 1)));
  EXPECT_THROW(sealed_.load(std::vector{kernel}), Error);
}

}  // namespace
}  // namespace attune
