// SPDX-License-Identifier: MIT
#include "compile/compiler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace attune {
namespace {

class OtherCompiler final : public LibraryCompiler {
 public:
  explicit OtherCompiler(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  std::string toolchain() const override { return "other-1"; }
  bool targets(std::string_view) const override { return false; }
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override { return {}; }
  std::string flaw_of(std::string_view) const override { return {}; }
  LibraryOutput compile(const CompileTask&) const override { return {}; }

 private:
  std::string_view name_;
};

const OtherCompiler kOther("other"), kLate("late"), kHostcc("hostcc");
const bool is_registered = [] {
  register_compiler(kOther);
  return true;
}();

TEST(Compilers, AreThoseOfThisBuildAndThoseThatWereRegistered) {
  ASSERT_TRUE(is_registered);
  EXPECT_EQ(find_compiler("other"), &kOther);
  EXPECT_NE(find_compiler("hostcc"), nullptr);
  EXPECT_EQ(std::ranges::count(compilers(), &kOther), 1);
}

TEST(Compilers, OneIsRegisteredOnceAndBeforeTheFirstUse) {
  find_compiler("other");
  EXPECT_THROW(register_compiler(kOther), Error);
  EXPECT_THROW(register_compiler(kHostcc), Error) << "of this build";
  EXPECT_THROW(register_compiler(kLate), Error);
}

}  // namespace
}  // namespace attune
