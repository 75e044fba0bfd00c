// SPDX-License-Identifier: MIT
#include "formats/driver/driver_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "attune/error.h"
#include "formats/driver/driver_text.h"
#include "ops/op.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DriverFile driver_file(const std::string& text, const DriverOptions& options = {}) {
  return parse_driver_lines(text, "lines.txt", options);
}

std::vector<std::string> driver_keys(const std::string& text, const DriverOptions& options = {}) {
  std::vector<std::string> keys;
  for (const DriverProblem& one : driver_file(text, options).problems) keys.push_back(one.problem.key());
  return keys;
}

std::string driver_error(const std::string& text, const DriverOptions& options = {}) {
  try {
    driver_file(text, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// The defect of a line that follows a good one.
std::string defect(const std::string& line) {
  const DriverFile file = driver_file("MIOpenDriver conv\n" + line + "\n");
  return file.skipped.size() == 1 ? file.skipped.front().reason : "accepted";
}

constexpr const char* kLine =
    "./bin/MIOpenDriver conv -n 8 -c 64 -H 56 -W 28 -k 32 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -l 1 -j 2 -m conv -g 4 -F 1 -t "
    "1";

TEST(DriverLines, ShortFlagsNameAProblem) {
  EXPECT_THAT(driver_keys(kLine), ElementsAre("conv direction=fwd n=8 c=64 h=56 w=28 k=32 y=3 x=1 pad_h=1 stride_h=2 "
                                              "dilation_w=2 groups=4 dtype=fp32"));
}

TEST(DriverLines, LongFlagsNameTheSameProblem) {
  EXPECT_EQ(
      driver_keys("MIOpenDriver conv --batchsize 8 --in_channels=64 --in_h 56 --in_w 28 --out_channels 32 --fil_h 3 "
                  "--fil_w 1 --pad_h 1 --pad_w 0 --conv_stride_h 2 --conv_stride_w 1 --dilation_h 1 --dilation_w 2 "
                  "--group_count 4 --mode conv --pad_mode default --spatial_dim 2 --in_layout NCHW --forw 1 "
                  "--in_d 1 --fil_d 1 --pad_d 0"),
      driver_keys(kLine));
}

TEST(DriverLines, WhatALineLeavesOutIsTheDriversDefault) {
  EXPECT_THAT(driver_keys("MIOpenDriver conv -F 2"),
              ElementsAre("conv direction=bwd_data n=100 c=3 h=32 w=32 k=32 y=3 x=3 dtype=fp32"));
  EXPECT_THAT(driver_keys("MIOpenDriver conv -F 2", {.defaults = DriverDefaults::mituna}),
              ElementsAre("conv direction=bwd_data n=32 c=3 h=32 w=32 k=32 y=3 x=3 dtype=fp32"));
  EXPECT_THAT(driver_keys("MIOpenDriver conv -F 1 --spatial_dim 3"),
              ElementsAre("conv direction=fwd n=100 c=3 d=32 h=32 w=32 k=32 z=3 y=3 x=3 dtype=fp32 layout=NCDHW"));
}

TEST(DriverLines, TheDirectionIsAMaskOrAPrefixOrAllThree) {
  const auto directions = [](const std::string& line) {
    std::vector<std::string> all;
    for (const DriverProblem& one : driver_file(line).problems) all.push_back(one.problem.text("direction"));
    return all;
  };
  for (const char* all : {"MIOpenDriver conv", "MIOpenDriver conv -F 0", "MIOpenDriver conv -F 7"})
    EXPECT_THAT(directions(all), ElementsAre("fwd", "bwd_data", "bwd_weights")) << all;
  EXPECT_THAT(directions("MIOpenDriver conv -F 5"), ElementsAre("fwd", "bwd_weights"));
  EXPECT_THAT(directions("MIOpenDriver conv -F 1."), ElementsAre("fwd"));
  EXPECT_THAT(directions("miopenConvolutionForward: ./bin/MIOpenDriver conv"), ElementsAre("fwd"));
  EXPECT_THAT(directions("miopenConvolutionBackwardData: ./bin/MIOpenDriver conv"), ElementsAre("bwd_data"));
  EXPECT_THAT(directions("miopenFindConvolutionBackwardWeightsAlgorithm: MIOpenDriver conv"),
              ElementsAre("bwd_weights"));
  EXPECT_THAT(directions("miopenConvolutionForward: MIOpenDriver conv -F 2"), ElementsAre("bwd_data"));
}

TEST(DriverLines, TheLastOfAFlagCounts) {
  EXPECT_THAT(driver_keys("MIOpenDriver conv -n 1 -F 1 --batchsize 5 -n 7"), ElementsAre(HasSubstr("n=7")));
}

TEST(DriverLines, OperatorsStateTheTypeAndFlagsTheLayout) {
  EXPECT_THAT(driver_keys("MIOpenDriver convbfp16 -F 1 --in_layout NHWC"),
              ElementsAre(HasSubstr("dtype=bf16 layout=NHWC")));
  EXPECT_THAT(driver_keys("MIOpenDriver convint8 -F 1"), ElementsAre(HasSubstr("dtype=int8")));
  EXPECT_THAT(driver_keys("MIOpenDriver conv -F 1 -m trans -Y 1 -u 2"),
              ElementsAre("conv direction=fwd n=100 c=3 h=32 w=32 k=32 y=3 x=3 stride_h=2 dtype=fp32 transposed=1 "
                          "output_pad_h=1"));
  EXPECT_THAT(driver_keys("MIOpenDriver conv -F 1 -z same"), ElementsAre(HasSubstr("pad_h=1 pad_w=1")));
}

TEST(DriverLines, BatchesReplicateAndAnOperatorOverrides) {
  EXPECT_THAT(driver_keys("MIOpenDriver conv -n 9 -F 1\nMIOpenDriver conv -n 3 -F 1",
                          {.batches = {1, 4}, .command = "convfp16"}),
              ElementsAre("conv direction=fwd n=1 c=3 h=32 w=32 k=32 y=3 x=3 dtype=fp16",
                          "conv direction=fwd n=4 c=3 h=32 w=32 k=32 y=3 x=3 dtype=fp16"));
  EXPECT_THAT(parse_batches("1,2, 4"), ElementsAre(1, 2, 4));
  EXPECT_THROW(parse_batches("1,,2"), Error);
  EXPECT_THROW(parse_batches("0"), Error);
  EXPECT_THROW(check_driver_command("bnorm"), Error);
}

TEST(DriverLines, EveryLineIsCounted) {
  const DriverFile file = driver_file(
      "MIOpenDriver conv -F 1\r\n\n  \nMIOpenDriver bnorm -n 2\nMIOpenDriver conv -F 1\nMIOpenDriver pool\n"
      "MIOpenDriver bnorm -n 2\nMIOpenDriver conv -Q 1\nhello\nMIOpenDriver conv -F 2");
  EXPECT_EQ(file.num_lines, 10u);
  EXPECT_EQ(file.num_blank, 2u);
  EXPECT_EQ(file.num_convolutions, 3u);
  EXPECT_EQ(file.problems.size(), 2u);
  EXPECT_EQ(file.problems.back().line, 10u);
  EXPECT_THAT(file.notices, ElementsAre("lines.txt:4: 2 lines of bnorm skipped, only convolutions are read (4, 7)",
                                        "lines.txt:6: 1 line of pool skipped, only convolutions are read",
                                        "lines.txt:8: 1 bad line skipped: unknown flag '-Q'",
                                        "lines.txt:9: 1 bad line skipped: there is no MIOpenDriver in it"));
}

TEST(DriverLines, ABadLineSaysWhy) {
  EXPECT_EQ(defect("MIOpenDriver conv -n"), "the flag '-n' has no value");
  EXPECT_EQ(defect("MIOpenDriver conv -t"), "accepted") << "how it runs is not read";
  EXPECT_EQ(defect("MIOpenDriver conv -n two"), "--batchsize expects a whole number, got 'two'");
  EXPECT_EQ(defect("MIOpenDriver conv -F 8"), "--forw expects a mask of 1, 2 and 4, got 8");
  EXPECT_EQ(defect("MIOpenDriver conv -m sideways"), "--mode expects conv or trans, got 'sideways'");
  EXPECT_EQ(defect("MIOpenDriver conv -I NCHW -O NHWC"), "the layouts differ: 'NCHW' and 'NHWC'");
  EXPECT_EQ(defect("MIOpenDriver conv -I CHWN"), "unsupported layout of --spatial_dim 2: 'CHWN'");
  EXPECT_EQ(defect("MIOpenDriver conv -_ 4"), "--spatial_dim expects 2 or 3, got 4");
  EXPECT_EQ(defect("MIOpenDriver conv -U fp8"), "casts (--in_cast_type) are not supported");
  EXPECT_EQ(defect("MIOpenDriver"), "no operator follows MIOpenDriver");
  EXPECT_EQ(defect("MIOpenDriver conv 5"), "unknown flag '5'");
  EXPECT_EQ(defect("MIOpenDriver conv -H 99999999999999999999"),
            "--in_h expects a whole number, got '99999999999999999999'");
}

TEST(DriverLines, StrictStopsAtTheFirstLineThatIsNoConvolution) {
  EXPECT_EQ(driver_error("MIOpenDriver conv\nMIOpenDriver pool", {.strict = true}),
            "lines.txt:2: only convolutions are read, the operator is 'pool'");
  EXPECT_EQ(driver_error("MIOpenDriver conv\nMIOpenDriver conv -Q 1", {.strict = true}),
            "lines.txt:2: unknown flag '-Q'");
}

TEST(DriverLines, ABrokenFileIsRefused) {
  EXPECT_THAT(driver_error(std::string("MIOpenDriver conv\nMIOpenDriver\0conv", 35)),
              HasSubstr("lines.txt:2: the line contains a NUL byte"));
  EXPECT_THAT(driver_error("MIOpenDriver conv " + std::string(1 << 20, 'x')),
              HasSubstr("lines.txt:1: a line has at most 65536 bytes"));
  EXPECT_EQ(
      driver_error("MIOpenDriver pool"),
      "lines.txt: there is no convolution in it, lines.txt:1: 1 line of pool skipped, only convolutions are read");
  EXPECT_EQ(driver_error(""), "lines.txt: there is no convolution in it");
}

TEST(DriverLines, AProblemHasALine) {
  for (const char* key :
       {"conv direction=bwd_data n=8 c=64 h=56 w=28 k=32 y=3 x=1 pad_h=1 stride_h=2 dilation_w=2 groups=4 dtype=fp32",
        "conv direction=fwd n=1 c=2 h=3 w=4 k=5 y=1 x=1 dtype=bf16 layout=NHWC",
        "conv direction=bwd_weights n=1 c=2 d=6 h=3 w=4 k=5 z=2 y=1 x=1 pad_d=1 stride_d=2 dtype=int8 layout=NDHWC",
        "conv direction=fwd n=1 c=2 h=3 w=4 k=5 y=2 x=2 stride_h=2 dtype=fp16 transposed=1 output_pad_h=1"})
    EXPECT_THAT(driver_keys(driver_line_of(Problem::parse(key))), ElementsAre(key));
  EXPECT_THROW(driver_line_of(Problem::parse("conv direction=fwd n=1 c=2 h=3 w=4 k=5 y=1 x=1 dtype=e4m3fn")), Error);
}

TEST(DriverLines, AFileIsKnownByItsFirstLine) {
  const TestFolder folder;
  EXPECT_TRUE(is_driver_file(folder.put("a.txt", "\n  \n" + std::string(kLine) + "\n")));
  EXPECT_FALSE(is_driver_file(folder.put("b.csv", "M,N,K\n1,2,3\n")));
  EXPECT_FALSE(is_driver_file(folder.put("c.txt", "")));
  EXPECT_FALSE(is_driver_file(folder.path() / "missing"));
}

/// The older importer's files, which are not part of the project: ../shared/data/mituna_configs.
class RealDriverFiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "the files are not here: " << folder_;
  }
  static size_t counted_lines(const DriverFile& file) {
    size_t lines = file.num_blank + file.num_convolutions;
    for (const DriverSkip& skip : file.skipped) lines += skip.lines.size();
    return lines;
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(ATTUNE_SOURCE_DIR).parent_path() / "shared" / "data" / "mituna_configs";
};

TEST_F(RealDriverFiles, NoneOfTheirConvolutionsIsLost) {
  struct Expected {
    const char* name;
    size_t convolutions, problems;
  };
  for (const auto& [name, convolutions, problems] :
       {Expected{"mituna_tests_all.txt", 569, 979}, {"all.txt", 1237, 961}, {"resnet50_pytorch.txt", 60, 60}}) {
    const DriverFile file = read_driver_lines(folder_ / name);
    EXPECT_EQ(file.num_convolutions, convolutions) << name;
    EXPECT_EQ(file.problems.size(), problems) << name;
    EXPECT_EQ(counted_lines(file), file.num_lines) << name;
    const Op& op = *find_op("conv");
    std::set<std::string> keys;
    for (const DriverProblem& one : file.problems) {
      EXPECT_NO_THROW(keys.insert(op.normalise(one.problem, {}).key())) << name << ":" << one.line;
    }
    EXPECT_EQ(keys.size(), problems) << name;
  }
}

}  // namespace
}  // namespace attune
