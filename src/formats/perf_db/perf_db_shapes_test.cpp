// SPDX-License-Identifier: MIT
#include "formats/perf_db/perf_db_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/op.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Problem conv_of(const std::string& attributes) {
  const auto problem = Problem::parse("conv " + attributes);
  return op_of(problem).normalise(problem, {});
}

std::string config_refusal(PerfDbConfig config) {
  try {
    miopen_conv_of(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PerfDbShapes, AConfigNamesTheProblemThatItWasMadeOf) {
  for (const char* attributes :
       {"direction=fwd n=2 c=8 h=9 w=7 k=16 y=3 x=5 pad_h=1 pad_w=2 stride_h=2 dtype=fp16",
        "direction=bwd_data n=2 c=8 h=9 w=7 k=16 y=3 x=5 pad_h=1 pad_w=2 dilation_h=2 groups=4 dtype=bf16 layout=NHWC",
        "direction=bwd_weights n=2 c=8 h=9 w=7 k=16 y=3 x=5 dtype=fp32",
        "direction=bwd_data n=2 c=8 d=4 h=9 w=7 k=16 z=2 y=3 x=3 pad_d=1 dtype=fp32 layout=NCDHW"}) {
    const Problem problem = conv_of(attributes);
    EXPECT_EQ(conv_of(std::string(problem_of(miopen_conv_of(perf_db_config_of(problem))).key()).substr(5)).key(),
              problem.key());
  }
}

TEST(PerfDbShapes, AGradientWithStridesLeavesItsInputOpen) {
  const PerfDbConfig config =
      perf_db_config_of(conv_of("direction=bwd_data n=2 c=8 h=9 w=9 k=8 y=3 x=3 stride_h=2 stride_w=2 dtype=fp32"));
  EXPECT_THAT(config_refusal(config), HasSubstr("its stride 2 leaves open which input has the output 4"));
}

TEST(PerfDbShapes, NumbersOutOfRangeAreNoProblem) {
  const PerfDbConfig good = perf_db_config_of(conv_of("direction=fwd n=2 c=8 h=9 w=9 k=8 y=3 x=3 dtype=fp32"));
  for (const auto& [place, value, says] :
       {std::tuple(size_t{0}, int64_t{4}, "spatial_dim must be 2 or 3"), std::tuple(size_t{2}, int64_t{0}, "in_h"),
        std::tuple(size_t{13}, int64_t{0}, "conv_stride_h"), std::tuple(size_t{9}, int64_t{1} << 60, "batchsize"),
        std::tuple(size_t{19}, int64_t{1}, "bias")}) {
    PerfDbConfig bad = good;
    bad.numbers[place] = value;
    EXPECT_THAT(config_refusal(bad), HasSubstr(says));
  }
  EXPECT_EQ(config_refusal(good), "accepted");
}

TEST(PerfDbShapes, RowsAreResultsWithoutATime) {
  const TestFolder folder;
  const std::string key =
      perf_db_key(perf_db_config_of(conv_of("direction=fwd n=2 c=8 h=9 w=9 k=8 y=3 x=3 dtype=fp32")));
  const std::string open = perf_db_key(
      perf_db_config_of(conv_of("direction=bwd_data n=2 c=8 h=9 w=9 k=8 y=3 x=3 stride_h=2 stride_w=2 dtype=fp32")));
  const auto file = folder.put("a.db.txt", open + "=S:1\n" + key + "=S:1,2;T:x<256, 1>\n");
  const MiopenShapes found = read_perf_db_shapes(file, true);
  ASSERT_THAT(found.shapes, SizeIs(1));
  EXPECT_EQ(found.shapes[0].line, 2u);
  ASSERT_THAT(found.results, SizeIs(2));
  EXPECT_EQ(found.results[1].params, "x<256, 1>");
  EXPECT_EQ(found.results[1].time_ms, "");
  EXPECT_THAT(found.notices, testing::ElementsAre(HasSubstr("a.db.txt:1: 1 key without a problem left out")));
}

}  // namespace
}  // namespace attune
