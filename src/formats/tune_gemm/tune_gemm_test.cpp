// SPDX-License-Identifier: MIT
#include "formats/tune_gemm/tune_gemm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class TuneGemm : public testing::Test {
 protected:
  TuneGemmFile read(std::string_view content, const TuneGemmOptions& options = {}) {
    return read_tune_gemm(folder_.put("sizes.yaml", content), options);
  }
  std::string key(std::string_view content, const TuneGemmOptions& options = {}) {
    return read(content, options).entries.at(0).problem.key();
  }
  std::string message(std::string_view content) {
    try {
      read(content);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return std::string(error.what()).substr(folder_.path().string().size() + 1);
    }
    return "nothing was thrown";
  }
  TestFolder folder_;
};

TEST_F(TuneGemm, RowMajorAAndColumnMajorBIsThePlainLayout) {
  EXPECT_EQ(key("- {'M': 1, 'N': 2, 'K': 3, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n"),
            "gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp16 bias=0");
  EXPECT_EQ(key("- {'M': 1, 'N': 2, 'K': 3}\n"), "gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp16 bias=0");
  EXPECT_EQ(key("- {'M': 1, 'N': 2, 'K': 3, 'rowMajorA': 'N', 'rowMajorB': 'T'}\n"),
            "gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp16 bias=0 trans_a=1 trans_b=0");
}

TEST_F(TuneGemm, BlockStyleIsReadToo) { EXPECT_THAT(key("- M: 1\n  N: 2\n  K: 3\n"), HasSubstr("m=1 n=2 k=3")); }

TEST_F(TuneGemm, ArchitecturesAreThoseOfTheDevicesThatItsEntriesName) {
  const auto architectures = [&](std::string_view content) {
    return architectures_in_tune_gemm(folder_.put("results.yaml", content));
  };
  EXPECT_THAT(architectures("- {M: 1, N: 2, K: 3, device: sm_90/132}\n"
                            "- {M: 2, N: 2, K: 3, device: sm_80/108}\n"
                            "- {M: 3, N: 2, K: 3, device: sm_90/114}\n"
                            "- {M: 4, N: 2, K: 3}\n"),
              testing::ElementsAre("sm_80", "sm_90"));
  EXPECT_THAT(architectures("- {M: 1, N: 2, K: 3}\n"), IsEmpty());
  EXPECT_THAT(architectures("- {M: [1]}\n"), IsEmpty());
  EXPECT_THAT(architectures_in_tune_gemm(folder_.path() / "none.yaml"), IsEmpty());
  EXPECT_THAT(architectures_in_tune_gemm("/dev/null"), IsEmpty());
}

TEST_F(TuneGemm, OptionsWinOverTheFileAndADefaultIsSaid) {
  const std::string_view sizes = "- {'M': 1, 'N': 2, 'K': 3, 'dtype': 'fp32'}\n";
  EXPECT_THAT(key(sizes), HasSubstr("dtype=fp32 outdtype=fp32"));
  EXPECT_THAT(key(sizes, {.dtype = DType::fp16, .bias = true}), HasSubstr("dtype=fp16 outdtype=fp16 bias=1"));
  EXPECT_THAT(read("- {'M': 1, 'N': 2, 'K': 3}\n").notices,
              testing::ElementsAre(HasSubstr("using fp16 for 1 size without a dtype")));
  EXPECT_THAT(read(sizes).notices, IsEmpty());
}

TEST_F(TuneGemm, ResultsGiveTheirParametersAndTheTimeInTheComment) {
  const auto file = read_tune_gemm(excerpt("streamk_tuned.yaml"));
  ASSERT_EQ(file.entries.size(), 2u);
  const TuneGemmEntry& entry = file.entries[1];
  EXPECT_EQ(entry.line, 2u);
  EXPECT_EQ(entry.us, 1.09);
  EXPECT_EQ(entry.tflops, 7.68);
  EXPECT_EQ(entry.parameters.at(0), (std::pair<std::string, std::string>("BLOCK_SIZE_M", "32")));
  EXPECT_EQ(entry.parameters.at(4).first, "NUM_SMS");
}

