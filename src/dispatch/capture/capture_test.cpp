// SPDX-License-Identifier: MIT
#include "attune/capture.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "dispatch/capture/captured_shapes.h"
#include "dispatch/capture/shape_counters.h"
#include "dispatch/table/key_problem.h"
#include "formats/csv/shape_list.h"
#include "formats/csv/untuned_table.h"
#include "ops/gemm/gemm_key.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBf16 = "bf16_untuned_gemm.csv";
constexpr const char* kCaptureHeader = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n";
constexpr const char* kRest = ",False,torch.bfloat16,torch.bfloat16,False,False\n";

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() {
    std::string pattern = (fs::temp_directory_path() / "attune_capture_XXXXXX").string();
    if (::mkdtemp(pattern.data())) root_ = pattern;
    folder_ = root_ / "captures";
  }
  ~CaptureTest() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  fs::path file() const { return folder_ / kBf16; }
  std::string text() const { return read_file(file()); }
  void put(std::string_view content) const {
    fs::create_directory(folder_);
    std::ofstream(file(), std::ios::binary) << content;
  }
  std::vector<fs::path> counts() const { return counts_files(file()); }
  /// Calls of each shape by key, summed over all processes.
  std::map<std::string, uint64_t> calls() const {
    std::map<std::string, uint64_t> all;
    for (const CapturedShapes& one : read_captures(std::vector{folder_})) {
      for (const CalledShape& shape : one.shapes) all[shape.problem.key()] = shape.calls;
    }
    return all;
  }

  fs::path root_, folder_;
};

GemmKey numbered_shape(int64_t number) { return {.m = 1 + number % 50, .n = 64 * (1 + number / 50), .k = 512}; }

std::string key_of(const GemmKey& key) {
  static const FamilyCodes codes;
  return problem_of(codes.of(key.op), checked_key(key))->key();
}

unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()) & 0777; }

TEST_F(CaptureTest, AShapeStandsOnceInTheFileAndItsCallsBesideIt) {
  Capture capture(folder_);
  for (int i = 0; i < 3; ++i) capture.note(numbered_shape(7));
  capture.note(numbered_shape(0));
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(capture.flush(), "");
  capture.note(numbered_shape(7));
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(capture.num_shapes(), 2u);
  EXPECT_EQ(read_shapes(file()).shapes.size(), 2u);
  EXPECT_TRUE(read_shapes(file()).notices.empty());
  EXPECT_TRUE(text().starts_with(kCaptureHeader));
  ASSERT_EQ(counts().size(), 1u);
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(7)), 4}, {key_of(numbered_shape(0)), 1}}));
  EXPECT_EQ(mode_of(folder_), 0700u);
  EXPECT_EQ(mode_of(folder_ / "counts"), 0700u);
  EXPECT_EQ(mode_of(file()), 0600u);
  EXPECT_EQ(mode_of(file() += ".lock"), 0600u);
  EXPECT_EQ(mode_of(counts().front()), 0600u);
}

TEST_F(CaptureTest, CallsAreCountedForEachThreadLimit) {
  {
    Capture capture(folder_);
    for (int i = 0; i < 3; ++i) capture.note(numbered_shape(7), 1);
    capture.note(numbered_shape(7), 2);
    capture.note(numbered_shape(8));
    EXPECT_EQ(capture.num_shapes(), 3u);
  }
  EXPECT_EQ(read_shapes(file()).shapes.size(), 2u) << "a list has each shape once";
  const std::vector<fs::path> folder = {folder_};
  const auto captured = read_captures(folder);
  ASSERT_EQ(captured.size(), 1u);
  std::map<std::pair<std::string, int64_t>, uint64_t> seen;
  for (const CalledShape& shape : captured.front().shapes) seen[{shape.problem.key(), shape.threads}] = shape.calls;
  const std::map<std::pair<std::string, int64_t>, uint64_t> wanted = {
      {{key_of(numbered_shape(7)), 1}, 3}, {{key_of(numbered_shape(7)), 2}, 1}, {{key_of(numbered_shape(8)), 0}, 1}};
  EXPECT_EQ(seen, wanted);
}

