// SPDX-License-Identifier: MIT
#include "campaign/captured_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CapturedLimitsTest : public testing::Test {
 protected:
  static Problem problem(int m) {
    return Problem::parse("gemm_a16w16 m=" + std::to_string(m) +
                          " n=2 k=3 bias=0 dtype=fp32 outdtype=fp32 scale_ab=0 bpreshuffle=0");
  }
  static std::string row(int m, const std::string& rest = "") {
    return std::to_string(m) + ",2,3,False,torch.float32,torch.float32" + rest + "\n";
  }
  CapturedLimits limits() const { return {list_, "", 4}; }

  static constexpr const char* kHeader = "M,N,K,bias,dtype,outdtype";
  TestFolder folder_;
  const std::filesystem::path list_ = folder_.path() / "bf16_untuned_gemm.csv";
};

TEST_F(CapturedLimitsTest, AreThoseOfTheCountsBesideTheList) {
  write_file_atomically(list_, std::string(kHeader) + "\n" + row(1) + row(2) + row(5));
  make_private_folder(folder_.path() / "counts");
  write_file_atomically(folder_.path() / "counts" / "bf16_untuned_gemm.csv.host.1.2",
                        std::string(kHeader) + ",threads,calls\n" + row(1, ",1,10") + row(1, ",2,10") + row(2, ",,10"));
  EXPECT_THAT(limits().all(), ElementsAre(1, 2, 4)) << "4 stands for an unknown limit";
  EXPECT_TRUE(limits().contains(problem(1), 1));
  EXPECT_TRUE(limits().contains(problem(1), 2));
  EXPECT_FALSE(limits().contains(problem(1), 4));
  EXPECT_TRUE(limits().contains(problem(2), 4));
  EXPECT_FALSE(limits().contains(problem(2), 1));
  EXPECT_TRUE(limits().contains(problem(5), 4)) << "added to the list by hand";
}

TEST_F(CapturedLimitsTest, OnesAboveTheOwnAreTheOwn) {
  write_file_atomically(list_, std::string(kHeader) + "\n" + row(1));
  write_file_atomically(list_.string() + ".counts", std::string(kHeader) + ",threads,calls\n" + row(1, ",64,10"));
  EXPECT_THAT(limits().all(), ElementsAre(4));
  EXPECT_TRUE(limits().contains(problem(1), 4));
}

TEST_F(CapturedLimitsTest, AreUnknownWithoutCountsThatTellThem) {
  write_file_atomically(list_, std::string(kHeader) + "\n" + row(1));
  EXPECT_THAT(limits().all(), IsEmpty());
  write_file_atomically(list_.string() + ".counts", std::string(kHeader) + ",calls\n" + row(1, ",10"));
  EXPECT_THAT(limits().all(), IsEmpty());
  write_file_atomically(list_.string() + ".counts", std::string(kHeader) + ",threads,calls\n" + row(1, ",many,10"));
  EXPECT_THAT(limits().all(), IsEmpty()) << "whoever reads the counts reports the cell";
}

}  // namespace
}  // namespace attune
