// SPDX-License-Identifier: MIT
#include "fleet/exports/session_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "fleet/agent/fleet_environment.h"
#include "fleet/agent/job_outcome.h"
#include "fleet/setup/import_configurations.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const Problem kConv = Problem::parse("conv direction=fwd n=2 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32");

class SessionExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = open_fleet_store("sqlite:" + (folder_.path() / "fleet.db").string());
    store_->add_configurations({{.id = configuration_id(kConv),
                                 .op = "conv",
                                 .key = kConv.key(),
                                 .source = "test",
                                 .added_at = {},
                                 .tags = {"t"}}});
    store_->set_solvers({{"fake.conv", "1", "conv", true, "fake"}});
    begin("why", "t");
  }
  void begin(const std::string& reason, const std::string& tag) {
    const DeviceInfo device{.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4, .model = "one"};
    session_ = store_->begin_session(fleet_environment(device, {}, {{"fake.conv", "1"}}), reason);
    store_->load_jobs({.session = session_,
                       .tag = tag,
                       .steps = {FleetStep::find_compile, FleetStep::find_eval},
                       .only_applicable = false,
                       .reason = "r",
                       .solvers = {}});
  }
  void decide(const Decision& decision) {
    for (const FleetStep step : {FleetStep::find_compile, FleetStep::find_eval}) {
      for (const ClaimedJob& job : store_->queue().claim({.session = session_, .steps = {step}, .agent = "test"}, 10)) {
        JobOutcome outcome;
        if (step == FleetStep::find_eval) {
          outcome.decision = decision;
          outcome.finalists = finalists_of(decision);
        }
        store_->queue().commit(job, outcome);
      }
    }
  }
  SessionExport write() {
    return export_session(*store_, {.session = session_,
                                    .tag = {},
                                    .find_db = true,
                                    .perf_db = true,
                                    .kernel_db = true,
                                    .table = true,
                                    .folder = output_});
  }
  std::string content(const SessionExport& made, const std::string& end) {
    for (const ExportedFile& one : made.files) {
      if (one.path.string().ends_with(end)) return read_file(one.path);
    }
    return "no file " + end;
  }

  TestFolder folder_;
  const std::filesystem::path output_ = folder_.path() / "files";
  std::unique_ptr<FleetStore> store_;
  int64_t session_ = 0;
};

TEST_F(SessionExportTest, WithoutADecisionNoFileIsWritten) {
  const SessionExport made = write();
  EXPECT_THAT(made.files, IsEmpty());
  EXPECT_THAT(made.notices, ElementsAre(HasSubstr("no configuration is decided, so no file is written")));
  EXPECT_THAT(made.lacking, SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(SessionExportTest, AfterATieAllFilesNameTheWinner) {
  Decision decision;
  decision.problem = kConv;
  decision.verdict = Verdict::tie;
  decision.winner = decision.baseline = Candidate::parse("fake.conv@1:x=0");
  decision.versions = {{"fake.conv", "1"}};
  decision.comparison = {.us = 10, .ratio = 1};
  decision.baseline_us = 10;
  const auto finalist = [](const char* candidate, double us) {
    return Finalist{.candidate = Candidate::parse(candidate),
                    .comparison = {.us = us, .ratio = 1},
                    .errors = {},
                    .binaries = {},
                    .confirmed = true,
                    .metadata = {}};
  };
  decision.finalists = {finalist("fake.conv@1:x=0", 10), finalist("fake.conv@1:x=7", 9.99),
                        finalist("fast.conv@1:y=1", 9.98), finalist("slow.conv@1:z=1", 11)};
  decide(decision);
  const SessionExport made = write();
  const std::string find_db = content(made, ".fdb.txt"), perf_db = content(made, "4.db.txt");
  EXPECT_THAT(find_db, HasSubstr("=fake.conv:0.0100000,"));
  EXPECT_THAT(find_db, HasSubstr(";slow.conv:0.0110000,"));
  EXPECT_THAT(find_db, Not(HasSubstr("fast.conv"))) << "a reader would take it";
  EXPECT_THAT(content(made, "conv_tuned.csv"), HasSubstr("fake.conv@1:x=0"));
  EXPECT_THAT(perf_db, AllOf(HasSubstr("fake.conv:x=0"), Not(HasSubstr("x=7"))));
  EXPECT_THAT(made.notices, IsEmpty());
}

TEST_F(SessionExportTest, OtherOpsGoIntoTheirOwnTables) {
  const Problem gemm = Problem::parse("gemm_a16w16 m=1 n=64 k=32 dtype=bf16 outdtype=bf16");
  store_->add_configurations({{.id = configuration_id(gemm),
                               .op = "gemm_a16w16",
                               .key = gemm.key(),
                               .source = "test",
                               .added_at = {},
                               .tags = {"g"}}});
  store_->set_solvers({{"fake.conv", "1", "conv", true, "fake"}, {"fake.gemm", "1", "gemm_a16w16", true, "fake"}});
  begin("gemm", "g");
  Decision decision;
  decision.problem = gemm;
  decision.winner = Candidate::parse("fake.gemm@1:x=7");
  decision.baseline = Candidate::parse("fake.gemm@1:x=0");
  decision.versions = {{"fake.gemm", "1"}};
  decision.verdict = Verdict::faster;
  decision.comparison = {.us = 10, .ratio = 2};
  decision.baseline_us = 20;
  decide(decision);
  const SessionExport made = write();
  ASSERT_THAT(made.files, SizeIs(1));
  EXPECT_THAT(content(made, "bf16_tuned_gemm.csv"), HasSubstr("fake.gemm@1:x=7"));
  EXPECT_THAT(made.notices, ElementsAre(HasSubstr("1 configuration is in tables alone")));
  EXPECT_THAT(made.lacking, IsEmpty());
  ASSERT_THAT(made.sessions, SizeIs(1));
  EXPECT_EQ(made.sessions[0].reason, "gemm");
  const SessionExport without =
      export_session(*store_, {.session = session_, .tag = {}, .find_db = true, .folder = output_});
  ASSERT_THAT(without.lacking, SizeIs(1));
  EXPECT_THAT(without.lacking[0].second, HasSubstr("-c writes its table"));
  EXPECT_THAT(without.notices, ElementsAre(HasSubstr("no convolution is decided")));
}

}  // namespace
}  // namespace attune
