// SPDX-License-Identifier: MIT
#include "core/binary.h"

#include <gtest/gtest.h>

#include <set>

namespace attune {
namespace {

const CompileTask kTask{"hostcc", "int f(void) { return 1; }", "x86-64-v4", {"-O3", "-mavx2"}, {"f"}};

TEST(CompileTask, ItsRecipeIsTheSameOnEveryMachineAndInEveryRelease) {
  EXPECT_EQ(kTask.recipe(), "3c4291fef079ea71df22d593bd663a79");
}

TEST(CompileTask, EveryPartOfItChangesTheRecipe) {
  std::set<std::string> recipes = {kTask.recipe()};
  const auto changed = [&](auto change) {
    CompileTask task = kTask;
    change(task);
    return recipes.insert(task.recipe()).second;
  };
  EXPECT_TRUE(changed([](CompileTask& task) { task.compiler = std::string("nvrtc"); }));
  EXPECT_TRUE(changed([](CompileTask& task) { task.source.push_back(' '); }));
  EXPECT_TRUE(changed([](CompileTask& task) { task.arch = std::string("x86-64-v3"); }));
  EXPECT_TRUE(changed([](CompileTask& task) { task.options.push_back("-g"); }));
  EXPECT_TRUE(changed([](CompileTask& task) { std::swap(task.options[0], task.options[1]); }));
  EXPECT_TRUE(changed([](CompileTask& task) { task.entries = {"g"}; }));
}

TEST(CompileTask, TextsThatOnlyJoinAlikeHaveOtherRecipes) {
  CompileTask a = kTask, b = kTask;
  a.options = {"-O3", "-g"};
  b.options = {"-O3-g"};
  EXPECT_NE(a.recipe(), b.recipe());
  a.options = {"-O3", "f"};
  a.entries = {};
  b.options = {"-O3"};
  b.entries = {"f"};
  EXPECT_NE(a.recipe(), b.recipe());
  a.options = {"1:x\n1:y"};
  b.options = {"1:x", "1:y"};
  EXPECT_NE(a.recipe(), b.recipe());
}

TEST(CompilerReports, AreTheMetadataWithoutWhatRepeatsTheTask) {
  Binary silent, reported;
  silent.metadata = {
      {"compiler", "hostcc"}, {"command", "1"}, {"options", "-O3"}, {"entries", "f"}, {"candidate", "s@1:"}};
  reported.metadata = silent.metadata;
  reported.metadata["registers"] = "40";
  const std::vector<BinaryMetadata> reports = {{}, {{"registers", "40"}}};
  EXPECT_EQ(compiler_reports(std::vector{silent, reported}), reports) << "in the order of the binaries";
  EXPECT_TRUE(compiler_reports(std::vector{silent, silent}).empty());
  EXPECT_TRUE(compiler_reports({}).empty());
}

}  // namespace
}  // namespace attune
