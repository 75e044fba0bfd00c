// SPDX-License-Identifier: MIT
#include "pipeline/miopen/miopen_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kGoodKey = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F";

std::vector<std::string> validated(const std::vector<std::filesystem::path>& named, size_t num_others) {
  const MiopenValidation found = validate_miopen_files(named);
  EXPECT_THAT(found.others, SizeIs(num_others));
  std::vector<std::string> lines;
  for (const TableFinding& one : found.findings)
    lines.push_back(std::string(name(one.kind)) + " " + std::to_string(one.line));
  return lines;
}

TEST(MiopenValidation, DefectsAreFindingsAndNotesAreNone) {
  const TestFolder folder;
  const std::string key = kGoodKey;
  const auto file = folder.put("a.fdb.txt", key + "=fft:0,0,A\n" + key + "=Nonsense:1,0,A\n1-2=fft:1,0,A\n" +
                                                "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W=fft:1,0,A\n");
  EXPECT_THAT(validated({file}, 0),
              ElementsAre("unreadable 3", "unusable_time 1", "duplicate_key 2", "unknown_kernel 2"));
  EXPECT_THAT(validated({folder.put("t.csv", "M,N,K\n")}, 1), IsEmpty());
}

TEST(MiopenValidation, AFolderWithoutTablesIsNoneOfTables) {
  const TestFolder folder;
  folder.put("gfx90a68.HIP.fdb.txt", std::string(kGoodKey) + "=fft:1,0,A\n");
  folder.put("readme.txt", "Dear reader\n");
  EXPECT_THAT(validated({folder.path()}, 0), IsEmpty());
  folder.put("conv_tuned.csv", "n,c\n");
  EXPECT_THAT(validated({folder.path()}, 1), IsEmpty());
  folder.put("b.fdb.txt", "no equals sign\n");
  EXPECT_THAT(validated({folder.path()}, 1), ElementsAre("unreadable 1"));
  EXPECT_THROW(validate_miopen_files(std::vector<std::filesystem::path>{folder.path() / "b.fdb.txt"}), Error);
}

}  // namespace
}  // namespace attune
