// SPDX-License-Identifier: MIT
#include "formats/find_db/fin_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// As fin writes them (ROCm/MITuna tests/fin_output_find_eval.json), without blobs.
constexpr const char* kFinJobs = R"([
    {
        "process_env": []
    },
    {
        "arch": "gfx906:sram-ecc+:xnack-",
        "db_key": "2048-7-7-1x1-1024-14-14-128-0x0-2x2-1x1-0-NCHW-FP32-B",
        "input": {"miopen_find_compile_result": [{"solver_name": "NotEvaluated"}]},
        "miopen_find_eval_result": [
            {"algorithm": "A1", "evaluated": true, "params": "32,1,16", "solver_name": "Fast", "time": 2.8597,
             "workspace": 0},
            {"algorithm": "A2", "evaluated": false, "reason": "Invoker exception", "solver_name": "Bad"},
            {"algorithm": "A1", "evaluated": true, "solver_name": "Fast", "time": 9}
        ]
    },
    {
        "db_key": "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W"
    }
]
)";

std::string fin_refusal(std::string_view content) {
  try {
    parse_fin_results(content, "out.json", true);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

TEST(FinResults, JobsNameProblemsByTheirKeysOfTheFindDb) {
  const MiopenShapes found = parse_fin_results(kFinJobs, "out.json");
  ASSERT_THAT(found.shapes, SizeIs(1));
  EXPECT_EQ(found.shapes[0].problem.key(),
            "conv direction=bwd_data n=128 c=1024 h=14 w=14 k=2048 y=1 x=1 stride_h=2 stride_w=2 dtype=fp32");
  EXPECT_EQ(found.shapes[0].line, 7u);
  EXPECT_EQ(found.num_keys, 2u);
  EXPECT_EQ(found.num_untunable, 1u);
  EXPECT_THAT(found.notices, ElementsAre(HasSubstr("out.json:17: 1 key without a problem")));
  EXPECT_THAT(found.results, SizeIs(0));
}

TEST(FinResults, ResultsOfEvaluationsAreKeptAsTheyStand) {
  const MiopenShapes found = parse_fin_results(kFinJobs, "out.json", true);
  ASSERT_THAT(found.results, SizeIs(1)) << "a solver counts once, and only with a time";
  const MiopenResult& one = found.results[0];
  EXPECT_EQ(one.shape, 0u);
  EXPECT_EQ(one.solver + " " + one.algorithm + " " + one.time_ms + " " + one.workspace_bytes + " " + one.params,
            "Fast A1 2.8597 0 32,1,16");
  EXPECT_THAT(found.notices.back(), HasSubstr("1 result without a usable time left out"));
}

TEST(FinResults, BrokenTextIsRefusedWithItsLine) {
  const std::string whole = kFinJobs;
  EXPECT_THAT(fin_refusal(whole.substr(0, whole.find("2.8597"))), HasSubstr("out.json:10: the JSON is cut off"));
  EXPECT_THAT(fin_refusal("[\n\n{\"a\": nonsense}]"), HasSubstr("out.json:3: this is no JSON"));
  EXPECT_THAT(fin_refusal("[{\"db_key\": \"1-2\"}]"), HasSubstr("out.json:1: a 2-D key"));
  EXPECT_THAT(fin_refusal("[]"), HasSubstr("no key of the results"));
  EXPECT_THAT(fin_refusal("{}"), HasSubstr("a list of jobs"));
  EXPECT_THAT(fin_refusal(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper"));
}

TEST(FinResults, AreKnownByTheirFirstCharacter) {
  const TestFolder folder;
  EXPECT_TRUE(is_fin_results(folder.put("a.json", kFinJobs)));
  EXPECT_FALSE(is_fin_results(folder.put("a.txt", "MIOpenDriver conv -n 1\n")));
  EXPECT_FALSE(is_fin_results(folder.path() / "none"));
}

}  // namespace
}  // namespace attune
