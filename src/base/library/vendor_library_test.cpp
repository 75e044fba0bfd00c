// SPDX-License-Identifier: MIT
#include "base/library/vendor_library.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

constexpr VendorLibrary::Words kWords{"The library", "version 7", "install it"};
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

TEST(VendorLibraryTest, OpensTheFirstFileThatIsThere) {
  const VendorLibrary library = VendorLibrary::open(kWords, kMathematics);
  EXPECT_TRUE(library.file().filename().string().starts_with("libm")) << library.file();
  double (*cosine)(double) = nullptr;
  library.load("cos", cosine);
  EXPECT_EQ(cosine(0), 1);
}

TEST(VendorLibraryTest, NamesTheFirstFileAndTheAdviceWhereNoneIsThere) {
  EXPECT_FALSE(VendorLibrary::find(kWords, kMissing).has_value());
  const std::string message = message_of([] { VendorLibrary::open(kWords, kMissing); });
  EXPECT_NE(message.find("The library cannot be opened, install it: libattune_none.so.1"), std::string::npos)
      << message;
}

TEST(VendorLibraryTest, SaysThatALibraryWithoutAFunctionIsTooOld) {
  const VendorLibrary library = VendorLibrary::open(kWords, kMathematics);
  void (*function)() = nullptr;
  EXPECT_EQ(message_of([&] { library.load("attune_no_such_function", function); }),
            "The library is older than version 7, install a newer one: it has no attune_no_such_function");
}

TEST(VendorLibraryTest, PrefersTheOneThatIsLoaded) {
  // libc is loaded, whatever stands before it in the list can be opened, too.
  constexpr const char* kFiles[] = {"libthread_db.so.1", "libc.so.6"};
  const VendorLibrary library = VendorLibrary::open(kWords, kFiles);
  EXPECT_TRUE(library.file().filename().string().starts_with("libc")) << library.file();
}

}  // namespace
}  // namespace attune