TEST_F(CaptureTest, WithoutACallNothingIsWritten) {
  { Capture capture(folder_); }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CaptureTest, AFolderMustBeNamed) { EXPECT_THROW(Capture(""), Error); }

TEST_F(CaptureTest, TheDestructorWrites) {
  {
    Capture capture(folder_);
    capture.note(numbered_shape(1));
  }
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 1}}));
}

TEST_F(CaptureTest, AFlushWithoutANewCallTouchesNothing) {
  Capture capture(folder_);
  capture.note(numbered_shape(1));
  capture.flush();
  fs::remove_all(folder_);
  EXPECT_EQ(capture.flush(), "");
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(CaptureTest, EveryFamilyIsReadBackAsTheSameProblem) {
  std::map<std::string, uint64_t> wanted;
  {
    Capture capture(folder_);
    for (const FamilySpec& family : families()) {
      if (family.op == "fmoe" || family.op == "conv") continue;
      const bool has_batch = family.key.front().name == "batch";
      GemmKey key{.op = family.number, .m = 3, .n = 256, .k = 512, .batch = has_batch ? 5 : 1, .in = DType::int8};
      if (family.op == "gemm_a16w16") key.in = DType::fp16;
      if (family.op == "gemm_a8w8_blockscale") key.in = DType::e4m3fnuz;
      wanted[key_of(key)] = 1;
      capture.note(key);
    }
    const auto moe = Problem::parse(
        "fmoe token=16 model_dim=4096 inter_dim=1536 expert=8 topk=2 act_type=ActivationType.Silu dtype=bf16 "
        "q_dtype_a=torch.bfloat16 q_dtype_w=torch.bfloat16 q_type=QuantType.No use_g1u1=1 doweight_stage1=0");
    capture.note(moe);
    capture.note(moe);
    wanted[moe.key()] = 2;
    const auto conv = Problem::parse(
        "conv direction=bwd_data n=2 c=16 h=9 w=7 k=24 y=3 x=3 pad_h=1 pad_w=0 stride_h=1 stride_w=2 dilation_h=1 "
        "dilation_w=1 groups=1 dtype=fp32");
    capture.note(conv);
    wanted[conv.key()] = 1;
    EXPECT_EQ(capture.flush(), "");
    EXPECT_EQ(capture.num_dropped(), 0u);
  }
  EXPECT_EQ(calls(), wanted);
  for (const FamilySpec& family : families()) {
    const auto list = read_shapes(folder_ / untuned_file_name(family));
    EXPECT_EQ(list.family, &family);
    ASSERT_EQ(list.shapes.size(), 1u) << family.op;
    EXPECT_TRUE(wanted.contains(list.shapes[0].problem.key())) << list.shapes[0].problem.key();
  }
}

TEST_F(CaptureTest, EveryFieldThatTheFamilyHasMakesAShapeAndNoOther) {
  Capture capture(folder_);
  const GemmKey key{.m = 1, .n = 2, .k = 3};
  std::vector<GemmKey> others(10, key);
  others[1].m = others[2].n = others[3].k = 9;
  others[4].in = others[5].out = DType::fp16;
  others[6].flags = GemmKey::bias;
  others[7].flags = GemmKey::bpreshuffle;
  others[8].flags = GemmKey::trans_a;
  others[9].flags = GemmKey::b_is_kn;
  for (const GemmKey& other : others) capture.note(other);
  capture.note(key);
  GemmKey batched = key;
  batched.batch = 7;  // The family has no such column: it is another product.
  capture.note(batched);
  EXPECT_EQ(capture.num_dropped(), 1u);
  EXPECT_EQ(capture.num_shapes(), 10u);
  EXPECT_EQ(capture.flush(), "");
  const auto all = calls();
  EXPECT_EQ(all.size(), 10u);
  for (const GemmKey& other : others) EXPECT_EQ(all.at(key_of(other)), other == key ? 2u : 1u) << key_of(other);
}

TEST_F(CaptureTest, ATypedCallAndItsTextAreOneShape) {
  Capture capture(folder_);
  capture.note(numbered_shape(1));
  capture.note(Problem::parse(key_of(numbered_shape(1))));
  capture.note(Problem::parse("gemm_a16w16 m=2 n=64 k=512"));
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 3}}));
}

