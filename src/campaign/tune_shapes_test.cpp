// SPDX-License-Identifier: MIT
#include "campaign/tune_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"
#include "testing/known_models.h"

namespace attune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class ShapesToTune : public testing::Test {
 protected:
  TuneShapes read() const { return read_tune_shapes(options_, device_); }
  std::string refused() const {
    return refusal([&] { read(); });
  }
  std::string put(const std::string& name, std::string_view text) const {
    const auto file = folder_.path() / name;
    write_file_atomically(file, text);
    return file.string();
  }
  void name_yaml() {
    options_.size_file = put("sizes.yaml",
                             "- {M: 1, N: 32, K: 48, rowMajorA: T, rowMajorB: N}\n"
                             "- {M: 64, N: 32, K: 48, rowMajorA: T, rowMajorB: N}\n");
  }
  void name_model(const std::string& config) {
    put("config.json", config);
    options_.model.folder = folder_.path().string();
    options_.model.nsets = "1,512";
  }
  static std::vector<int64_t> ms(const TuneShapes& shapes) {
    std::vector<int64_t> all;
    for (const Problem& problem : shapes.problems) all.push_back(problem.integer("m"));
    return all;
  }

  TemporaryFolder folder_{"tune_shapes_test"};
  DeviceInfo device_ = test_device();
  TuneOptions options_;
};

TEST_F(ShapesToTune, AreThoseThatAProgramPassesAsValues) {
  options_.op = "gemm_a16w16";
  options_.problems = {Problem::parse("gemm_a16w16 m=7 n=32 k=48 dtype=fp32"), test_problem(3)};
  const TuneShapes shapes = read();
  EXPECT_THAT(shapes.problems, ElementsAre(test_problem(7), test_problem(3)));
  EXPECT_EQ(shapes.family, find_family("gemm_a16w16"));
  EXPECT_EQ(shapes.source, "the shapes of a program");
  EXPECT_THAT(shapes.notices, IsEmpty());
}

TEST_F(ShapesToTune, AValueThatTheOpDoesNotAcceptIsSkippedByItsKey) {
  const Problem wrong = Problem::parse("gemm_a16w16 m=0 n=32 k=48 dtype=fp32");
  options_.problems = {test_problem(1), wrong};
  const TuneShapes shapes = read();
  EXPECT_THAT(ms(shapes), ElementsAre(1));
  ASSERT_THAT(shapes.skipped, SizeIs(1));
  EXPECT_EQ(shapes.skipped[0].shape, wrong.key());
  EXPECT_THAT(shapes.skipped[0].reason, HasSubstr("m"));
}

TEST_F(ShapesToTune, ValuesAreASourceOfTheirOwn) {
  options_.problems = {test_problem(1)};
  options_.input = "list.csv";
  EXPECT_THAT(refused(), StartsWith("give one of -i, --gemm_size_file"));
}

TEST_F(ShapesToTune, ValuesOfAFamilyThatCannotBeTunedAreRefused) {
  options_.op = "gemm_a8w8_blockscale_bpreshuffle";
  ASSERT_FALSE(find_family(options_.op)->tunable);
  options_.problems = {Problem::parse("gemm_a8w8_blockscale_bpreshuffle m=1 n=32 k=48")};
  EXPECT_EQ(refused(),
            "this version reads the tables of gemm_a8w8_blockscale_bpreshuffle but cannot tune it yet: 'the shapes of "
            "a program'");
}

TEST_F(ShapesToTune, ALimitOfRowsIsNoneOfASize) {
  options_.settings = {{"m", "1", "-m"}, {"n", "32", "-n"}, {"k", "48", "-k"}};
  options_.max_m = 4;
  EXPECT_EQ(refused(), "--max-m cannot be combined with -m: it skips shapes of a file");
}

TEST_F(ShapesToTune, AYamlListTakesTypesAndBiasFromSettings) {
  name_yaml();
  options_.settings = {{"dtype", "fp32", "--dtype"}, {"bias", "1", "--bias"}};
  const TuneShapes shapes = read();
  EXPECT_THAT(shapes.problems, ElementsAre(test_problem(1, "bias=1"), test_problem(64, "bias=1")));
  EXPECT_EQ(shapes.source, options_.size_file);
}

TEST_F(ShapesToTune, AYamlListTakesNoOtherSetting) {
  name_yaml();
  options_.settings = {{"batch", "2", "--batch_size"}};
  EXPECT_EQ(refused(), "--batch_size cannot be combined with --gemm_size_file: such a file holds no sizes with it");
}

