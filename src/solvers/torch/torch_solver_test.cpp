// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/locations.h"
#include "solver/contender.h"
#include "testing/environment.h"
#include "testing/opened_solver.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kVariable = "ATTUNE_TORCH_OPERATORS";
constexpr const char* kProblem = "gemm_a16w16 m=5 n=7 k=9 dtype=fp32";

/// A library that stands for PyTorch's operators (tests/conformance/toys/operators).
std::string toy(const std::string& name) { return (code_folder() / "toy_operators" / (name + ".so")).string(); }

class TorchSolver : public testing::Test {
 protected:
  void name_library(const std::string& file) { variable_.emplace(kVariable, file); }
  /// Why the library cannot be opened.
  std::string refusal() {
    try {
      OpenedSolver torch("torch.gemm");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable);
      return error.what();
    }
    return {};
  }
  std::string version() { return OpenedSolver("torch.gemm").backend().versions().at("torch.gemm"); }

  static constexpr const char* kVariables[] = {kVariable, "ATTUNE_TOY_CONFIG"};
  TestEnvironment environment_{kVariables};
  std::optional<TestEnvironment> variable_;
};

TEST_F(TorchSolver, SupportsNothingWhereNoLibraryIsNamed) {
  const auto device = open_device("cpu:0");
  const Solver* solver = registry().find("torch.gemm");
  ASSERT_NE(solver, nullptr);
  const auto reason = [&](const std::string& problem) {
    return solver
        ->supports(op_of(Problem::parse(problem)).normalise(Problem::parse(problem), device->info()), device->info())
        .reason;
  };
  EXPECT_THAT(reason(kProblem), HasSubstr(kVariable));
  name_library(toy("none"));
  EXPECT_EQ(reason(kProblem), "");
  EXPECT_EQ(reason(std::string(kProblem) + " bias=1 trans_a=1 trans_b=0"), "");
  EXPECT_THAT(reason(std::string(kProblem) + " bpreshuffle=1"), HasSubstr("packed"));
  EXPECT_THAT(reason(std::string(kProblem) + " act=relu"), HasSubstr("act=relu"));
  EXPECT_THAT(reason("gemm_a16w16 m=5 n=7 k=9 dtype=bf16 outdtype=fp32"), HasSubstr("all operands of one type"));
}

TEST_F(TorchSolver, ComputesProductsInEveryOrder) {
  name_library(toy("none"));
  OpenedSolver torch("torch.gemm");
  for (const char* order : {"", " bias=1", " trans_b=0", " trans_a=1", " trans_a=1 trans_b=0 bias=1"}) {
    const std::string problem = std::string(kProblem) + order;
    const auto configs = torch.configs(problem);
    ASSERT_EQ(configs.size(), 1u);
    EXPECT_EQ(configs.front(), torch.backend().default_config(torch.problem(problem)));
    EXPECT_EQ(torch.wrong(problem, configs.front().key()), "");
  }
}

TEST_F(TorchSolver, SaysThatItIsTheApplicationsOwnOperator) {
  name_library(toy("none"));
  OpenedSolver torch("torch.gemm"), portable("portable.gemm");
  const auto is_own = [](OpenedSolver& solver) {
    const Problem problem = solver.problem(kProblem);
    return solver.backend()
        .prepare(problem, solver.backend().default_config(problem), {})
        ->traits()
        .is_applications_own;
  };
  EXPECT_TRUE(is_own(torch));
  EXPECT_FALSE(is_own(portable));
}

TEST_F(TorchSolver, RefusesWhatPyTorchDoesNotComputeAndOtherNumbersOfThreads) {
  name_library(toy("none"));
  OpenedSolver torch("torch.gemm");
  const std::string own = torch.configs(kProblem).front().key();
  EXPECT_THAT(torch.refusal("gemm_a16w16 m=5 n=7 k=9 dtype=bf16", own), HasSubstr("there is no product of this type"));
  EXPECT_THAT(torch.refusal(kProblem, "threads=4096"), HasSubstr("has one config"));
}

TEST_F(TorchSolver, AnotherBuildOfAVersionIsAnotherVersion) {
  name_library(toy("none"));
  const std::string first = version();
  EXPECT_THAT(first, MatchesRegex("1\\+9\\.8\\.7\\.[0-9a-f]{8}"));
  EXPECT_TRUE(is_of_library({"torch.gemm", first, {}}));
  EXPECT_EQ(version(), first);
  const TestEnvironment other("ATTUNE_TOY_CONFIG", "built with another BLAS");
  EXPECT_NE(version(), first);
}

TEST_F(TorchSolver, AWrongLibraryIsASentence) {
  const TestFolder folder;
  const auto write = [&](const char* name, const std::string& text) {
    const auto file = folder.put(name, text);
    ::chmod(file.c_str(), 0700);
    name_library(file.string());
  };
  name_library((folder.path() / "missing.so").string());
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr(kVariable), HasSubstr("no regular file"), HasSubstr("python3 -m attune.torch")));
  write("text.so", "no library");
  EXPECT_THAT(refusal(), HasSubstr("too short"));
  std::ifstream whole(toy("none"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  ASSERT_GT(bytes.size(), 8000u);
  write("cut.so", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(refusal(), HasSubstr("cut off"));
  write("of_others.so", bytes);
  ::chmod((folder.path() / "of_others.so").c_str(), 0777);
  EXPECT_THAT(refusal(), HasSubstr("other users"));
  name_library(toy("symbol"));
  EXPECT_THAT(refusal(), HasSubstr("has no attune_torch_operators()"));
  name_library(toy("interface"));
  EXPECT_THAT(refusal(), HasSubstr("another version of Attune"));
}

}  // namespace
}  // namespace attune