TEST_F(CaptureTest, WhatNoListCanHoldIsDropped) {
  Capture capture(folder_);
  capture.note(GemmKey{.m = 0, .n = 2, .k = 3});
  capture.note(GemmKey{.m = 1, .n = int64_t{1} << 40, .k = 3});
  capture.note(GemmKey{.m = 1, .n = 2, .k = 3, .in = DType::e8m0});
  capture.note(GemmKey{.m = 1, .n = 2, .k = 3, .in = static_cast<DType>(200)});
  capture.note(GemmKey{.op = static_cast<OpId>(500), .m = 1, .n = 2, .k = 3});
  capture.note(GemmKey{.op = OpId::fmoe, .m = 1, .n = 2, .k = 3});
  capture.note(Problem::parse("conv n=1"));
  capture.note(Problem::parse("fmoe token=1"));
  capture.note(numbered_shape(1));
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(capture.num_dropped(), 8u);
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 1}}));
}

TEST_F(CaptureTest, ThreadsLoseNoCall) {
  constexpr int kThreads = 8, kShapes = 300, kRounds = 40;
  {
    Capture capture(folder_);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&capture, t] {
        for (int i = 0; i < kShapes * kRounds; ++i) capture.note(numbered_shape((i * 7 + t) % kShapes));
        capture.flush();
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(capture.num_shapes(), size_t{kShapes});
  }
  const auto all = calls();
  EXPECT_EQ(all.size(), size_t{kShapes});
  for (const auto& [key, number] : all) EXPECT_EQ(number, uint64_t{kThreads} * kRounds) << key;
  EXPECT_EQ(read_shapes(file()).shapes.size(), size_t{kShapes});
}

TEST(ShapeCounters, GrowsAndCountsOnWhileThreadsAddShapes) {
  constexpr int kThreads = 4;
  constexpr int64_t kShapes = 30000;
  ShapeCounters counters(2 * kShapes);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int64_t i = 0; i < kShapes; ++i) counters.count(checked_key(numbered_shape(i)));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.num_shapes(), uint64_t{kShapes});
  std::set<std::pair<int64_t, int64_t>> seen;
  counters.visit([&](const ShapeCounters::CountedShape& counted) {
    EXPECT_EQ(counted.calls, uint64_t{kThreads});
    seen.emplace(counted.key[0], counted.key[1]);
  });
  EXPECT_EQ(seen.size(), size_t{kShapes});
  counters.reset();
  EXPECT_TRUE(counters.count(checked_key(numbered_shape(0))));
  EXPECT_EQ(counters.num_shapes(), 1u);
}

TEST(ShapeCounters, OneShapeTooManyIsNotCounted) {
  ShapeCounters counters(2);
  EXPECT_TRUE(counters.count(checked_key(numbered_shape(0))));
  EXPECT_TRUE(counters.count(checked_key(numbered_shape(1))));
  EXPECT_FALSE(counters.count(checked_key(numbered_shape(2))));
  EXPECT_TRUE(counters.count(checked_key(numbered_shape(0))));
  EXPECT_EQ(counters.num_shapes(), 2u);
}

/// Starts a child that runs `deed` and exits without destructors; returns its process id.
template <typename Deed>
pid_t in_child(Deed deed) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::_exit(deed());
}

