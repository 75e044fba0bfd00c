// SPDX-License-Identifier: MIT
#include "campaign/tune_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/campaign_values.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kVariables[] = {"OMP_NUM_THREADS",    "OMP_PLACES",       "OMP_PROC_BIND",
                                      "OMP_THREAD_LIMIT",   "GOMP_SPINCOUNT",   "OPENBLAS_NUM_THREADS",
                                      "OPENBLAS_CORETYPE",  "BLIS_NUM_THREADS", "BLIS_ARCH_TYPE",
                                      "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATTUNE_HIP_CLANG_PATH"};
constexpr const char* kShapes = "M,N,K,bias,dtype,outdtype\n1,32,48,False,fp32,fp32\n512,32,48,False,fp32,fp32\n";

class Inputs : public testing::Test {
 protected:
  TuneInputs read() { return read_tune_inputs(options_, executor_); }
  std::string refused() {
    return refusal([&] { read(); });
  }
  std::string put(const std::string& name, std::string_view text) const {
    write_file_atomically(path(name), text);
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  /// A list of two shapes and a new table.
  void name_list() {
    options_.input = put("bf16_untuned_gemm.csv", kShapes);
    options_.output = path("t.csv");
  }
  void name_size() { options_.settings = {{"m", "1", "-m"}, {"n", "32", "-n"}, {"k", "48", "-k"}}; }
  static std::vector<int64_t> ms(const TuneInputs& inputs) {
    std::vector<int64_t> all;
    for (const WorkItem& item : inputs.items) all.push_back(item.problem.integer("m"));
    return all;
  }
  TestEnvironment environment_{kVariables};
  TemporaryFolder folder_{"inputs_test"};
  FakeDevice device_;
  Registry solvers_;
  LocalExecutor executor_{device_, solvers_};
  TuneOptions options_;
};

TEST_F(Inputs, AListGoesToATable) {
  name_list();
  const TuneInputs inputs = read();
  EXPECT_EQ(inputs.family, find_family("gemm_a16w16"));
  EXPECT_EQ(inputs.source, options_.input);
  EXPECT_THAT(ms(inputs), ElementsAre(1, 512));
  EXPECT_EQ(inputs.table, path("t.csv"));
  EXPECT_EQ(inputs.yaml, "");
  EXPECT_FALSE(std::filesystem::exists(inputs.table)) << "nothing is written";
}

TEST_F(Inputs, WithoutAnOutputTheTableIsTheFamilysInTheConfigurationFolder) {
  put("bf16_untuned_gemm.csv", kShapes);
  options_.config_dir = folder_.path().string();
  const TuneInputs inputs = read();
  EXPECT_EQ(inputs.table, path("bf16_tuned_gemm.csv"));
  EXPECT_THAT(inputs.notices, Contains("no -i given: tuning the shapes of " + path("bf16_untuned_gemm.csv")));
}

TEST_F(Inputs, OneSizeNeedsNoOutput) {
  name_size();
  TuneInputs inputs = read();
  EXPECT_THAT(ms(inputs), ElementsAre(1));
  EXPECT_EQ(inputs.source, "-m -n -k");
  EXPECT_EQ(inputs.table, "");
  EXPECT_EQ(inputs.yaml, "");
  options_.results_file = path("r.yaml");
  EXPECT_EQ(read().yaml, path("r.yaml"));
}

TEST_F(Inputs, YamlSizesGoToAFileOfTheDeviceAndDay) {
  options_.size_file = put("sizes.yaml", "- {M: 1, N: 32, K: 48, rowMajorA: T, rowMajorB: N}\n");
  EXPECT_THAT(read().yaml.string(), AllOf(StartsWith("tuning_results_fake_20"), EndsWith(".yaml")));
  options_.results_file = path("r.yaml");
  const TuneInputs inputs = read();
  EXPECT_EQ(inputs.yaml, path("r.yaml"));
  EXPECT_EQ(inputs.table, "");
  EXPECT_THAT(ms(inputs), ElementsAre(1));
}

TEST_F(Inputs, LargeShapesAreSkipped) {
  name_list();
  options_.max_m = 100;
  EXPECT_THAT(ms(read()), ElementsAre(1));
}

TEST_F(Inputs, OfACaptureAreTheShapesOfTheDevicesLimitWhoseCountsAreReadOnce) {
  name_list();
  const std::string counts = put("bf16_untuned_gemm.csv.counts",
                                 "M,N,K,bias,dtype,outdtype,threads,calls\n1,32,48,False,fp32,fp32,4,9\n"
                                 "512,32,48,False,fp32,fp32,2,9\n");
  const CapturedLimits captured(options_.input, "", 4);
  std::filesystem::remove(counts);  // The capturing application may change its files now.
  options_.captured_limits = &captured;
  const TuneInputs inputs = read();
  EXPECT_THAT(ms(inputs), ElementsAre(1));
  EXPECT_THAT(inputs.notices, Contains(HasSubstr("1 shape of the capture")));
}

TEST_F(Inputs, AShapeThatTheOpDoesNotAcceptIsSkippedWithItsLine) {
  name_list();
  put("bf16_untuned_gemm.csv", "M,N,K,dtype,bpreshuffle\n1,32,48,fp32,False\n2,32,48,fp32,True\n");
  options_.settings = {{"trans_b", "0", "--trans_b"}};  // Packed weights are given N×K.
  const TuneInputs inputs = read();
  EXPECT_THAT(ms(inputs), ElementsAre(1));
  ASSERT_THAT(inputs.skipped, SizeIs(1));
  EXPECT_THAT(inputs.skipped[0].shape, StartsWith(options_.input + ":3 gemm_a16w16 m=2 "));
  EXPECT_NE(inputs.skipped[0].reason, "");
}

TEST_F(Inputs, OneSourceOnlyIsAccepted) {
  name_list();
  name_size();
  EXPECT_EQ(refused(), "give one of -i, --gemm_size_file, --model_dir and the sizes of one problem, such as -m -n -k");
  options_.input.clear();
  options_.model.folder = "model";
  EXPECT_EQ(refused(), "give one of -i, --gemm_size_file, --model_dir and the sizes of one problem, such as -m -n -k");
  options_.model.folder.clear();
  options_.size_file = "sizes.yaml";
  EXPECT_EQ(refused(), "give one of -i, --gemm_size_file, --model_dir and the sizes of one problem, such as -m -n -k");
}

TEST_F(Inputs, ASizeIsWhole) {
  name_size();
  options_.settings.erase(options_.settings.begin() + 1);
  EXPECT_EQ(refused(), "one size needs all of -m, -n and -k");
}

TEST_F(Inputs, WithoutNamesTheFamilysFilesAreUsed) {
  const TestEnvironment no_folder("ATTUNE_CONFIG_DIR", "");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  put("bf16_untuned_gemm.csv", kShapes);
  const TuneInputs here = read();
  std::filesystem::create_directory("configs");
  put("configs/bf16_untuned_gemm.csv", kShapes);
  const TuneInputs beside = read();
  std::filesystem::create_directory("named");
  const TestEnvironment folder("ATTUNE_CONFIG_DIR", "named");
  options_.input = "bf16_untuned_gemm.csv";
  const TuneInputs named = read();
  std::filesystem::current_path(before);
  EXPECT_THAT(here.notices, AllOf(Contains("no -i given: tuning the shapes of bf16_untuned_gemm.csv"),
                                  Contains("no -o given: writing bf16_tuned_gemm.csv")));
  EXPECT_THAT(beside.notices, AllOf(Contains("no -i given: tuning the shapes of configs/bf16_untuned_gemm.csv"),
                                    Contains("no -o given: writing configs/bf16_tuned_gemm.csv")));
  EXPECT_EQ(named.table, "named/bf16_tuned_gemm.csv");
}

TEST_F(Inputs, WhatHasNoEffectIsSaid) {
  name_size();
  EXPECT_THAT(read().notices, Not(Contains(HasSubstr("no effect"))));
  options_.warmup = 7;
  EXPECT_THAT(read().notices, Contains(StartsWith("--warmup 7 has no effect")));
  options_.search = "exhaustive";
  EXPECT_THAT(read().notices, Not(Contains(HasSubstr("--warmup"))));
}

TEST_F(Inputs, ASizeWithoutATypeIsOfTheScriptsType) {
  name_size();
  EXPECT_EQ(read().items.front().problem.text("dtype"), "fp16");
  EXPECT_THAT(read().notices, Contains("using fp16; choose another type with --dtype"));
  options_.op = "gemm_a16w16";
  EXPECT_EQ(read().items.front().problem.text("dtype"), "bf16") << "the family's own default";
}

TEST_F(Inputs, TypesAndFamiliesAreKnown) {
  name_list();
  options_.settings = {{"dtype", "int3", "--dtype"}};
  EXPECT_EQ(refused(), "--dtype expects a data type such as bf16, fp16 or fp32, got 'int3'");
  options_.settings = {{"outdtype", "int3", "--outdtype"}};
  EXPECT_EQ(refused(), "--outdtype expects a data type such as bf16, fp16 or fp32, got 'int3'");
  options_.settings.clear();
  options_.input.clear();
  options_.op = "no_op";
  EXPECT_EQ(refused(), "unknown family, see `attune list ops`: 'no_op'");
}

TEST_F(Inputs, AFamilyThatCannotBeTunedIsRefused) {
  const auto& all = families();
  const auto other = std::find_if(all.begin(), all.end(), [](const FamilySpec& one) {
    return !one.tunable && std::none_of(one.key.begin(), one.key.end(),
                                        [](const AttributeSpec& key) { return key.kind == ColumnKind::text; });
  });
  ASSERT_NE(other, all.end());
  std::string header, row;
  for (const AttributeSpec& key : other->key) {
    header += (header.empty() ? "" : ",") + std::string(key.column);
    row += (row.empty() ? "" : ",") + std::string(key.kind == ColumnKind::dtype ? "bf16" : "1");
  }
  options_.input = put("shapes.csv", header + "\n" + row + "\n");
  options_.output = path("t.csv");
  options_.op = other->op;
  EXPECT_EQ(refused(), "this version reads the tables of " + std::string(other->op) + " but cannot tune it yet: '" +
                           options_.input + "'");
}

TEST_F(Inputs, OutputsAreCheckedBeforeAnythingIsMeasured) {
  name_list();
  options_.output = path("missing/t.csv");
  EXPECT_THAT(refused(), HasSubstr("missing"));
  options_.output = folder_.path().string();
  EXPECT_THAT(refused(), HasSubstr(options_.output));
  options_.output = path("t.csv");
  options_.profile_file = put("other.csv", "a,b\n1,2\n");
  EXPECT_THAT(refused(), StartsWith("the file exists and does not hold candidates"));
  options_.profile_file.clear();
  put("candidates.csv", "a,b\n1,2\n");
  options_.keep_dir = folder_.path().string();
  EXPECT_THAT(refused(), StartsWith("the file exists and does not hold candidates"));
  options_.keep_dir = put("file", "");
  EXPECT_NE(refused(), "accepted");
}

TEST_F(Inputs, AYamlFileThatIsNoResultsFileIsRefused) {
  name_size();
  options_.results_file = put("r.yaml", "just text\n");
  EXPECT_THAT(refused(), HasSubstr("r.yaml"));
}

TEST_F(Inputs, ATableThatRowsWouldDamageIsRefused) {
  name_list();
  put("t.csv", "M,N,K\n1,2,3\n");
  EXPECT_THAT(refused(), HasSubstr("t.csv"));
}

TEST_F(Inputs, VariablesThatChangeLibrariesAreReported) {
  name_size();
  EXPECT_THAT(read().notices, Not(Contains(HasSubstr("set in the environment"))));
  ::setenv("OMP_PROC_BIND", "true", 1);  // Workers do not see it.
  ::setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
  ::setenv("BLIS_ARCH_TYPE", "zen", 1);
  options_.variables = library_variables();
  const auto& variables = options_.variables;
  // The user who runs the test may have set others.
  EXPECT_THAT(variables, AllOf(Contains("DNNL_MAX_CPU_ISA=AVX2"), Contains("BLIS_ARCH_TYPE=zen"),
                               Not(Contains(StartsWith("OMP_")))));
  EXPECT_THAT(read().notices, Contains("these variables are set in the environment and may slow libraries down: " +
                                       join(variables, ", ")));
  ::setenv("ATTUNE_HIP_CLANG_PATH", "/clang", 1);
  EXPECT_THAT(read().notices, Contains("ATTUNE_HIP_CLANG_PATH is set, but this build has no HIP solver"));
}

}  // namespace
}  // namespace attune
