// SPDX-License-Identifier: MIT
#include "fleet/setup/import_configurations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kLines =
    "./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1\n"
    "\n"
    "MIOpenDriver conv --batchsize 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -V 0\n"
    "MIOpenDriver bnorm -n 4\n"
    "MIOpenDriver conv -n 1 -c 4 -g 3 -F 1\n";

class ImportConfigurations : public ::testing::Test {
 protected:
  ImportOptions of(const std::string& name, std::string_view content) const {
    return {.file = folder_.put(name, content).string(), .line = {}, .driver = {}, .op = {}, .tag = "t", .source = {}};
  }
  static std::string refusal(const ImportOptions& options) {
    try {
      read_configurations(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }
  TestFolder folder_;
};

TEST_F(ImportConfigurations, LinesOfOneProblemAreOneConfigurationAndEveryLineIsCounted) {
  const auto imported = read_configurations(of("lines.txt", kLines));
  ASSERT_EQ(imported.configurations.size(), 1u);
  const FleetConfiguration& one = imported.configurations.front();
  EXPECT_EQ(one.op, "conv");
  EXPECT_EQ(one.id, configuration_id(Problem::parse(one.key)));
  EXPECT_EQ(one.id.size(), 32u);
  EXPECT_EQ(one.source, "lines.txt");
  EXPECT_THAT(one.tags, ElementsAre("t"));
  EXPECT_EQ(imported.num_lines, 5u);
  EXPECT_EQ(imported.num_blank + imported.num_convolutions + imported.skipped.size(), 5u);
  EXPECT_EQ(imported.num_refused, 1u);
  EXPECT_THAT(imported.notices, ElementsAre(HasSubstr("lines.txt:4: "), HasSubstr("lines.txt:5: ")));
}

TEST_F(ImportConfigurations, StrictStopsAtTheFirstLineThatIsLeftOut) {
  auto options = of("lines.txt", kLines);
  options.driver.strict = true;
  EXPECT_THAT(refusal(options), HasSubstr("lines.txt:4: "));
  options = of("groups.txt", "MIOpenDriver conv -n 1 -c 4 -g 3 -F 1\n");
  options.driver.strict = true;
  EXPECT_THAT(refusal(options), HasSubstr("groups.txt:1: "));
}

TEST_F(ImportConfigurations, AnIssueNamesConfigurationsInItsFencedBlocks) {
  ImportOptions options =
      of("issue.md",
         "MIOpenDriver conv -n 9 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -F 1 is prose\n"
         "```\n"
         "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 "
         "-x 3 -p 1 -q 1 -F 1 -t 1\n"
         "\n"
         "MIOpenDriver bnorm -n 4\n"
         "```\n"
         "```python\nimport torch\n```\n"
         "```csv\r\nM,N,K\r\n1,64,32\r\n```\r\n");
  std::swap(options.issue, options.file);
  const auto imported = read_configurations(options);
  ASSERT_EQ(imported.configurations.size(), 2u);
  EXPECT_THAT(imported.configurations[0].key, HasSubstr("n=2"));
  EXPECT_EQ(imported.configurations[1].op, "gemm_a16w16");
  EXPECT_EQ(imported.num_lines, 6u);
  EXPECT_EQ(imported.num_blank, 1u);
  EXPECT_EQ(imported.num_convolutions, 1u);
  EXPECT_THAT(imported.notices, ElementsAre(HasSubstr("issue.md:5: 1 line of bnorm"), HasSubstr("bare M, N, K"),
                                            HasSubstr("using bf16"), HasSubstr("issue.md:8: a fenced block skipped")));
}

TEST_F(ImportConfigurations, AnIssueWithoutConfigurationsIsAnsweredWithTheSentenceThatAsksForThem) {
  for (const char* text : {"", "please tune MIOpenDriver conv -n 2\n", "```\nTraceback\n```\n"}) {
    ImportOptions options = of("issue.md", text);
    std::swap(options.issue, options.file);
    EXPECT_THAT(refusal(options), HasSubstr("ask the issue's author for command lines of MIOpenDriver")) << text;
  }
  ImportOptions options = of("issue.md", "\n```\nM,N,K\n1,x,3\n```\n");
  std::swap(options.issue, options.file);
  EXPECT_THAT(refusal(options), HasSubstr("issue.md:4: "));
  options = of("issue.md", "\n```\nM,N,L\n1,2,3\n```\n");
  std::swap(options.issue, options.file);
  options.op = "gemm_a16w16";
  EXPECT_THAT(refusal(options), HasSubstr("issue.md:3: "));
}

TEST_F(ImportConfigurations, BatchesReplicateAndAnOperatorOverrides) {
  auto options = of("lines.txt", kLines);
  options.driver.batches = {1, 4};
  options.driver.command = "convfp16";
  const auto imported = read_configurations(options);
  ASSERT_EQ(imported.configurations.size(), 2u);
  EXPECT_THAT(imported.configurations[1].key, HasSubstr("n=4"));
  EXPECT_THAT(imported.configurations[1].key, HasSubstr("dtype=fp16"));
}

TEST_F(ImportConfigurations, AFindDbAndAListOfShapesNameTheSameConfigurations) {
  const auto found = read_configurations(
      of("a.fdb.txt",
         "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=ConvDirect:0.5,0,miopenConvolutionFwdAlgoDirect\n"
         "8-9-8-3x3-8-1-1-2-1x1-1x1-1x1-0-NCHW-FP32-F=ConvDirect:0.5,0,miopenConvolutionFwdAlgoDirect\n"));
  const auto lines = read_configurations(of("lines.txt", kLines));
  ASSERT_EQ(found.configurations.size(), 1u);
  EXPECT_EQ(found.num_lines, 2u);
  EXPECT_EQ(found.num_refused, 1u);
  EXPECT_EQ(found.configurations[0].id, lines.configurations[0].id);
  const auto list = read_configurations(of("untuned_gemm.csv", "M,N,K\n1,32,48\n1,32,48\n2,32,48\n"));
  EXPECT_EQ(list.configurations.size(), 2u);
  EXPECT_THAT(list.configurations[0].key, HasSubstr("m=1"));
}

TEST_F(ImportConfigurations, APerfDbResultsOfFinAndYamlSizesAreRead) {
  const std::string key = "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF";
  const auto lines = read_configurations(of("lines.txt", kLines));
  const auto rows = read_configurations(of("a.db.txt", key + "=ConvDirect:1,2\n"));
  ASSERT_EQ(rows.configurations.size(), 1u);
  EXPECT_EQ(rows.configurations[0].id, lines.configurations[0].id);
  const auto jobs =
      read_configurations(of("out.json", "[{\"db_key\": \"8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F\"}]"));
  EXPECT_EQ(jobs.configurations[0].id, lines.configurations[0].id);
  const auto sizes =
      read_configurations(of("sizes.yaml", "- {'M': 8, 'N': 16, 'K': 32, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n"));
  ASSERT_EQ(sizes.configurations.size(), 1u);
  EXPECT_THAT(sizes.configurations[0].key, HasSubstr("gemm_a16w16"));
  EXPECT_THAT(refusal(of("cut.json", "[\n{\"db_key\": \"8-9")), HasSubstr("cut.json:2: the JSON is cut off"));
}

TEST_F(ImportConfigurations, ResultsOfTheFileAreKeptOnlyIfAskedFor) {
  auto options = of("a.fdb.txt", "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F=S:0.5,72,A;T:0.0,0,A\n");
  EXPECT_TRUE(read_configurations(options).foreign.empty());
  options.with_results = true;
  const auto imported = read_configurations(options);
  ASSERT_EQ(imported.foreign.size(), 1u);
  EXPECT_EQ(imported.foreign[0].configuration, imported.configurations[0].id);
  EXPECT_EQ(imported.foreign[0].time_ms, "0.5");
  EXPECT_EQ(imported.source, "a.fdb.txt");
  EXPECT_THAT(imported.notices, ElementsAre(HasSubstr("a.fdb.txt:1: 1 result without a usable time")));
  auto lines = of("lines.txt", kLines);
  lines.with_results = true;
  EXPECT_THAT(refusal(lines), HasSubstr("--results"));
}

TEST_F(ImportConfigurations, ResultsThatNoStoreCanKeepAreRefusedWithTheirLine) {
  const std::string job =
      "[\n{{\"db_key\": \"8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F\", \"miopen_find_eval_result\": [{}]}}]";
  const auto why = [&](const std::string& result) {
    auto options = of("out.json", fmt::format(fmt::runtime(job), result));
    options.with_results = true;
    return refusal(options);
  };
  auto good = of("good.json", fmt::format(fmt::runtime(job), R"({"solver_name": "S", "time": 0.5, "workspace": 72})"));
  good.with_results = true;
  EXPECT_EQ(read_configurations(good).foreign.size(), 1u);
  EXPECT_THAT(why(R"({"solver_name": "S\u0000", "time": 0.5})"),
              HasSubstr("out.json:2: the solver of a result has a zero byte"));
  EXPECT_THAT(why(R"({"solver_name": "S", "time": 0.5, "params": "1\u00002"})"), HasSubstr("the parameters of"));
  EXPECT_THAT(why(R"({"solver_name": "S", "time": 0.5, "workspace": -1})"),
              HasSubstr("out.json:2: the workspace of a result is no number of bytes: '-1'"));
  EXPECT_THAT(why(R"({"solver_name": "S", "time": 0.5, "workspace": 1.5})"), HasSubstr("'1.5'"));
  EXPECT_THAT(why(R"({"solver_name": ")" + std::string(256, 'S') + R"(", "time": 0.5})"), HasSubstr("256 bytes"));
  EXPECT_THAT(why(R"({"solver_name": "S", "time": 0.5, "params": ")" + std::string(70'000, '1') + R"("})"),
              HasSubstr("70000 bytes, at most 65535"));
}

TEST_F(ImportConfigurations, OtherSourcesAreRefused) {
  EXPECT_THAT(refusal(of("text.txt", "hello world\n")), HasSubstr("text.txt"));
  EXPECT_THAT(refusal(of("bad.txt", "MIOpenDriver conv -n 0 -F 1\n")), HasSubstr("bad.txt:1: "));
  auto options = of("untuned_gemm.csv", "M,N,K\n1,32,48\n");
  options.driver.batches = {4};
  EXPECT_THAT(refusal(options), HasSubstr("-b and -c"));
  EXPECT_THAT(refusal({}), HasSubstr("name one source"));
}

TEST_F(ImportConfigurations, OneLineCanBeGivenInPlaceOfAFile) {
  ImportOptions options;
  options.line = "MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1";
  options.tag = "t";
  EXPECT_EQ(read_configurations(options).configurations.size(), 3u);  // All directions.
}

TEST_F(ImportConfigurations, TaggingAddsNothing) {
  const auto store = open_fleet_store("sqlite:" + (folder_.path() / "fleet.db").string());
  auto options = of("lines.txt", kLines);
  options.only_tag = true;
  const auto imported = read_configurations(options);
  auto counts = store_configurations(*store, options, imported);
  EXPECT_EQ(counts.num_new + counts.num_tagged, 0u);
  EXPECT_EQ(counts.num_unknown, 1u);
  options.only_tag = false;
  counts = store_configurations(*store, options, imported);
  EXPECT_EQ(counts.num_new, 1u);
  EXPECT_EQ(counts.num_tagged, 1u);
  options.only_tag = true;
  options.tag = "u";
  counts = store_configurations(*store, options, read_configurations(options));
  EXPECT_EQ(counts.num_new, 0u);
  EXPECT_EQ(counts.num_tagged, 1u);
}

}  // namespace
}  // namespace attune
