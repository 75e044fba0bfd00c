// SPDX-License-Identifier: MIT
#include "formats/kernel_archive/kernel_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kBlock = 512;

class KernelArchive : public testing::Test {
 protected:
  KernelArchive() {
    for (const char* recipe : {"a", "b"}) {
      const fs::path file = folder_.path() / "out";
      write_file_atomically(file, "kernel " + std::string(recipe));
      from_.add({.arch = "sm_90",
                 .recipe = recipe,
                 .toolchain = "nvrtc-12.8",
                 .sha256 = "",
                 .file = file,
                 .metadata = {{"n", "1"}}});
    }
  }
  std::string archive() {
    EXPECT_EQ(kernel_archive::write(file_, from_), 2u);
    return read_file(file_);
  }
  /// Puts a text, which may be longer, at a place of a header, and signs the header.
  static void put(std::string& text, size_t header, size_t at, const std::string& value) {
    text.replace(header + at, value.size(), value);
    uint64_t sum = 8 * ' ';
    for (size_t i = 0; i < kBlock; ++i) {
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(text[header + i]);
    }
    text.replace(header + 148, 8, fmt::format("{:07o}", sum) + std::string(1, '\0'));
  }
  static void flip(std::string& text, size_t at) { text[at] = static_cast<char>(text[at] ^ 4); }
  /// The refusal of an archive; nothing may have been added.
  std::string refusal(const std::string& text) {
    write_own_file(file_, text);
    try {
      kernel_archive::add(file_, to_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), AllOf(HasSubstr(file_.string()), HasSubstr("attune kernels export")));
      EXPECT_FALSE(fs::exists(folder_.path() / "to")) << "nothing lands";
      return error.what();
    }
    ADD_FAILURE() << "it was accepted";
    return {};
  }

  TemporaryFolder folder_{"archive-test"};
  const fs::path file_ = folder_.path() / "kernels.tar";
  KernelCache from_{{folder_.path() / "from"}, 1 << 20}, to_{{folder_.path() / "to"}, 1 << 20};
};

TEST_F(KernelArchive, CarriesKernelsToAnotherCache) {
  archive();
  EXPECT_EQ(kernel_archive::add(file_, to_).kernels, 2u);
  const auto before = from_.list(), after = to_.list();
  ASSERT_THAT(after, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].sha256, before[i].sha256);
    EXPECT_EQ(after[i].metadata, before[i].metadata);
    EXPECT_EQ(read_file(after[i].file), read_file(before[i].file));
    struct stat status {};
    ASSERT_EQ(::stat(after[i].file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(kernel_archive::add(file_, to_).kernels, 2u) << "again, onto those that are there";
}

TEST_F(KernelArchive, LeavesOutWhatDoesNotHaveItsDigest) {
  write_file_atomically(from_.list()[0].file, "evil");
  EXPECT_EQ(kernel_archive::write(file_, from_), 1u);
  EXPECT_EQ(kernel_archive::add(file_, to_).kernels, 1u);
}

TEST_F(KernelArchive, WithAnythingElseInItAddsNothing) {
  const std::string good = archive();
  const size_t kernel =
      kBlock + (read_file(folder_.path() / "from/sm_90/a/nvrtc-12.8/entry.json").size() + kBlock - 1) / kBlock * kBlock;
  const size_t second = kernel + 2 * kBlock;
  struct Change {
    const char* why;
    std::function<void(std::string&)> make;
  };
  const Change changes[] = {
      {"only plain files", [&](std::string& text) { put(text, kernel, 156, "2"); }},
      {"only plain files", [&](std::string& text) { put(text, 0, 156, "5"); }},
      {"the file 'entry.json' is expected", [&](std::string& text) { put(text, 0, 0, std::string("../entry.json")); }},
      {"another place", [&](std::string& text) { put(text, second, 345, "../90/b"); }},
      {"another place", [&](std::string& text) { put(text, second, 345, "sm_90/c"); }},
      {"not followed by its kernel", [&](std::string& text) { put(text, kernel, 345, "sm_90/b"); }},
      {"the digest", [&](std::string& text) { flip(text, kernel + kBlock); }},
      {"at most", [&](std::string& text) { put(text, kernel, 124, "77777777777"); }},
      {"at most", [&](std::string& text) { put(text, kernel, 124, "\x80\x01"); }},
      {"no header", [&](std::string& text) { flip(text, kernel + 1); }},
      {"no header", [&](std::string& text) { put(text, 0, 257, "ustar  "); }},
      {"description is damaged", [&](std::string& text) { text[kBlock] = '['; }},
      {"ends too early", [&](std::string& text) { text.resize(second); }},
      {"ends too early", [&](std::string& text) { text.resize(text.size() - 2 * kBlock); }},
      {"ends too early", [&](std::string& text) { text.clear(); }},
      {"not followed by its kernel", [&](std::string& text) { text.replace(kernel, kBlock, kBlock, '\0'); }}};
  for (const Change& one : changes) {
    std::string text = good;
    one.make(text);
    EXPECT_THAT(refusal(text), HasSubstr(one.why));
  }
}

TEST_F(KernelArchive, ADamagedByteChangesNoKernel) {
  const std::string good = archive();
  for (size_t at = 0; at < good.size(); at += 31) {
    std::string text = good;
    flip(text, at);
    write_own_file(file_, text);
    try {
      kernel_archive::add(file_, to_);
    } catch (const Error&) {
      continue;
    }
    for (const Binary& binary : to_.list()) EXPECT_EQ(read_file(binary.file), "kernel " + binary.recipe) << at;
  }
}

TEST_F(KernelArchive, ThatCannotBeWrittenLeavesNoFile) {
  EXPECT_THROW(kernel_archive::write(folder_.path() / "none" / "kernels.tar", from_), Error);
  fs::create_directory(file_);
  EXPECT_THROW(kernel_archive::write(file_, from_), Error);
  for (const auto& one : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(one.path().filename().string().starts_with("kernels.tar."));
}

}  // namespace
}  // namespace attune