TEST_F(TuneGemm, WhatIsWrittenIsReadBackAndStaysValidForTheOlderTuner) {
  TuneGemmEntry entry;
  entry.problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp32 bias=1 trans_b=0");
  entry.parameters = {{"BLOCK_SIZE_M", "256"}, {"instruction_sched_variant", "none's"}};
  entry.candidate = "jit_cuda.gemm@3:bk=64;bm=128";
  entry.device = "sm_90/132";
  entry.us = 1.0 / 3;
  entry.tflops = 5.88;
  entry.noise = 0.25;
  entry.runner_up = "cublas.gemm@1+13.0:";
  const auto path = folder_.path() / "results.yaml";
  TuneGemmEntry elsewhere = entry;
  elsewhere.device = "sm_90/78";
  publish_tune_gemm(path, std::vector{entry, elsewhere});
  EXPECT_THAT(
      read_file(path),
      testing::StartsWith("- {'M': 1, 'N': 2, 'K': 3, 'rowMajorA': 'T', 'rowMajorB': 'T', 'BLOCK_SIZE_M': 256, "));
  EXPECT_THAT(read_file(path), HasSubstr("} # TFLOPS: 5.88 time(us): 0.33\n"));
  const auto back = read_tune_gemm(path);
  ASSERT_EQ(back.entries.size(), 2u);
  EXPECT_EQ(back.entries[0].problem, entry.problem);
  EXPECT_EQ(back.entries[0].parameters, entry.parameters);
  EXPECT_EQ(back.entries[0].candidate, entry.candidate);
  EXPECT_EQ(back.entries[0].device, entry.device);
  EXPECT_EQ(back.entries[0].us, entry.us);
  EXPECT_EQ(back.entries[0].tflops, entry.tflops);
  EXPECT_EQ(back.entries[0].noise, entry.noise);
  EXPECT_EQ(back.entries[0].runner_up, entry.runner_up);
}

TEST_F(TuneGemm, AnEpilogueIsWrittenUnderItsAttributesOffTheDefaultAndReadBack) {
  EXPECT_THAT(key("- {M: 1, N: 2, K: 3, act: GELU, alpha: 1, beta: Any, out_scale: 0}\n"),
              testing::EndsWith(" bias=0 act=gelu beta=any"));
  EXPECT_THAT(key("- {M: 1, N: 2, K: 3, act: none, alpha: '1', beta: 0, out_scale: False}\n"),
              testing::EndsWith(" bias=0"));
  TuneGemmEntry entry;
  entry.problem = Problem::parse(
      "gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp16 bias=1 trans_b=0 act=silu alpha=any beta=1 out_scale=1");
  entry.device = "here/2";
  entry.us = 2;
  const auto path = folder_.path() / "epilogue.yaml";
  TuneGemmEntry plain = entry;
  plain.problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp16 bias=1 trans_b=0");
  publish_tune_gemm(path, std::vector{entry, plain});
  EXPECT_THAT(read_file(path),
              HasSubstr("'bias': 1, 'act': 'silu', 'alpha': 'any', 'beta': 1, 'out_scale': 1, 'device'"));
  EXPECT_THAT(read_file(path), HasSubstr("'bias': 1, 'device'"));
  const auto back = read_tune_gemm(path);
  ASSERT_EQ(back.entries.size(), 2u) << "one of two epilogues is no other's result";
  EXPECT_EQ(back.entries[0].problem, entry.problem);
  EXPECT_EQ(back.entries[1].problem, plain.problem);
  EXPECT_THROW(read("- {M: 1, N: 2, K: 3, act: mish}\n"), Error);
}

TuneGemmEntry result(const std::string& sizes, std::string candidate, std::string device = "here/2") {
  TuneGemmEntry entry;
  entry.problem = Problem::parse("gemm_a16w16 " + sizes + " dtype=fp16 outdtype=fp16 bias=0");
  entry.candidate = std::move(candidate);
  entry.device = std::move(device);
  entry.us = 2;
  entry.tflops = 0.5;
  return entry;
}

