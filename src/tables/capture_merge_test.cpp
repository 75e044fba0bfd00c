// SPDX-License-Identifier: MIT
#include "tables/capture_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/table_values.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Shapes of M 1, 2 and 64 with 90, 5 and 0 calls.
std::vector<CapturedShapes> three_shapes() {
  return {{&test_family(), {{table_problem(1), 90}, {table_problem(2), 5}, {table_problem(64), 0}}}};
}

/// Returns the error of an action; empty: none.
template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

std::vector<int64_t> rows_left(const CaptureLimits& limits) {
  const fs::path sources[] = {"captures"};
  std::vector<int64_t> rows;
  for (const CalledShape& shape : capture_merge(three_shapes(), sources, limits).shapes.shapes)
    rows.push_back(shape.problem.integer("m"));
  return rows;
}

TEST(CaptureMerge, LimitsKeepWhatReachesThem) {
  EXPECT_THAT(rows_left({}), ElementsAre(1, 2, 64));
  EXPECT_THAT(rows_left({.min_calls = 5, .max_m = {}}), ElementsAre(1, 2));
  EXPECT_THAT(rows_left({.min_calls = 0, .max_m = 2}), ElementsAre(1, 2));
  EXPECT_THAT(rows_left({.min_calls = 0, .max_m = 1}), ElementsAre(1));
  EXPECT_EQ(capture_merge(three_shapes(), {}, {.min_calls = 6, .max_m = {}}).num_skipped, 2u);
}

TEST(CaptureMerge, NothingLeftAndSeveralFamiliesAreRefused) {
  const fs::path sources[] = {"here", "there"};
  EXPECT_THAT(refusal([&] { capture_merge({}, sources, {}); }), HasSubstr("in 'here', 'there'"));
  EXPECT_THAT(refusal([&] { capture_merge(three_shapes(), sources, {.min_calls = 91, .max_m = {}}); }),
              HasSubstr("no shape of 3 is left"));
  auto both = three_shapes();
  both.push_back({find_family("gemm_a8w8"), {{Problem::parse("gemm_a8w8 m=1 n=2 k=3"), 1}}});
  EXPECT_THAT(refusal([&] { capture_merge(both, sources, {}); }), HasSubstr("gemm_a16w16, gemm_a8w8"));
}

class CaptureOutputsTest : public testing::Test {
 protected:
  CaptureOutputsTest() { fs::create_directories(path("captures/counts")); }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::string refusal_of(const std::string& shapes, const std::string& counts, const std::string& source) const {
    const fs::path sources[] = {path(source)};
    return refusal([&] {
      write_capture_merge(capture_merge(three_shapes(), sources, {}), {path(shapes), path(counts)}, sources);
    });
  }
  TemporaryFolder folder_{"capture_merge_test"};
};

TEST_F(CaptureOutputsTest, AMergeReadsBackAsItWas) {
  EXPECT_EQ(refusal_of("all.csv", "all.csv.counts", "captures"), "");
  const fs::path merged[] = {path("all.csv")};
  const auto again = read_captures(merged, &test_family());
  ASSERT_EQ(again.size(), 1u);
  std::vector<std::pair<int64_t, uint64_t>> shapes;
  for (const CalledShape& shape : again.front().shapes) shapes.emplace_back(shape.problem.integer("m"), shape.calls);
  EXPECT_THAT(shapes, ElementsAre(std::pair(1, 90), std::pair(2, 5), std::pair(64, 0)));
}

TEST_F(CaptureOutputsTest, OutputsThatWouldBeReadWithTheSourcesAreRefused) {
  write_file_atomically(path("captures/bf16_untuned_gemm.csv"), "M,N,K\n1,2,3\n");
  const std::string file = "captures/bf16_untuned_gemm.csv", inside = "captures/counts/bf16_untuned_gemm.csv.all";
  for (const auto& [shapes, counts, source] :
       {std::tuple<std::string, std::string, std::string>{"captures/all.csv", "c.csv", "captures"},
        {"captures/../" + file, "c.csv", file},
        {inside, "c.csv", "captures"},
        {"all.csv", inside, "captures"},
        {"all.csv", inside, file},
        {"all.csv", file + ".counts", file}}) {
    EXPECT_THAT(refusal_of(shapes, counts, source), HasSubstr("must not be one of the sources"))
        << shapes << " " << counts;
  }
  EXPECT_EQ(refusal_of("captures/all.csv", "captures/c.csv", file), "") << "beside a file that is a source";
}

TEST_F(CaptureOutputsTest, OutputsThatWouldOverwriteOtherFilesAreRefused) {
  write_file_atomically(path("notes.csv"), "name\nmine\n");
  EXPECT_THAT(refusal_of("all.csv", "./all.csv", "captures"), HasSubstr("the same file"));
  EXPECT_THAT(refusal_of("notes.csv", "c.csv", "captures"), HasSubstr("notes.csv"));
  EXPECT_THAT(refusal_of("all.csv", "notes.csv", "captures"), HasSubstr("notes.csv"));
  EXPECT_THAT(refusal_of("no/all.csv", "c.csv", "captures"), HasSubstr("no"));
  EXPECT_FALSE(fs::exists(path("all.csv")));
}

}  // namespace
}  // namespace attune