TEST_F(ShapesToTune, LargeShapesOfAYamlListAreSkipped) {
  name_yaml();
  options_.max_m = 63;
  EXPECT_THAT(ms(read()), ElementsAre(1));
}

TEST_F(ShapesToTune, WithoutASourceTheListIsTheFamilysInTheConfigurationFolder) {
  const std::string list = put("bf16_untuned_gemm.csv", "M,N,K,dtype\n5,32,48,fp32\n");
  options_.config_dir = folder_.path().string();
  const TuneShapes shapes = read();
  EXPECT_THAT(ms(shapes), ElementsAre(5));
  EXPECT_EQ(shapes.source, list);
  EXPECT_THAT(shapes.notices, Contains("no -i given: tuning the shapes of " + list));
}

TEST_F(ShapesToTune, ArchitecturesAreThoseThatTheRowsOfTheSourceName) {
  options_.config_dir = folder_.path().string();
  EXPECT_THAT(architectures_of_shapes(options_), IsEmpty()) << "no list is there";
  put("bf16_untuned_gemm.csv", "gfx,M,N,K\nsm_80,1,32,48\n");
  EXPECT_THAT(architectures_of_shapes(options_), ElementsAre("sm_80"));
  options_.input = put("shapes.csv", "gfx,M,N,K\nsm_90,1,32,48\n");
  EXPECT_THAT(architectures_of_shapes(options_), ElementsAre("sm_90"));
  options_.size_file = put("sizes.yaml", "- {M: 1, N: 32, K: 48, device: fake/4}\n");
  EXPECT_THAT(refusal([&] { architectures_of_shapes(options_); }), HasSubstr("give one of -i"));
  options_.input.clear();
  EXPECT_THAT(architectures_of_shapes(options_), ElementsAre("fake"));
  options_.size_file.clear();
  options_.problems = {test_problem(3)};
  EXPECT_THAT(architectures_of_shapes(options_), IsEmpty());
}

TEST_F(ShapesToTune, ACaptureLeavesShapesOfOtherThreadLimitsToTheirRuns) {
  options_.input = put("bf16_untuned_gemm.csv", "M,N,K,dtype\n1,32,48,fp32\n2,32,48,fp32\n");
  put("bf16_untuned_gemm.csv.counts",
      "M,N,K,bias,dtype,outdtype,threads,calls\n1,32,48,False,fp32,fp32,2,9\n2,32,48,False,fp32,fp32,4,9\n");
  const CapturedLimits captured(options_.input, "", 4);
  options_.captured_limits = &captured;
  EXPECT_THAT(ms(read()), ElementsAre(2));
  device_.num_units = 2;
  EXPECT_THAT(ms(read()), ElementsAre(1));
}

TEST_F(ShapesToTune, AModelGivesTheShapesOfItsFamily) {
  name_model(known_models::kLlama8B);
  options_.max_m = 100;
  const TuneShapes shapes = read();
  EXPECT_THAT(ms(shapes), testing::Each(1));
  EXPECT_THAT(shapes.problems, SizeIs(5)) << "qkv, o, gate and up, down, head";
  EXPECT_EQ(shapes.source, options_.model.folder);
  EXPECT_THAT(shapes.notices, Contains("4 shapes with more than 100 rows skipped (--max-m)"));
}

TEST_F(ShapesToTune, AModelStatesItsOwnSettings) {
  name_model(known_models::kLlama8B);
  options_.settings = {{"bias", "1", "--bias"}};
  EXPECT_EQ(refused(), "--bias cannot be combined with --model_dir: the model's config.json states its products");
  options_.settings = {{"dtype", "fp16", "--dtype"}};
  EXPECT_EQ(read().problems.front().text("dtype"), "fp16");
}

TEST_F(ShapesToTune, FamiliesOfAModelThatCannotBeTunedAreSkippedAndNamed) {
  name_model(known_models::kMixtral8x7B);
  EXPECT_THAT(read().notices, Contains(StartsWith("this version cannot tune these families and skips them: ")));
  options_.op = "fmoe";
  EXPECT_THAT(refused(), EndsWith("; attune shapes -o writes their lists"));
}

TEST_F(ShapesToTune, AFamilyThatAModelDoesNotHaveIsRefused) {
  name_model(known_models::kLlama8B);
  options_.op = "fmoe";
  EXPECT_EQ(refused(), "the model has no products of the family fmoe, `attune shapes` lists them");
}

}  // namespace
}  // namespace attune
