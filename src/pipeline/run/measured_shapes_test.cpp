// SPDX-License-Identifier: MIT
#include "pipeline/run/measured_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

class MeasuredShapesInAFile : public testing::Test {
 protected:
  void append(std::string_view text) { std::ofstream(file_, std::ios::app) << text; }
  static ordered_json shape(const char* problem, int value) { return {{"problem", problem}, {"value", value}}; }

  TemporaryFolder folder_{"measured_shapes_test"};
  std::filesystem::path file_ = folder_.path() / "measured.jsonl";
};

TEST_F(MeasuredShapesInAFile, WhatWasAddedIsThereForTheNextCallAndTheLaterLineCounts) {
  {
    MeasuredShapes measured(file_);
    EXPECT_TRUE(measured.find("after", "f", "a").is_null());
    measured.add("after", "f", shape("a", 1));
    measured.add("before", "f", shape("a", 2));
    measured.add("after", "f", shape("a", 3));
    EXPECT_EQ(measured.find("after", "f", "a")["value"], 3);
  }
  const MeasuredShapes again(file_);
  EXPECT_EQ(again.find("after", "f", "a"), shape("a", 3));
  EXPECT_EQ(again.find("before", "f", "a"), shape("a", 2));
  EXPECT_TRUE(again.find("after", "g", "a").is_null());
  EXPECT_TRUE(again.find("after", "f", "b").is_null());
  EXPECT_EQ(again.why_unwritten(), "");
}

TEST_F(MeasuredShapesInAFile, ALineThatAKillCutIsDroppedAndTheNextOneIsWhole) {
  MeasuredShapes(file_).add("after", "f", shape("a", 1));
  append(R"({"step":"after","family":"f","sha)");
  MeasuredShapes(file_).add("after", "f", shape("b", 2));
  const MeasuredShapes again(file_);
  EXPECT_EQ(again.find("after", "f", "a")["value"], 1);
  EXPECT_EQ(again.find("after", "f", "b")["value"], 2);
  EXPECT_EQ(read_file(file_).find("sha)"), std::string::npos);
}

TEST_F(MeasuredShapesInAFile, OtherLinesAreRefused) {
  for (const char* line : {"x\n", "[]\n", "{}\n", "{\"step\":1,\"family\":\"f\",\"shape\":{\"problem\":\"a\"}}\n",
                           "{\"step\":\"after\",\"family\":\"f\",\"shape\":{}}\n"}) {
    std::filesystem::remove(file_);
    append(line);
    EXPECT_THROW(MeasuredShapes{file_}, Error) << line;
  }
}

/// Limits the size of files as a full disk does.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : signal_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_before_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_before_)(int);
};

TEST_F(MeasuredShapesInAFile, ALineThatCannotBeWrittenIsSaidAndWhatWasMeasuredCounts) {
  std::filesystem::create_symlink(folder_.path() / "x", folder_.path() / "link");
  EXPECT_THROW(MeasuredShapes(folder_.path() / "link"), Error) << "no link is followed";
  MeasuredShapes measured(file_);
  measured.add("after", "f", shape("a", 1));
  {
    const FileLimit limit(80);  // In the middle of the second line.
    measured.add("after", "f", shape("b", 2));
  }
  EXPECT_EQ(measured.find("after", "f", "b")["value"], 2);
  EXPECT_THAT(measured.why_unwritten(), testing::HasSubstr("cannot write what the run has measured"));
  measured.add("after", "f", shape("c", 3));
  const MeasuredShapes again(file_);
  EXPECT_TRUE(again.find("after", "f", "b").is_null());
  EXPECT_EQ(again.find("after", "f", "c")["value"], 3);
}

}  // namespace
}  // namespace attune
