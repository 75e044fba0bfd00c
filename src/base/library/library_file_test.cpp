// SPDX-License-Identifier: MIT
#include "base/library/library_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

std::filesystem::path mathematics() {
  Dl_info info{};
  EXPECT_NE(::dladdr(::dlsym(::dlopen("libm.so.6", RTLD_NOW), "cos"), &info), 0);
  return info.dli_fname;
}

class LibraryFileTest : public testing::Test {
 protected:
  std::string flaw_of(const std::string& content) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << content;
    return flaw_of_library(file_);
  }

  TestFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "library.so";
  const std::string whole_ = read_file(mathematics());
  const std::string flaw_ = "the file is cut off or was not written to its end: '" + file_.string() + "'";
};

TEST_F(LibraryFileTest, AWholeLibraryHasNoFlaw) { EXPECT_EQ(flaw_of(whole_), ""); }

TEST_F(LibraryFileTest, OneThatIsCutHasAFlaw) {
  for (const size_t bytes : {sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr) + 100, whole_.size() / 3, whole_.size() - 1})
    EXPECT_EQ(flaw_of(whole_.substr(0, bytes)), flaw_) << bytes;
}

TEST_F(LibraryFileTest, OneWhoseEndWasNeverWrittenHasAFlaw) {
  std::string zeros = whole_;
  std::memset(zeros.data() + zeros.size() / 2, 0, zeros.size() - zeros.size() / 2);
  EXPECT_EQ(flaw_of(zeros), flaw_);
}

TEST_F(LibraryFileTest, OneWithoutTheTableOfSectionsIsWholeUntilASegmentLacksItsEnd) {
  std::string stripped = whole_;
  Elf64_Ehdr header{};
  std::memcpy(&header, stripped.data(), sizeof header);
  header.e_shoff = 0;
  std::memcpy(stripped.data(), &header, sizeof header);
  EXPECT_EQ(flaw_of(stripped), "");
  EXPECT_EQ(flaw_of(stripped.substr(0, stripped.size() / 2)), flaw_);
}

TEST_F(LibraryFileTest, OtherFilesAreTheLoadersToRefuse) {
  for (const std::string& content : {std::string(), std::string("text\n"), std::string(4096, '\0')})
    EXPECT_EQ(flaw_of(content), "");
  EXPECT_EQ(flaw_of_library(folder_.path()), "");
  EXPECT_EQ(flaw_of_library(folder_.path() / "none.so"), "");
}

TEST_F(LibraryFileTest, IsFoundByNameWhereTheLoaderFindsItAndByPath) {
  EXPECT_TRUE(std::filesystem::equivalent(library_file("libm.so.6"), mathematics())) << library_file("libm.so.6");
  EXPECT_EQ(library_file("libattune_none.so.1"), "");
  EXPECT_EQ(library_file(file_.string()), "");
  flaw_of(whole_);
  EXPECT_EQ(library_file(file_.string()), file_);
}

}  // namespace
}  // namespace attune