void expect_well(pid_t child) {
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(CaptureTest, ProcessesShareAFolderAndTheCountsAreExact) {
  constexpr int kProcesses = 8, kCalls = 100000, kShapes = 200;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p)
    children.push_back(in_child([&] {
      Capture capture(folder_);
      for (int i = 0; i < kCalls; ++i) {
        capture.note(numbered_shape((i + p) % kShapes));
        if (i == kCalls / 2 && !capture.flush().empty()) return 1;
      }
      return capture.flush().empty() ? 0 : 1;
    }));
  for (const pid_t child : children) expect_well(child);
  const std::string content = text();
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), kShapes + 1);
  EXPECT_TRUE(content.ends_with(kRest));
  EXPECT_TRUE(read_shapes(file()).notices.empty());
  EXPECT_EQ(counts().size(), size_t{kProcesses});
  for (const fs::path& one : counts()) {
    const auto own = read_captures(std::vector{one});
    ASSERT_EQ(own.size(), 1u);
    EXPECT_EQ(own[0].shapes.size(), size_t{kShapes});
    for (const CalledShape& called : own[0].shapes) EXPECT_EQ(called.calls, uint64_t{kCalls / kShapes});
  }
  for (const auto& [key, number] : calls()) EXPECT_EQ(number, uint64_t{kProcesses} * kCalls / kShapes) << key;
}

TEST_F(CaptureTest, AForkedChildCountsOnlyItsOwnCalls) {
  Capture capture(folder_);
  for (int i = 0; i < 10; ++i) capture.note(numbered_shape(1));
  capture.note(Problem::parse(key_of(numbered_shape(3))));
  const pid_t child = in_child([&] {
    capture.note(numbered_shape(1));
    capture.note(numbered_shape(2));
    return capture.num_shapes() == 2 && capture.flush().empty() ? 0 : 1;
  });
  expect_well(child);
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 1}, {key_of(numbered_shape(2)), 1}}));
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(calls(),
            (std::map<std::string, uint64_t>{
                {key_of(numbered_shape(1)), 11}, {key_of(numbered_shape(2)), 1}, {key_of(numbered_shape(3)), 1}}));
  EXPECT_EQ(counts().size(), 2u);
}

TEST_F(CaptureTest, AChildForkedWhileAnotherThreadWritesIsNotStuck) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator may be locked for ever in a child that is forked while a thread allocates";
#endif
  Capture capture(folder_);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int64_t i = 0; !stop; ++i) {
      capture.note(numbered_shape(i % 300));
      capture.flush();
    }
  });
  for (int i = 0; i < 4; ++i)
    expect_well(in_child([&] {
      capture.note(numbered_shape(301));
      return capture.flush().empty() ? 0 : 1;
    }));
  stop = true;
  writer.join();
}

TEST_F(CaptureTest, AKilledProcessLeavesNoPartOfALine) {
  for (int64_t round = 0; round < 6; ++round) {
    const pid_t child = in_child([&] {
      Capture capture(folder_);
      for (int64_t i = 0;; ++i) {
        for (int64_t j = 0; j < 200; ++j) capture.note(numbered_shape(100000 * round + 200 * i + j));
        capture.flush();
      }
      return 0;
    });
    ::usleep(static_cast<useconds_t>(3000 + 500 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(file())) continue;
    EXPECT_TRUE(text().ends_with(kRest));
    EXPECT_NO_THROW(read_captures(std::vector{folder_}));
  }
  Capture capture(folder_);  // The locks of the killed processes are free.
  capture.note(numbered_shape(1));
  EXPECT_EQ(capture.flush(), "");
}

TEST_F(CaptureTest, WhatCannotBeWrittenIsWrittenLater) {
  std::ofstream(folder_) << "a file where the folder should be";
  Capture capture(folder_);
  capture.note(numbered_shape(1));
  const std::string error = capture.flush();
  EXPECT_NE(error.find("cannot create the folder"), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
  capture.note(numbered_shape(1));
  fs::remove(folder_);
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 2}}));
}

TEST_F(CaptureTest, AFileThatIsNoListStaysAndTheCountsAreWritten) {
  for (const std::string other : {"gfx,cu_num,M,N,K,us,kernelName\nx,1,1,2,3,4.0,k\n", "name,colour\na,red\n"}) {
    put(other);
    Capture capture(folder_);
    capture.note(numbered_shape(1));
    EXPECT_NE(capture.flush().find(kBf16), std::string::npos);
    EXPECT_EQ(text(), other);
    ASSERT_EQ(counts().size(), 1u);
    EXPECT_EQ(read_captures(counts()).at(0).shapes.size(), 1u);
    fs::remove_all(folder_);
    EXPECT_EQ(capture.flush(), "");
  }
}

