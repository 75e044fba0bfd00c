// SPDX-License-Identifier: MIT
#include "base/library/vendor_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

constexpr VendorLibrary::Description kDescription{"the library", "version 7", "cos", "install it"};
constexpr const char* kMissing[] = {"libattune_none.so.1", "libattune_none.so.2"};
constexpr const char* kMathematics[] = {"libattune_none.so.1", "libm.so.6"};

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    return error.what();
  }
  return "nothing was thrown";
}

/// A folder with copies of a library, each of which the loader takes for a library of its own.
class CopiedLibraries : public testing::Test {
 protected:
  std::string copied(const std::string& name) {
    const auto file = folder_.path() / name;
    std::filesystem::copy_file(VendorLibrary::open(kDescription, kMathematics).file(), file);
    return file.string();
  }
  std::string cut(const std::string& name) {
    const std::string file = copied(name);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 3);
    return file;
  }
  std::string text(const std::string& name) {
    const auto file = folder_.path() / name;
    std::ofstream(file) << "text\n";
    return file.string();
  }

  TestFolder folder_;
};

TEST(VendorLibraryTest, OpensTheFirstFileThatIsThere) {
  const VendorLibrary library = VendorLibrary::open(kDescription, kMathematics);
  EXPECT_TRUE(library.file().filename().string().starts_with("libm")) << library.file();
  double (*cosine)(double) = nullptr;
  library.load("cos", cosine);
  EXPECT_EQ(cosine(0), 1);
}

TEST(VendorLibraryTest, NamesTheFirstFileAndTheAdviceWhereNoneIsThere) {
  EXPECT_FALSE(VendorLibrary::find(kDescription, kMissing).has_value());
  const std::string message = message_of([] { VendorLibrary::open(kDescription, kMissing); });
  EXPECT_NE(message.find("the library cannot be opened, install it: libattune_none.so.1"), std::string::npos)
      << message;
}

TEST(VendorLibraryTest, SaysThatALibraryWithoutAFunctionIsTooOld) {
  const VendorLibrary library = VendorLibrary::open(kDescription, kMathematics);
  void (*function)() = nullptr;
  EXPECT_EQ(message_of([&] { library.load("attune_no_such_function", function); }),
            "the library is older than version 7, install a newer one: it has no attune_no_such_function");
}

TEST_F(CopiedLibraries, TheLoadedOneOrTheFirstOfTheListIsOpened) {
  const std::string first = copied("first.so"), second = copied("second.so");
  ASSERT_NE(::dlopen(second.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
  const char* const files[] = {first.c_str(), second.c_str()};
  EXPECT_EQ(VendorLibrary::open(kDescription, files, LibraryChoice::loaded).file(), second);
  EXPECT_EQ(VendorLibrary::open(kDescription, files, LibraryChoice::listed).file(), first);
}

TEST_F(CopiedLibraries, OneThatIsCutOffIsNotLoadedAndTheNextIs) {
  const std::string broken = cut("cut.so"), whole = copied("whole.so");
  const char* const files[] = {broken.c_str(), whole.c_str()};
  EXPECT_EQ(VendorLibrary::open(kDescription, files).file(), whole);
  EXPECT_EQ(
      message_of([&] { VendorLibrary::find(kDescription, std::span(files, 1)); }),
      "the library cannot be opened, install it: the file is cut off or was not written to its end: '" + broken + "'");
}

TEST_F(CopiedLibraries, AFileThatIsNoLibraryIsNoAbsentOne) {
  const std::string file = text("text.so");
  const char* const files[] = {"libattune_none.so.1", file.c_str()};
  const std::string message = message_of([&] { VendorLibrary::open(kDescription, files); });
  EXPECT_TRUE(message.starts_with("the library cannot be opened, install it: " + file)) << message;
  EXPECT_EQ(message_of([&] { VendorLibrary::find(kDescription, files); }), message);
}

TEST_F(CopiedLibraries, AnotherLibraryOfItsNameIsNotIt) {
  const std::string file = copied("other.so");
  const char* const files[] = {file.c_str()};
  constexpr VendorLibrary::Description kOther{"the library", "version 7", "attune_no_such_function", "install it"};
  const std::string expected =
      "the library cannot be opened, install it: another library has its name, without attune_no_such_function: '" +
      file + "'";
  EXPECT_EQ(message_of([&] { VendorLibrary::find(kOther, files); }), expected);
  ASSERT_NE(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr);
  EXPECT_EQ(message_of([&] { VendorLibrary::find(kOther, files); }), expected) << "loaded by another";
}

TEST_F(CopiedLibraries, FoldersThatAVariableStatesComeBeforeTheLoaders) {
  const std::string file = copied("libm.so.6");
  const TestEnvironment folders("ATTUNE_LIBRARIES", "relative:/no/such/folder:" + folder_.path().string());
  EXPECT_EQ(VendorLibrary::open(kDescription, kMathematics, LibraryChoice::listed).file(), file);
  std::filesystem::remove(file);
  EXPECT_NE(VendorLibrary::open(kDescription, kMathematics, LibraryChoice::listed).file(), file) << "it is gone";
}

TEST_F(CopiedLibraries, WhatBelongsToTheDriverIsTheMachinesWhateverAVariableStates) {
  const std::string file = copied("libm.so.6");
  const TestEnvironment folders("ATTUNE_LIBRARIES", folder_.path().string());
  EXPECT_NE(VendorLibrary::open(kDescription, kMathematics, LibraryChoice::of_driver).file(), file);
  text("libattune_none.so.1");
  EXPECT_FALSE(VendorLibrary::find(kDescription, kMissing, LibraryChoice::of_driver).has_value());
}

TEST_F(CopiedLibraries, AFileInAStatedFolderThatCannotBeOpenedIsPassedOverAndNamed) {
  const std::string file = cut("libattune_none.so.2");
  const TestEnvironment folders("ATTUNE_LIBRARIES", folder_.path().string());
  EXPECT_NE(message_of([&] { VendorLibrary::find(kDescription, kMissing); }).find(file), std::string::npos);
}

}  // namespace
}  // namespace attune