class TuneGemmPublication : public TuneGemm {
 protected:
  /// Content of the file after `entries` were published over `content`.
  std::string published(std::string_view content, const std::vector<TuneGemmEntry>& entries) {
    const auto path = folder_.put("results.yaml", content);
    publish_tune_gemm(path, entries);
    return read_file(path);
  }
  std::string failure(std::string_view content, const std::vector<TuneGemmEntry>& entries) {
    try {
      published(content, entries);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_EQ(read_file(folder_.path() / "results.yaml"), content);
      return error.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(TuneGemmPublication, KeepsEveryByteOfOtherDevicesOtherProblemsAndOfResultsWithoutADevice) {
  const std::string others =
      "# tuned by hand\n"
      "- {'M': 1, 'N': 2, 'K': 3, 'BLOCK_SIZE_M': 16} # TFLOPS: 5.88 time(us): 0.71\n"
      "- {'M': 1, 'N': 2, 'K': 3, 'candidate': 'a@1:', 'us': 9, 'device': 'there/4'}  # theirs\n"
      "\n"
      "- {'M': 7,   'N': 2, 'K': 3, 'candidate': 'a@1:', 'us': 9, 'device': 'here/2'}\n";
  const auto after = published(others, {result("m=1 n=2 k=3", "new@1:")});
  EXPECT_THAT(after, testing::StartsWith(others));
  const auto file = read(after);
  ASSERT_EQ(file.entries.size(), 4u);
  EXPECT_EQ(file.entries[3].candidate, "new@1:");
  EXPECT_EQ(file.entries[3].device, "here/2");
}

TEST_F(TuneGemmPublication, ReplacesTheResultOfTheSameProblemAndDeviceInPlace) {
  const std::string head = "# top\n- {'M': 9, 'N': 2, 'K': 3}\n# next\n",
                    tail = "# bottom\n- {'M': 8, 'N': 2, 'K': 3}\n";
  const auto line = published("", {result("m=1 n=2 k=3", "new@1:")});
  EXPECT_EQ(published(head + "- {'M': 1, 'N': 2, 'K': 3, 'device': 'here/2', 'X': 1} # old\n" + tail,
                      {result("m=1 n=2 k=3", "new@1:")}),
            head + line + tail);
  // The same in block style, with Windows line ends, and twice.
  EXPECT_EQ(published(head + "- M: 1\n  N: 2\n  K: 3\n  device: here/2\n" + tail, {result("m=1 n=2 k=3", "new@1:")}),
            head + line + tail);
  EXPECT_EQ(
      published("- {M: 1, N: 2, K: 3, device: here/2}\r\n- {M: 4, N: 2, K: 3}\r\n", {result("m=1 n=2 k=3", "new@1:")}),
      line.substr(0, line.size() - 1) + "\r\n- {M: 4, N: 2, K: 3}\r\n");
  EXPECT_EQ(published(line + head + line, {result("m=1 n=2 k=3", "new@1:")}), line + head);
}

TEST_F(TuneGemmPublication, TellsProblemsApartByAllThatTheFileSays) {
  const auto first = published("", {result("m=1 n=2 k=3", "a@1:")});
  auto half = result("m=1 n=2 k=3", "b@1:"), transposed = half, wide = half, biased = half;
  half.problem = half.problem.with("dtype", "bf16").with("outdtype", "bf16");
  transposed.problem = Problem::parse(half.problem.key() + " trans_b=0");
  wide.problem = wide.problem.with("outdtype", "fp32");
  biased.problem = biased.problem.with("bias", "1");
  const auto after = published(first, {half, transposed, wide, biased});
  EXPECT_THAT(after, testing::StartsWith(first));
  EXPECT_EQ(read(after).entries.size(), 5u);
  EXPECT_EQ(published(after, {half, transposed, wide, biased}), after);
}

TEST_F(TuneGemmPublication, OfTwoResultsForOneProblemTheLaterCounts) {
  const auto last = published("", {result("m=1 n=2 k=3", "b@1:")});
  EXPECT_EQ(published("", {result("m=1 n=2 k=3", "a@1:"), result("m=1 n=2 k=3", "b@1:")}), last);
  EXPECT_EQ(published(last, {result("m=1 n=2 k=3", "a@1:"), result("m=1 n=2 k=3", "b@1:")}), last);
}

TEST_F(TuneGemmPublication, MakesAFileThatIsNotThereAndAddsToOneOfCommentsOrWithoutALastLineEnd) {
  const auto line = published("", {result("m=1 n=2 k=3", "a@1:")});
  publish_tune_gemm(folder_.path() / "new.yaml", std::vector{result("m=1 n=2 k=3", "a@1:")});
  EXPECT_EQ(read_file(folder_.path() / "new.yaml"), line);
  EXPECT_EQ(published("# only this\n", {result("m=1 n=2 k=3", "a@1:")}), "# only this\n" + line);
  EXPECT_EQ(published("  - {M: 4, N: 2, K: 3}", {result("m=1 n=2 k=3", "a@1:")}), "  - {M: 4, N: 2, K: 3}\n  " + line);
}

TEST_F(TuneGemmPublication, KeepsTheEntriesOfAFileWhoseEntriesShareLines) {
  for (const std::string_view content :
       {"[{M: 1, N: 2, K: 3, X: y}, {M: 1, N: 2, K: 3, device: here/2}, {M: 5, N: 2, K: 3}]\n",
        "- {M: 1, N: 2, K: 3,\n   X: y\n  }\n-\n  {M: 1, N: 2, K: 3, device: here/2\n  }\n- {M: 5, N: 2, K: "
        "3}\n...\n"}) {
    const auto file = read(published(content, {result("m=1 n=2 k=3", "a@1:"), result("m=6 n=2 k=3", "b@1:")}));
    ASSERT_EQ(file.entries.size(), 4u) << content;
    EXPECT_EQ(file.entries[0].parameters.at(0).second, "y");
    EXPECT_EQ(file.entries[1].candidate, "a@1:");
    EXPECT_EQ(file.entries[2].problem.integer("m"), 5);
    EXPECT_EQ(file.entries[3].candidate, "b@1:");
  }
}

TEST_F(TuneGemmPublication, LeavesAFileAloneThatItCannotRead) {
  const std::vector one = {result("m=1 n=2 k=3", "a@1:")};
  EXPECT_THAT(failure("M,N,K\n1,2,3\n", one), HasSubstr("results.yaml:1: expected a list of sizes"));
  EXPECT_THAT(failure("- {M: 1, N: 2, K: 3}\n---\n- {M: 5, N: 2, K: 3}\n", one),
              HasSubstr("results.yaml:2: a second document is not supported"));
  EXPECT_THAT(failure("", {result("m=1 n=2 k=3 bpreshuffle=1", "a@1:")}), HasSubstr("no key for the attribute"));
}

TEST_F(TuneGemm, ARateWithoutATimeIsKept) { EXPECT_EQ(read("- {M: 1, N: 2, K: 3, tflops: 4}\n").entries[0].tflops, 4); }

TEST_F(TuneGemm, WrongValuesAreRejectedWithFileAndLine) {
  EXPECT_EQ(message("# c\n- {'M': 1, 'N': 2}\n"),
            "sizes.yaml:2: a size needs the keys M, N and K, this one has no 'K'");
  EXPECT_EQ(message("- {'M': 0, 'N': 2, 'K': 3}\n"),
            "sizes.yaml:1: the key 'M' expects a whole number from 1 to 2147483647, got '0'");
  EXPECT_EQ(message("\n- {'M': 1, 'N': -2, 'K': 3}\n"),
            "sizes.yaml:2: the key 'N' expects a whole number from 1 to 2147483647, got '-2'");
  EXPECT_EQ(message("- {'M': 1, 'N': 2, 'K': 9999999999999999999999}\n").substr(0, 32),
            "sizes.yaml:1: the key 'K' expect");
  EXPECT_EQ(message("- {'M': 1, 'N': 2, 'K': 3, 'rowMajorA': 'X'}\n"),
            "sizes.yaml:1: the key 'rowMajorA' expects T (row-major) or N (column-major), got 'X'");
  EXPECT_EQ(message("- {'M': 1, 'N': 2, 'K': 3, 'dtype': 'x'}\n"),
            "sizes.yaml:1: the key 'dtype' expects a data type such as bf16, got 'x'");
  EXPECT_EQ(message("- {'M': 1, 'M': 2}\n"), "sizes.yaml:1: the key 'M' is given twice");
}

TEST_F(TuneGemm, WhatIsNoListOfSizesIsRejectedWithFileAndLine) {
  EXPECT_EQ(message(""), "sizes.yaml:1: the list of sizes is empty, give at least one");
  EXPECT_EQ(message("[]"), "sizes.yaml:1: the list of sizes is empty, give at least one");
  EXPECT_THAT(message("M,N,K\n1,2,3\n"), HasSubstr("sizes.yaml:1: expected a list of sizes"));
  EXPECT_THAT(message("M: 1\n"), HasSubstr("sizes.yaml:1: expected a list of sizes"));
  EXPECT_THAT(message("- {'M': 1\n- {'N': 2}\n"), HasSubstr("sizes.yaml:1: "));
  EXPECT_THAT(message("- {'M': 1}\n]\n"), HasSubstr("sizes.yaml:2: this is not YAML"));
  EXPECT_THAT(message("- {'M': [1]}\n"), HasSubstr("sizes.yaml:1: a list inside"));
  EXPECT_THAT(message("- {'M': {'x': 1}}\n"), HasSubstr("sizes.yaml:1: a map inside"));
  EXPECT_THAT(message(std::string(1000, '\0')), HasSubstr("sizes.yaml:1: "));
}

TEST_F(TuneGemm, AnAliasBombAndDeepNestingEndAtOnce) {
  std::string bomb = "- &a0 {'M': 1, 'N': 2, 'K': 3}\n";
  for (int i = 1; i < 30; ++i)
    bomb += "- &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + ", *a" + std::to_string(i - 1) + "]\n";
  EXPECT_THAT(message(bomb), HasSubstr("sizes.yaml:2: a list inside"));
  EXPECT_THAT(message("- &a {'M': 1, 'N': 2, 'K': 3}\n- *a\n"), HasSubstr("sizes.yaml:2: an alias is not supported"));
  EXPECT_THAT(message(std::string(1 << 16, '[')), HasSubstr("sizes.yaml:1: "));
  EXPECT_THAT(message("- " + std::string(1 << 16, '{')), HasSubstr("sizes.yaml:1: "));
}

TEST_F(TuneGemm, KeysOfASizeAreBounded) {
  std::string many = "- {'M': 1";
  for (int i = 0; i < 256; ++i) many += ", 'k" + std::to_string(i) + "': 1";
  EXPECT_EQ(message(many + "}\n"), "sizes.yaml:1: a size has at most 256 keys");
}

TEST_F(TuneGemm, ALargeFileIsRejectedUnread) {
  const auto path = folder_.put("sizes.yaml", "- {'M': 1}\n");
  std::filesystem::resize_file(path, 1ull << 40);
  EXPECT_THROW(read_tune_gemm(path), Error);
}

TEST_F(TuneGemm, EveryShippedFileIsRead) {
  const auto folder = shared_data() / "triton_tune_gemm";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the folder of shipped files is not there (ATTUNE_SHARED_DATA)";
  const auto sizes = read_tune_gemm(folder / "tuning_gemm_sizes.yaml");
  EXPECT_EQ(sizes.entries.size(), 63u);  // six more are commented out
  EXPECT_EQ(std::count_if(sizes.entries.begin(), sizes.entries.end(),
                          [](const auto& one) { return one.problem.integer_or("trans_b", 1) == 0; }),
            25);
  EXPECT_EQ(read_tune_gemm(folder / "fallback_tuned_configs.yaml").entries.size(), 63u);
  const auto results = read_tune_gemm(folder / "streamk_tuned.yaml");
  EXPECT_TRUE(
      std::all_of(results.entries.begin(), results.entries.end(), [](const auto& one) { return one.us.has_value(); }));
}

}  // namespace
}  // namespace attune
