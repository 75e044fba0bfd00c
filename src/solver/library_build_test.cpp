// SPDX-License-Identifier: MIT
#include "solver/library_build.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "solver/own_library.h"

namespace attune {
namespace {

TEST(LibraryBuild, OfALoadedLibraryIsItsBuildId) {
  const std::string library = library_of(reinterpret_cast<const void*>(&::dlopen));
  const std::string build = library_build(library);
  EXPECT_GE(build.size(), 16u) << library;
  EXPECT_EQ(build.find_first_not_of("0123456789abcdefsh:"), std::string::npos) << build;
  EXPECT_EQ(library_build(library), build);
}

TEST(LibraryBuild, OfALibraryThatIsNotLoadedIsUnknown) { EXPECT_EQ(library_build("libnobody_has_this.so.7"), ""); }

}  // namespace
}  // namespace attune
