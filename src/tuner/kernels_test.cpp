// SPDX-License-Identifier: MIT
#include "tuner/kernels.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>

#include <fstream>

#include "base/error.h"
#include "process/temporary_folder.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::IsEmpty;

/// Needs one compiled file per config: `source=good` or `source=bad`; `source=odd` is not in its space.
class CompiledSolver final : public Solver {
 public:
  std::string_view id() const override { return "compiled.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config& config, const DeviceInfo&) const override {
    const std::string& source = config.text("source");
    EXPECT_NE(source, "odd") << "a value outside the space";
    return {{"hostcc", source == "good" ? "int f(void) { return 1; }" : "int f(void) {", "x86-64-v2", {}, {"f"}}};
  }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

class KernelsOf : public testing::Test {
 protected:
  KernelsOf() {
    registry_.add(std::make_unique<CompiledSolver>());
    const std::vector<Value> sources = {std::string("good"), std::string("bad")}, numbers = {int64_t{1}, int64_t{2}};
    Contender& own = contenders_.emplace_back();
    own.solver = "compiled.gemm";
    own.version = "1";
    own.space = SearchSpace::product({{"source", sources}, {"x", numbers}}, {});
  }
  std::vector<Kernels::BuildResult> build(const std::vector<std::string>& names) {
    std::vector<Candidate> candidates;
    for (const std::string& name : names) candidates.push_back(Candidate::parse(name));
    return kernels_.build(problem_, contenders_, candidates, stop_);
  }

