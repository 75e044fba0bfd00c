// SPDX-License-Identifier: MIT
#include "report/evidence_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "solver/solver.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

using testing::StartsWith;

/// Its script lists the configs with their times.
class ScriptedSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "fake.gemm"; }
  std::string_view version() const override { return "1+2.6"; }
  std::string_view title() const override { return "for tests"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    return SearchSpace::product({{.name = "a", .values = {int64_t{1}, int64_t{2}}}}, {});
  }
  Config default_config(const Problem&, const DeviceInfo&) const override { return {}; }
  KeptScript script(const Problem&, std::span<const TimedConfig> configs) const override {
    KeptScript script{.name = "kernels.py", .text = {}};
    for (const TimedConfig& one : configs) script.text += fmt::format("{} {}\n", one.config.key(), one.us);
    return script;
  }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

class KeptScripts : public testing::Test, protected JournalValues {
 protected:
  KeptScripts() { solvers_.add(std::make_unique<ScriptedSolver>()); }

  void add(const std::string& config, double us, const Problem& problem = kProblem) {
    Record one = record(config, us);
    one.problem = problem;
    journal_->append(std::vector<Entry>{one});
  }
  void write(std::vector<Problem> problems = {kProblem}) {
    write_kept(folder_.path(), *journal_, {*find_family("gemm_a16w16"), std::move(problems), device_, protocol_},
               solvers_);
  }
  std::string text(const std::string& file) const { return read_file(folder_.path() / file); }

  Registry solvers_;
  DeviceInfo device_{.id = "g:1", .kind = "fake", .gfx = "g", .num_units = 2};
  Protocol protocol_ = protocol();
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TemporaryFolder folder_{"scripts"};
};

TEST_F(KeptScripts, ListTheConfigsOfAProblemTheFastestFirst) {
  add("a=1", 3);
  add("a=2", 2);
  add("a=1", 1);
  add("b=7", 1);  // Of a version that had such configs.
  write();
  EXPECT_EQ(text("kernels.py"), "# attune tune --keep: " + kProblem.key() + "\na=1 1\na=2 2\n");
  write_profile(folder_.path() / "profile.csv", *journal_,
                {*find_family("gemm_a16w16"), {kProblem}, device_, protocol_});
  EXPECT_EQ(text(kKeptCandidates), text("profile.csv"));
  EXPECT_THAT(text(kKeptCandidates), testing::HasSubstr("b=7"));
}

TEST_F(KeptScripts, OfOneNameAreNumberedAndReplaceThoseOfARunBefore) {
  add("a=1", 3);
  add("a=1", 4, kOther);
  for (int run = 0; run < 2; ++run) write({kProblem, kOther});
  EXPECT_THAT(text("kernels.py"), StartsWith("# attune tune --keep: " + kProblem.key()));
  EXPECT_THAT(text("kernels_2.py"), StartsWith("# attune tune --keep: " + kOther.key()));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "kernels_3.py"));
}

TEST_F(KeptScripts, LeaveFilesOfAnotherOrigin) {
  add("a=1", 3);
  write_file_atomically(folder_.path() / "kernels.py", "print('mine')\n");
  std::filesystem::create_symlink("/dev/zero", folder_.path() / "kernels_2.py");
  write();
  EXPECT_EQ(text("kernels.py"), "print('mine')\n");
  EXPECT_THAT(text("kernels_3.py"), StartsWith("# attune tune --keep: "));
}

}  // namespace
}  // namespace attune
