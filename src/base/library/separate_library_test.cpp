// SPDX-License-Identifier: MIT
#include "base/library/separate_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::filesystem::path file_of_libm() {
  Dl_info info{};
  EXPECT_NE(::dladdr(::dlsym(::dlopen("libm.so.6", RTLD_NOW), "cos"), &info), 0);
  return info.dli_fname;
}

TEST(SeparateLibrary, NeedsAreReadFromTheFile) {
  const LibraryNeeds needs = needs_of_library(file_of_libm());
  EXPECT_THAT(needs.libraries, Contains("libc.so.6"));
  EXPECT_THAT(needs.symbols, IsEmpty()) << "what libc defines has versions";
}

TEST(SeparateLibrary, NamesOfVendorsHaveNoVersions) {
  // This program itself calls fmt, whose C++ names are not considered, and libraries of C that have none.
  const LibraryNeeds needs = needs_of_library("/proc/self/exe");
  EXPECT_THAT(needs.libraries, Contains("libc.so.6"));
  EXPECT_THAT(needs.symbols, Not(Contains("malloc")));
  for (const std::string& symbol : needs.symbols) EXPECT_THAT(symbol, Not(testing::StartsWith("_Z")));
}

TEST(SeparateLibrary, AFileThatIsNoLibraryNeedsNothingAndHasAReason) {
  const TestFolder folder;
  for (const std::string& content : {std::string("text"), std::string(), read_file(file_of_libm()).substr(0, 100)}) {
    const auto file = folder.path() / "library.so";
    std::ofstream(file, std::ios::trunc) << content;
    EXPECT_THAT(needs_of_library(file).libraries, IsEmpty());
    std::string why;
    EXPECT_EQ(open_separately(file, why), nullptr);
    EXPECT_THAT(why, HasSubstr("library.so"));
  }
}

TEST(SeparateLibrary, OneWithoutNamesOfVendorsIsOpened) {
  std::string why;
  void* const library = open_separately(file_of_libm(), why);
  EXPECT_EQ(why, "");
  ASSERT_NE(library, nullptr);
  EXPECT_NE(::dlsym(library, "cos"), nullptr);
}

}  // namespace
}  // namespace attune