TEST_F(CaptureTest, ATornLastLineIsTakenOutOrClosed) {
  const auto row = [](const std::string& shape_text) { return shape_text + kRest; };
  const auto after = [&](const std::string& content) {
    put(content);
    Capture capture(folder_);
    capture.note(GemmKey{.m = 7, .n = 8, .k = 9});
    EXPECT_EQ(capture.flush(), "");
    return text();
  };
  const std::string whole = kCaptureHeader + row("1,2,3"), added = row("7,8,9");
  EXPECT_EQ(after(whole + "4,5"), whole + added);
  EXPECT_EQ(after(whole + "4,5,6,False,torch.bfl"), whole + added);
  EXPECT_EQ(after(whole + "4,5,6,False,torch.bfloat16,torch.bfloat16,False,Fal"), whole + added);
  EXPECT_EQ(after(whole + row("4,5,6").substr(0, row("4,5,6").size() - 1)), whole + row("4,5,6") + added);
  EXPECT_EQ(after("M,N,K,bi"), kCaptureHeader + added);
  EXPECT_EQ(after(""), kCaptureHeader + added);
  EXPECT_EQ(after(whole + "\"4,5"), whole + added);
  EXPECT_EQ(after(whole + "7,8,9"), whole + added);
}

TEST_F(CaptureTest, AFileKeepsItsOrderAndLinesAndGetsTheColumnsItLacks) {
  put("note,K,M,N,dtype\r\nmine,3,1,2,bf16\r\n\r\n");
  Capture capture(folder_);
  capture.note(GemmKey{.m = 1, .n = 2, .k = 3});  // Already in the list.
  capture.note(GemmKey{.m = 4, .n = 5, .k = 6, .in = DType::fp32, .out = DType::fp32});
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(text(), "note,K,M,N,dtype\r\nmine,3,1,2,bf16\r\n\r\n,6,4,5,torch.float32\r\n");
  capture.note(GemmKey{.m = 4, .n = 5, .k = 6, .flags = GemmKey::trans_a});
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(text(),
            "note,K,M,N,dtype,trans_a\r\nmine,3,1,2,bf16\r\n\r\n,6,4,5,torch.float32\r\n"
            ",6,4,5,torch.bfloat16,True\r\n");
  EXPECT_EQ(read_shapes(file()).shapes.size(), 3u);
}

TEST_F(CaptureTest, LinesThatCannotBeReadAreLeftAlone) {
  const std::string odd = std::string(kCaptureHeader) + "many,2,3\n";
  put(odd);
  Capture capture(folder_);
  capture.note(GemmKey{.m = 7, .n = 8, .k = 9});
  EXPECT_EQ(capture.flush(), "");
  EXPECT_EQ(text(), odd + "7,8,9" + kRest);
}

TEST_F(CaptureTest, TwoCapturesOfAProcessKeepTheirCountsApart) {
  Capture one(folder_), other(folder_);
  one.note(numbered_shape(1));
  other.note(numbered_shape(1));
  EXPECT_EQ(one.flush() + other.flush(), "");
  EXPECT_EQ(counts().size(), 2u);
  EXPECT_EQ(calls(), (std::map<std::string, uint64_t>{{key_of(numbered_shape(1)), 2}}));
}

TEST_F(CaptureTest, ClearingRemovesWhatWasCapturedAndNothingElse) {
  {
    Capture capture(folder_);
    capture.note(numbered_shape(1));
  }
  std::ofstream(folder_ / "mine.csv") << "x";
  std::ofstream(folder_ / "counts" / "mine.csv") << "x";
  EXPECT_EQ(clear_captures(folder_), 2u);
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(counts().empty());
  EXPECT_TRUE(fs::exists(folder_ / "mine.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "counts" / "mine.csv"));
  EXPECT_EQ(clear_captures(folder_), 0u);
}

}  // namespace
}  // namespace attune
