// SPDX-License-Identifier: MIT
// One suite for every registered solver. An unavailable solver is skipped with its reason; those named in
// ATTUNE_EXPECT_SOLVERS (blank-separated ids) must be available, so that CI cannot lose one silently.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/locations.h"
#include "base/text.h"
#include "compile/compile_pool.h"
#include "device/devices.h"
#include "device/own_buffer.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "ops/packed_weights.h"
#include "search/prune.h"
#include "solver/one_thread_config.h"
#include "solver/registry.h"
#include "solver_fixture.h"
#include "solver_ids.h"
#include "testing/built_helper.h"

namespace attune {
namespace {

constexpr size_t kMaxCandidates = 30, kMaxBroken = 200;  // Per problem.
/// Times are only checked for plausibility, so operands need not change between launches.
const Protocol kProtocol{.cache = CachePolicy::warm};

/// Returns at most `max` elements, evenly spread, including the first and the last: a generated space has thousands.
template <typename One>
std::vector<One> spread(std::vector<One> all, size_t max) {
  if (all.size() <= max) return all;
  std::vector<One> some;
  for (size_t i = 0; i < max; ++i) some.push_back(std::move(all[i * (all.size() - 1) / (max - 1)]));
  return some;
}

/// Sanitizers slow down the bandwidth measurement, and so lower the expected limit of the device; the kernels are not
/// instrumented, so implausible times are ignored.
Status judged(Status status) {
#ifdef ATTUNE_SANITIZED
  if (status == Status::implausible_time) return Status::ok;
#endif
  return status;
}

class SolverConformance : public SolverFixture {
 protected:
  void SetUp() override {
    SolverFixture::SetUp();
    if (solver_ != nullptr) executor_ = std::make_unique<LocalExecutor>(*device_, registry());
  }
  std::vector<Problem> supported() const {
    std::vector<Problem> problems;
    for (const Problem& problem : sample_problems(device_->info())) {
      if (solver_->supports(problem, device_->info()).yes) problems.push_back(problem);
    }
    return problems;
  }
  Contender contender(const Problem& problem) {
    for (auto& one : open(*executor_, {1, problem, kProtocol}).contenders) {
      if (one.solver == GetParam()) return one;
    }
    ADD_FAILURE() << "no contender";
    return {};
  }
  /// Compiles the tasks of all configs at once; returns each config's binaries, empty for a solver that compiles
  /// nothing.
  std::vector<std::vector<Binary>> binaries(const Problem& problem, const std::vector<Config>& configs) {
    std::vector<CompileTask> tasks;
    std::vector<size_t> counts;
    for (const Config& config : configs) {
      const auto own = solver_->compile_tasks(problem, config, device_->info());
      tasks.insert(tasks.end(), own.begin(), own.end());
      counts.push_back(own.size());
    }
    std::vector<std::vector<Binary>> all(configs.size());
    if (tasks.empty()) return all;
    auto next = pool_.compile(tasks);
    size_t at = 0;
    for (size_t i = 0; i < configs.size(); ++i) {
      for (size_t j = 0; j < counts[i]; ++j, ++at) {
        EXPECT_TRUE(next[at].outcome.ok()) << configs[i].key() << ": " << next[at].outcome.detail;
        if (next[at].binary) all[i].push_back(*next[at].binary);
      }
    }
    return all;
  }
  KernelCache cache_{{cache_location().path}, uint64_t{1} << 30};
  CompilePool pool_{cache_, with_built_helpers()};  // Its helpers serve a test's problems one after another.
  std::unique_ptr<Executor> executor_;
};

TEST_P(SolverConformance, TakesAProblemOrSaysWhyNot) {
  const auto problems = supported();
  ASSERT_FALSE(problems.empty());
  DeviceInfo elsewhere;
  elsewhere.kind = "moon";
  const Support support = solver_->supports(problems.front(), elsewhere);
  EXPECT_FALSE(support.yes);
  EXPECT_FALSE(support.reason.empty());
}

TEST_P(SolverConformance, HasAnIdAVersionAndADefaultThatIsInItsSpace) {
  for (const Problem& problem : supported()) {
    const Contender one = contender(problem);
    EXPECT_TRUE(lacks_default(one) || one.space.index_of(one.default_config).has_value())
        << problem.key() << " " << one.default_config.key();
    const Candidate candidate{one.solver, one.version, one.default_config};
    EXPECT_EQ(Candidate::parse(candidate.name()), candidate);
    EXPECT_EQ(SearchSpace::from_json(one.space.to_json()), one.space);
    EXPECT_TRUE(one.versions.contains(one.solver)) << "a backend names its own version";
    if (const auto small = one_thread_config(*solver_, problem, one.default_config);
        small && !has_packed_weights(problem)) {
      EXPECT_TRUE(one.space.index_of(*small).has_value()) << problem.key() << " " << small->key();
    }
    executor_->close(1);
  }
}

TEST_P(SolverConformance, ComputesEveryCandidateOfEveryProblemRight) {
  for (const Problem& problem : supported()) {
    const Contender one = contender(problem);
    Slot slot = 1;
    std::vector<Config> configs;
    for (const uint64_t index : spread(prune(one.space, problem, device_->info(), 0).allowed, kMaxCandidates))
      configs.push_back(one.space.at(index));
    const auto compiled = binaries(problem, configs);
    for (size_t i = 0; i < configs.size(); ++i) {
      const Candidate candidate{one.solver, one.version, configs[i]};
      const auto admitted =
          admit(*executor_, {1, slot, {.candidate = candidate, .binaries = compiled[i], .twice = true}});
      EXPECT_EQ(judged(admitted.verified.status), Status::ok)
          << problem.key() << " " << candidate.name() << ": " << admitted.verified.detail;
      executor_->drop(slot++);
    }
    executor_->close(1);
  }
}

/// Returns configs one step from a valid one but outside the space, each with its error.
std::vector<std::pair<std::string, Config>> broken_configs(const Contender& one, const Problem& problem,
                                                           const DeviceInfo& device) {
  std::vector<std::pair<std::string, Config>> broken;
  const auto valid = one.default_config.values();
  auto more = valid;
  more.emplace_back("unheard_of", int64_t{1});
  broken.emplace_back("an unknown parameter", Config(more));
  for (size_t i = 0; i < valid.size(); ++i) {
    auto without = valid, foreign = valid;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    broken.emplace_back("without " + valid[i].first, Config(without));
    if (std::holds_alternative<int64_t>(valid[i].second))
      foreign[i].second = int64_t{100'003};
    else
      foreign[i].second = std::string("nothing");
    broken.emplace_back("a value that is not offered", Config(foreign));
  }
  const auto allowed = prune(one.space, problem, device, 0).allowed;
  for (uint64_t index = 0; index < one.space.size(); ++index) {
    if (one.space.canonical(index) == index && !std::binary_search(allowed.begin(), allowed.end(), index))
      broken.emplace_back("a rule is broken", one.space.at(index));
  }
  return broken;
}

/// The versions identify a build: of the vendor's library, or of the solver's own sources.
TEST_P(SolverConformance, SaysWhichBuildItsResultsComeFrom) {
  const auto problems = supported();
  ASSERT_FALSE(problems.empty());
  const auto entry_points = solver_->open(*device_)->entry_points();
  const Versions versions = contender(problems.front()).versions;
  for (const EntryPoint& one : entry_points) EXPECT_TRUE(versions.contains("build." + one.library)) << one.library;
  // Of these the build of the library is not all that a result comes from: copies that pad odd sizes, a handle's state.
  const std::set<std::string> with_own_sources = {"cublas.gemm", "cublaslt.gemm"};
  const bool has_own_sources =
      (entry_points.empty() && !GetParam().starts_with("fake.")) || with_own_sources.contains(GetParam());
  EXPECT_EQ(versions.contains("kernel." + GetParam()), has_own_sources);
}

TEST_P(SolverConformance, RefusesAConfigThatIsNotInItsSpaceAndGoesOn) {
  for (const Problem& problem : supported()) {
    const Contender one = contender(problem);
    Slot slot = 1;
    const auto admitted = [&](const Config& config, const std::vector<Binary>& compiled = {}) {
      const Candidate candidate{one.solver, one.version, config};
      return admit(*executor_, {1, slot++, {.candidate = candidate, .binaries = compiled}}).verified;
    };
    for (const auto& [what, config] : spread(broken_configs(one, problem, device_->info()), kMaxBroken))
      EXPECT_NE(admitted(config).status, Status::ok) << problem.key() << " " << config.key() << ": " << what;
    const auto default_config = admitted(one.default_config, binaries(problem, {one.default_config}).front());
    EXPECT_EQ(judged(default_config.status), Status::ok)
        << problem.key() << " " << one.default_config.key() << ": " << default_config.detail;
    executor_->close(1);
  }
}

/// Returns the file that contains a solver's entry points.
std::string library_of_solver(const std::string& id) {
  static const std::map<std::string, std::string> others = {{"onednn", "libdnnl.so."},
                                                            {"onednn3", "libdnnl.so.3"},
                                                            {"mkl", "libmkl_intel_lp64.so"},
                                                            {"torch", "attune_torch.so"},
                                                            {"cublas", "libcublas.so"},
                                                            {"cublaslt", "libcublasLt.so"},
                                                            // A static library: it is linked into its module.
                                                            {"libxsmm", "attune_solver_libxsmm.so"}};
  const std::string folder = id.substr(0, id.find('.'));
  const auto found = others.find(folder);
  return found == others.end() ? "lib" + folder : found->second;
}

TEST_P(SolverConformance, CallsItsOwnLibrary) {
  const auto backend = solver_->open(*device_);
  const auto& entries = registry().entries();
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [](const SolverEntry& one) { return one.id == GetParam(); });
  const Problem problem = supported().front();
  const bool compiles = !solver_->compile_tasks(problem, backend->default_config(problem), device_->info()).empty();
  if (!entry->module.empty() && !compiles) {
    EXPECT_FALSE(backend->entry_points().empty()) << "a module names what it calls in its library";
  }
  for (const EntryPoint& point : backend->entry_points()) {
    EXPECT_TRUE(point.library.starts_with(library_of_solver(GetParam())))
        << point.symbol << " lies in " << point.library;
  }
}

/// Returns the run time of each thread of this process in nanoseconds.
std::map<std::string, uint64_t> running_times() {
  std::map<std::string, uint64_t> times;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(task.path() / "schedstat");
    uint64_t ran_ns = 0;
    if (file >> ran_ns) times[task.path().filename()] = ran_ns;
  }
  return times;
}

/// Counts the threads that work while a plan runs: those that run for at least a fifth as long as the busiest.
int num_working(const Plan& plan, const Launch& launch, int launches) {
  plan.run(launch);                                            // Starts the thread pool.
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // Pools spin for a while after their work.
  const auto before = running_times();
  for (int i = 0; i < launches; ++i) plan.run(launch);
  std::vector<uint64_t> ran;
  for (const auto& [thread, ns] : running_times()) {
    const auto known = before.find(thread);
    ran.push_back(ns - (known == before.end() ? 0 : known->second));
  }
  const uint64_t max = *std::max_element(ran.begin(), ran.end());
  return static_cast<int>(std::count_if(ran.begin(), ran.end(), [&](uint64_t one) { return one >= max / 5; }));
}

/// A library that uses fewer threads than its config says is no fair baseline, and its times belong to another config.
TEST_P(SolverConformance, WorksOnAsManyThreadsAsItsConfigSays) {
  const int64_t units = device_->info().num_units;
  if (device_->info().kind != "host") GTEST_SKIP() << "virtual time has no threads";
  if (units < 2) GTEST_SKIP() << "one core has one thread";
  if (running_times().empty()) GTEST_SKIP() << "this kernel does not count how long threads run";
  int num_checked = 0;
  std::vector<std::string> texts = {"conv n=4 c=128 h=28 w=28 k=128 y=3 x=3 pad_h=1 pad_w=1"};
  for (const std::string& product : products()) texts.push_back(product + " m=512 n=512 k=512");
  for (const std::string& text : texts) {
    const auto problem = op_of(Problem::parse(text)).normalise(Problem::parse(text), device_->info());
    if (!solver_->supports(problem, device_->info()).yes) continue;
    const auto backend = solver_->open(*device_);
    const Config all = backend->default_config(problem);
    if (!all.has("threads")) GTEST_SKIP() << "its candidates name no threads";
    const auto specs = op_of(problem).tensors(problem);
    std::vector<std::vector<std::byte>> memory;
    std::vector<void*> operands;
    for (const TensorSpec& spec : specs) operands.push_back(memory.emplace_back(spec.bytes()).data());
    for (const int64_t threads : {units, int64_t{1}}) {
      auto values = all.values();
      for (auto& [name, value] : values) {
        if (name == "threads") value = threads;
      }
      const Config config(values);
      if (!backend->space(problem).index_of(config)) continue;
      const auto compiled = binaries(problem, {config}).front();
      const auto plan = backend->prepare(problem, config, {.binaries = compiled});
      const OwnBuffer workspace(device_->memory(), std::max<uint64_t>(plan->traits().workspace_bytes, 64), 64);
      const Launch launch{.operands = operands, .workspace = workspace.data()};
      int found = 0;
      for (int tries = 0; tries < 5 && found != threads; ++tries) found = num_working(*plan, launch, 16);
      EXPECT_EQ(found, threads) << GetParam() << " " << config.key() << " of " << problem.key();
      ++num_checked;
    }
  }
  EXPECT_GT(num_checked, 0);
}

INSTANTIATE_TEST_SUITE_P(All, SolverConformance, testing::ValuesIn(solver_ids()), test_name_of);

TEST(Solvers, ThatCIExpectsAreThere) {
  const char* expected = std::getenv("ATTUNE_EXPECT_SOLVERS");
  if (!expected) GTEST_SKIP() << "ATTUNE_EXPECT_SOLVERS is not set: any set of solvers will do";
  for (const auto id : split(expected, ' ')) EXPECT_NE(registry().find(id), nullptr) << id;
}

TEST(Solvers, KeepTheirLibrariesApart) {
  // OpenBLAS, BLIS and MKL all export cblas_sgemm, and two versions of oneDNN the same symbols. Opened in one process,
  // each module must still call its own.
  const auto device = open_device("cpu:0");
  std::map<std::string, std::string> module_of_library;
  std::set<std::string> modules;  // One may have several solvers.
  for (const SolverEntry& entry : registry().entries()) {
    if (!entry.solver || entry.module.empty()) continue;
    const auto points = entry.solver->open(*device)->entry_points();
    if (!points.empty()) modules.insert(entry.module);
    for (const EntryPoint& point : points) {
      const auto [known, fresh] = module_of_library.emplace(point.library, entry.module);
      EXPECT_EQ(known->second, entry.module) << point.symbol << " of " << entry.id << " lies in " << point.library;
    }
  }
  if (modules.size() < 2) GTEST_SKIP() << modules.size() << " modules are available, two are needed to mix them up";
  EXPECT_GE(module_of_library.size(), modules.size());
}

TEST(Solvers, GiveOpenBlasTheRightCore) {
  const Solver* solver = registry().find("openblas.gemm");
  if (!solver) GTEST_SKIP() << "openblas.gemm is not available";
  const auto device = open_device("cpu:0");
  const std::string core = to_lower(solver->open(*device)->versions().at("openblas.core"));
  if (!__builtin_cpu_supports("x86-64-v3")) GTEST_SKIP() << "this CPU has no AVX2, any core will do";
  EXPECT_NE(core, "prescott") << "a handicapped library is no baseline";
}

}  // namespace
}  // namespace attune
