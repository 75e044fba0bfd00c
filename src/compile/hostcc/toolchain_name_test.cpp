// SPDX-License-Identifier: MIT
#include "compile/hostcc/toolchain_name.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr const char* kGcc =
    "\nCopyright (C) 2022 Free Software Foundation, Inc.\nThis is free software; see the source for copying "
    "conditions.\n";

TEST(ToolchainName, IsTheSameUnderEveryNameOfACompiler) {
  for (const char* line : {"gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "cc (Debian 12.2.0-14+deb12u1) 12.2.0",
                           "x86_64-linux-gnu-gcc-12 (GCC) 12.2.0"})
    EXPECT_EQ(toolchain_name(std::string(line) + kGcc, "cc"), "gcc-12.2.0") << line;
}

TEST(ToolchainName, LeavesOutWhatADistributionAdds) {
  EXPECT_EQ(toolchain_name(std::string("gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-20)") + kGcc, "gcc"), "gcc-8.5.0");
  EXPECT_EQ(toolchain_name("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n", "cc"), "clang-14.0.6");
  EXPECT_EQ(toolchain_name("Ubuntu clang version 18.1.3 (1ubuntu1)\n", "cc"), "clang-18.1.3");
  EXPECT_EQ(toolchain_name("clang version 15.0.7-rc1", "cc"), "clang-15.0.7");
}

TEST(ToolchainName, OfAnotherCompilerIsThatOfItsProgram) {
  EXPECT_EQ(toolchain_name("Intel(R) oneAPI DPC++/C++ Compiler 2024.0.2 (2024.0.2.20231213)\n", "icx"), "icx-2024.0.2");
  EXPECT_EQ(toolchain_name("tiny 0.9\n", "../a b"), "___a_b-0.9");
}

TEST(ToolchainName, WithoutAVersionThereIsNone) {
  EXPECT_EQ(toolchain_name("", "cc"), std::nullopt);
  EXPECT_EQ(toolchain_name("unknown option --version\n", "cc"), std::nullopt);
  EXPECT_EQ(toolchain_name("version 12\n", "cc"), std::nullopt);
}

}  // namespace
}  // namespace attune
