// SPDX-License-Identifier: MIT
#include "solver/shared_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

namespace attune {
namespace {

TEST(SharedLibrary, ThatIsCutOffIsRefusedAndNotMapped) {
  const std::string whole = read_file("/proc/self/exe");
  const auto file = std::filesystem::temp_directory_path() / ("attune_cut." + std::to_string(::getpid()));
  EXPECT_FALSE(why_truncated("/proc/self/exe"));
  for (const size_t bytes : {70, 5000, 100'000}) {
    write_file_atomically(file, whole.substr(0, bytes));
    EXPECT_TRUE(why_truncated(file)) << bytes;
    EXPECT_THROW(SharedLibrary{file}, Error) << bytes;
  }
  write_file_atomically(file, "no library");
  EXPECT_FALSE(why_truncated(file)) << "the loader says what it is";
  EXPECT_THROW(SharedLibrary{file}, Error);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace attune
