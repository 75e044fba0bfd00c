// SPDX-License-Identifier: MIT
#include "report/output_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "attune/error.h"
#include "base/file.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::HasSubstr;

class OutputFiles : public testing::Test {
 protected:
  std::string refusal(const std::string& table, const std::string& profile, const std::string& journal) {
    const auto in = [&](const std::string& name) { return name.empty() ? name : (folder_.path() / name).string(); };
    const std::vector<OutputFile> outputs = {{"-o", in(table)}, {"--profile_file", in(profile)}};
    try {
      check_distinct_outputs(outputs, {"--journal", in(journal)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_{"output_files_test"};
};

TEST_F(OutputFiles, MayLieSideBySideOrNotBeWritten) {
  EXPECT_EQ(refusal("t.csv", "p.csv", "j.db"), "");
  EXPECT_EQ(refusal("", "", ""), "");
  EXPECT_EQ(refusal("t.csv", "", "j.db"), "");
}

TEST_F(OutputFiles, AreNotOneFileUnderTwoNames) {
  EXPECT_THAT(refusal("t.csv", "./t.csv", "j.db"), HasSubstr("name the same file, name two"));
  EXPECT_THAT(refusal("j.db", "p.csv", "j.db"), HasSubstr("--journal and -o name the same file"));
  write_file_atomically(folder_.path() / "t.csv", "x");
  std::filesystem::create_symlink("t.csv", folder_.path() / "link.csv");
  EXPECT_THAT(refusal("t.csv", "link.csv", "j.db"), HasSubstr("name the same file"));
}

TEST_F(OutputFiles, AreNotWhatIsKeptBesideAnother) {
  for (const char* name : {"j.db-wal", "j.db-shm", "j.db-journal"})
    EXPECT_THAT(refusal("t.csv", name, "j.db"), HasSubstr("kept beside the one of --journal")) << name;
  EXPECT_THAT(refusal("t.csv", "t.csv.lock", "j.db"), HasSubstr("kept beside the one of -o"));
  EXPECT_THAT(refusal("p.csv.lock", "p.csv", "j.db"), HasSubstr("kept beside the one of --profile_file"));
}

}  // namespace
}  // namespace attune