  Registry registry_;
  std::vector<Contender> contenders_;
  Kernels::Stop stop_;
  const std::string toolchain_ = toolchain_if_any("hostcc");
  TemporaryFolder folder_{"kernels-test"};
  Problem problem_ = Problem::parse("gemm_a16w16 m=1 n=1 k=1 dtype=fp32");
  Kernels kernels_{registry_, {}, folder_.path() / "cache"};
};

TEST_F(KernelsOf, OneThatCompilesIsAFileOthersShareIt) {
  const auto built = build({"compiled.gemm@1:source=good;x=1", "compiled.gemm@1:source=good;x=2"});
  ASSERT_TRUE(built[0].outcome.ok()) << built[0].outcome.detail;
  ASSERT_EQ(built[0].binaries.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(built[0].binaries[0].file));
  EXPECT_EQ(built[1].binaries, built[0].binaries);
  EXPECT_EQ(built[0].binaries[0].metadata.at("candidate"), "compiled.gemm@1:source=good;x=1") << "the first one";
  EXPECT_GT(built[0].seconds, 0);
  EXPECT_EQ(built[1].seconds, built[0].seconds);
}

TEST_F(KernelsOf, OneThatDoesNotCompileSaysSoAndStopsNoOther) {
  const auto built = build({"compiled.gemm@1:source=bad;x=1", "compiled.gemm@1:source=good;x=1"});
  EXPECT_EQ(built[0].outcome.status, Status::compile_failed);
  EXPECT_THAT(built[0].binaries, IsEmpty());
  EXPECT_TRUE(built[1].outcome.ok());
  EXPECT_EQ(build({"compiled.gemm@1:source=bad;x=1"})[0].outcome.status, Status::compile_failed) << "asked again";
}

TEST_F(KernelsOf, NothingIsGeneratedFromValuesOutsideTheSpace) {
  for (const auto& built : build({"compiled.gemm@1:source=odd;x=1", "compiled.gemm@2:source=good;x=1"})) {
    EXPECT_TRUE(built.outcome.ok()) << "the executor refuses it with the reason";
    EXPECT_THAT(built.binaries, IsEmpty());
  }
}

TEST_F(KernelsOf, AKernelThatWasClearedIsMadeAgain) {
  const auto file = build({"compiled.gemm@1:source=good;x=1"})[0].binaries.at(0).file;
  std::filesystem::remove_all(folder_.path() / "cache");
  const auto again = build({"compiled.gemm@1:source=good;x=1"})[0];
  ASSERT_TRUE(again.outcome.ok()) << again.outcome.detail;
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(KernelsOf, ACompilationThatIsStoppedIsCancelledAndCanBeHadLater) {
  stop_ = [](size_t) { return true; };
  EXPECT_EQ(build({"compiled.gemm@1:source=good;x=1"})[0].outcome.status, Status::cancelled);
  stop_ = {};
  EXPECT_TRUE(build({"compiled.gemm@1:source=good;x=1"})[0].outcome.ok());
}

TEST_F(KernelsOf, OneThatWasLostWhileOthersWereMeasuredIsMadeAgain) {
  const auto keep = folder_.path() / "keep";
  Kernels kept{registry_, {}, folder_.path() / "cache", {.keep = keep}};
  const std::vector<Kernels::Request> requests = {
      {&problem_, &contenders_.front(), Candidate::parse("compiled.gemm@1:source=good;x=1")}};
  EXPECT_EQ(kept.build(requests, [](size_t) { return true; })[0].outcome.status, Status::cancelled);
  std::ofstream(keep) << "no folder";
  const auto serve = [&] {
    for (;;) {
      pollfd entry{kept.descriptor(), POLLIN, 0};
      if (::poll(&entry, 1, 10'000) != 1) return;
      kept.serve();
    }
  };
  EXPECT_THROW(serve(), Error);
  std::filesystem::remove(keep);
  size_t num_asked = 0;
  EXPECT_TRUE(kept.build(requests, [&](size_t) { return ++num_asked > 100; })[0].outcome.ok());
}

TEST_F(KernelsOf, ThoseInTheCacheAreThereAlthoughTheCallerWantsToStop) {
  build({"compiled.gemm@1:source=good;x=1"});
  Kernels later{registry_, {}, folder_.path() / "cache"};
  const std::vector<Candidate> candidates = {Candidate::parse("compiled.gemm@1:source=good;x=1")};
  size_t num_asked = 0;
  const auto stop = [&](size_t) { return ++num_asked > 0; };
  EXPECT_TRUE(later.build(problem_, contenders_, candidates, stop)[0].outcome.ok());
  EXPECT_EQ(num_asked, 0u) << "nothing is compiled";
}

TEST_F(KernelsOf, OnlyThoseInTheCacheAreFoundAndNothingIsCompiled) {
  build({"compiled.gemm@1:source=good;x=1"});
  Kernels later{registry_, {}, folder_.path() / "cache"};
  const std::vector<Candidate> candidates = {Candidate::parse("compiled.gemm@1:source=good;x=1"),
                                             Candidate::parse("compiled.gemm@1:source=bad;x=1")};
  for (int time = 0; time < 2; ++time) {
    const auto found = later.find(Kernels::requests_of(problem_, contenders_, candidates));
    EXPECT_TRUE(found[0].outcome.ok());
    EXPECT_EQ(found[0].binaries.size(), 1u);
    EXPECT_EQ(found[1].outcome.status, Status::cancelled);
  }
}

TEST_F(KernelsOf, TheCallerHearsHowManyCandidatesWaitForThem) {
  std::vector<size_t> waiting;
  stop_ = [&](size_t num_waiting) {
    waiting.push_back(num_waiting);
    return false;
  };
  const std::vector<std::string> names = {"compiled.gemm@1:source=good;x=1", "compiled.gemm@1:source=good;x=2",
                                          "compiled.gemm@2:source=good;x=1"};
  build(names);
  ASSERT_FALSE(waiting.empty());
  EXPECT_EQ(waiting.front(), 2u) << "they share a kernel, and the third is refused";
  waiting.clear();
  build(names);
  EXPECT_THAT(waiting, IsEmpty());
}

/// Whether this process has a child, whether that has ended or not.
bool has_child() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST_F(KernelsOf, LaterCandidatesAreCompiledBesideOtherThingsAndAreThereWhenTheyAreBuilt) {
  const std::vector<Kernels::Request> requests = {
      {&problem_, &contenders_.front(), Candidate::parse("compiled.gemm@1:source=good;x=1")}};
  EXPECT_TRUE(kernels_.build(requests)[0].outcome.ok());
  EXPECT_FALSE(has_child()) << "no compiler runs when a call returns";
  std::filesystem::remove_all(folder_.path() / "cache");
  Kernels other{registry_, {}, folder_.path() / "cache"};
  other.prefetch(requests);
  EXPECT_TRUE(has_child());
  while (has_child()) {
    pollfd entry{other.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
    other.serve();
  }
  const auto built = other.find(requests)[0];
  EXPECT_TRUE(built.outcome.ok()) << "nothing has to be compiled any more";
  EXPECT_GT(other.build(requests)[0].seconds, 0) << "it was compiled in this run";
}

TEST_F(KernelsOf, ARunAreNotEvictedByAnother) {
  const auto file = build({"compiled.gemm@1:source=good;x=1"})[0].binaries.at(0).file;
  std::filesystem::last_write_time(file.parent_path() / "entry.json",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  std::ofstream(folder_.path() / "other") << "other";
  KernelCache({folder_.path() / "cache"}, 1)
      .add({.arch = "x86-64",
            .recipe = "r",
            .toolchain = "t",
            .sha256 = "",
            .file = folder_.path() / "other",
            .metadata = {}});
  EXPECT_TRUE(std::filesystem::exists(file));
}

/// Has the kernels of one cache for another.
class OtherMachine final : public KernelExchange {
 public:
  explicit OtherMachine(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::vector<Binary> fetch(std::span<const CompileTask> tasks) override {
    std::vector<Binary> found;
    for (const CompileTask& task : tasks) {
      ++num_asked;
      for (const Binary& one : offered) {
        if (one.recipe != task.recipe()) continue;
        found.push_back(one);
        found.back().file = folder_ / "fetched";
        std::filesystem::copy_file(one.file, found.back().file, std::filesystem::copy_options::overwrite_existing);
        break;
      }
    }
    return found;
  }
  void offer(std::span<const Binary> binaries) override {
    offered.insert(offered.end(), binaries.begin(), binaries.end());
  }
  std::vector<Binary> offered;
  size_t num_asked = 0;

 private:
  std::filesystem::path folder_;
};

TEST_F(KernelsOf, OneThatAnotherMachineHasIsFetchedAndNotCompiled) {
  OtherMachine others(folder_.path());
  const std::vector<std::string> names = {"compiled.gemm@1:source=good;x=1", "compiled.gemm@1:source=bad;x=1"};
  kernels_.share(others);
  build(names);
  build(names);
  ASSERT_EQ(others.offered.size(), 2u) << "each time, and none that did not compile";
  EXPECT_EQ(others.offered[0].recipe, others.offered[1].recipe);
  EXPECT_EQ(others.num_asked, 2u) << "each recipe once";
  Kernels here(registry_, {}, folder_.path() / "here");
  here.share(others);
  const std::vector<Candidate> candidates = {Candidate::parse(names[0])};
  const auto built = here.build(problem_, contenders_, candidates);
  ASSERT_TRUE(built[0].outcome.ok()) << built[0].outcome.detail;
  EXPECT_EQ(built[0].seconds, 0);
  EXPECT_EQ(built[0].binaries[0].sha256, others.offered[0].sha256);
}

TEST_F(KernelsOf, OneThatIsNotBuiltYetIsAskedForAgain) {
  OtherMachine others(folder_.path());
  kernels_.share(others);
  const std::vector<Candidate> candidates = {Candidate::parse("compiled.gemm@1:source=good;x=1")};
  const TestEnvironment none("ATTUNE_CC", "/no/such/cc");
  Kernels here(registry_, {}, folder_.path() / "here", {.stored_toolchains = {{"hostcc", toolchain_}}});
  here.share(others);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(here.build(problem_, contenders_, candidates)[0].is_unbuilt);
  EXPECT_EQ(others.num_asked, 1u);
  const auto recipes = here.prefetch(Kernels::requests_of(problem_, contenders_, candidates));
  EXPECT_TRUE(here.are_ready(recipes[0])) << "waiting would not help";
  {
    const TestEnvironment compiler("ATTUNE_CC", "");
    build({candidates[0].name()});
  }
  ASSERT_EQ(others.offered.size(), 1u);
  here.fetch_again();
  const auto built = here.build(problem_, contenders_, candidates)[0];
  EXPECT_TRUE(built.outcome.ok()) << built.outcome.detail;
  EXPECT_FALSE(built.is_unbuilt);
}

TEST_F(KernelsOf, CandidatesOfOtherSolversNeedNothing) {
  const auto built = build({"absent.gemm@1:x=1"});
  EXPECT_TRUE(built[0].outcome.ok());
  EXPECT_THAT(built[0].binaries, IsEmpty());
  EXPECT_EQ(built[0].seconds, 0);
}

}  // namespace
}  // namespace attune
