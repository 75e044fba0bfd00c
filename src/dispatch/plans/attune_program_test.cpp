// SPDX-License-Identifier: MIT
#include "dispatch/plans/attune_program.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

class AttuneProgramTest : public testing::Test {
 protected:
  AttuneProgramTest() { fs::permissions(file_, fs::perms::owner_all); }

  TestFolder folder_;
  fs::path file_ = folder_.put("attune", "#!/bin/sh\n");
};

TEST_F(AttuneProgramTest, IsFoundByItsVariable) {
  {
    const TestEnvironment named("ATTUNE_PROGRAM", file_.string());
    EXPECT_EQ(attune_program().path, file_);
  }
  const TestEnvironment named("ATTUNE_PROGRAM", "/nowhere/attune");
  const AttuneProgram none = attune_program();
  EXPECT_TRUE(none.path.empty());
  EXPECT_EQ(none.why_not, "the attune program was not found, set ATTUNE_PROGRAM to its path: '/nowhere/attune'");
}

TEST_F(AttuneProgramTest, CompilesWithTheEnvironmentOfTheProcessFromAFolderOfItsOwn) {
  const TestEnvironment named("ATTUNE_PROGRAM", file_.string()), modules("ATTUNE_MODULES", "modules"),
      other("ATTUNE_OTHER", "1");
  const HelperProgram helper = compile_worker();
  EXPECT_EQ(helper.arguments, (std::vector<std::string>{file_.string(), "compile-worker"}));
  EXPECT_EQ(helper.environment.at("ATTUNE_OTHER"), "1");
  EXPECT_EQ(helper.environment.at("ATTUNE_MODULES"), fs::current_path() / "modules");
}

TEST_F(AttuneProgramTest, WithoutItNoLibraryCompiles) {
  const TestEnvironment named("ATTUNE_PROGRAM", "/nowhere/attune");
  EXPECT_TRUE(compile_worker().arguments.empty());
}

}  // namespace
}  // namespace attune
