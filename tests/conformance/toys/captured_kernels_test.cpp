// SPDX-License-Identifier: MIT
// Graphs that are captured before the kernels of their rows are compiled.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "accelerator/accelerator_device.h"
#include "accelerator/accelerator_solver.h"
#include "attune/dispatcher.h"
#include "base/file.h"
#include "compile/compiler.h"
#include "device/core_binding.h"
#include "device_call.h"
#include "solver/registry.h"
#include "testing/becomes_true.h"
#include "testing/environment.h"
#include "testing/script_compiler.h"
#include "testing/test_files.h"

namespace attune::toys {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr double kRowUs = 10, kDefaultUs = 20;  // Of AcceleratorSolver's tile 2 and 1.
constexpr int64_t kK = 24;                      // Of all problems of ScriptedSolver.

/// Products with K = 24 by kernels that a script of the test makes.
class ScriptedSolver final : public Solver, public StaticSpace {
 public:
  /// What the kernels are compiled with and from; a source's first line sets N.
  static std::string& compiler() {
    static std::string& name = *new std::string;
    return name;
  }
  static std::string& script() {
    static std::string& text = *new std::string;
    return text;
  }
  std::string_view id() const override { return "toy_scripted.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "kernels that a script compiles"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    const Support plain = AcceleratorSolver().supports(problem, device);
    if (!plain.yes) return plain;
    return problem.integer("k") == kK ? Support() : Support::no("multiplies K=24 only");
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    return SearchSpace::product({{.name = "part", .values = {int64_t{1}, int64_t{2}}}}, {});
  }
  Config default_config(const Problem&, const DeviceInfo&) const override { return Config({{"part", int64_t{1}}}); }
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config&,
                                         const DeviceInfo& device) const override {
    return {{.compiler = compiler(),
             .source = fmt::format("N={}\n{}", problem.integer("n"), script()),
             .arch = device.gfx,
             .options = {},
             .entries = {"kernel"}}};
  }
  std::unique_ptr<Backend> open(Device& device) const override { return std::make_unique<Own>(*this, device); }

 private:
  class Own final : public StaticSpaceBackend {
   public:
    Own(const StaticSpace& stated, Device& device)
        : StaticSpaceBackend(stated, device.info()), loops_(AcceleratorSolver().open(device)) {}
    Versions versions() const override { return {{"toy_scripted.gemm", "1"}}; }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config&, const PrepareContext&) override {
      return loops_->prepare(problem, Config::parse("fault=0;tile=2"), {});
    }

   private:
    AcceleratorSolver solver_;
    std::unique_ptr<Backend> loops_;
  };
};

const bool kIsScripted = [] {
  register_solver(std::make_unique<ScriptedSolver>());
  register_compiler(*new ScriptCompiler);
  return true;
}();

/// Standard error while it lives, as a file.
class StandardError {
 public:
  explicit StandardError(std::string file) : file_(std::move(file)), before_(::dup(STDERR_FILENO)) {
    const int opened = ::open(file_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(opened, STDERR_FILENO);
    ::close(opened);
  }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;
  std::string text() const { return read_file(file_); }
  size_t count(const std::string& part) const {
    const std::string all = text();
    size_t number = 0;
    for (size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++number;
    return number;
  }

 private:
  const std::string file_;
  const int before_;
};

/// Captures products of 8 rows and N columns before their kernels are there.
class CapturedKernels : public testing::Test {
 protected:
  CapturedKernels() {
    options_.device = "toy:0";
    options_.poll_interval = milliseconds(0);
    ScriptedSolver::compiler() = "script";
    ScriptedSolver::script() = kCompiles;
  }

  /// Opens the dispatcher over rows for these N at the first call.
  Dispatcher& dispatcher() {
    if (dispatcher_) return *dispatcher_;
    std::string rows = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,us,kernelName\n";
    for (const int64_t n : columns_)
      rows += fmt::format("toy_1,8,8,{},{},False,fp32,fp32,False,5,toy_scripted.gemm@1:part=1\n", n, kK);
    options_.tables["gemm_a16w16"] = {folder_.put("bf16_tuned_gemm.csv", rows)};
    dispatcher_ = std::make_unique<Dispatcher>(options_);
    return *dispatcher_;
  }
  Key key(int64_t n) { return dispatcher().key(fmt::format("gemm_a16w16 m=8 n={} k={} dtype=fp32", n, kK)); }
  DeviceCall& operands(int64_t n) {
    auto& call = calls_[n];
    if (!call) call = std::make_unique<DeviceCall>(device_.memory(), 8, n, kK);
    return *call;
  }
  Hit call(int64_t n) { return dispatcher().run(key(n), operands(n).operands(), stream_->native()); }
  /// Captures one launch of each of these shapes.
  std::unique_ptr<Graph> capture(const std::vector<int64_t>& columns) {
    dispatcher();
    for (const int64_t n : columns) operands(n);  // An allocation would end the capture.
    stream_->begin_capture();
    for (size_t i = 0; i < columns.size(); ++i) {
      stream_->record(static_cast<uint32_t>(i));
      call(columns[i]);
    }
    stream_->record(static_cast<uint32_t>(columns.size()));
    return stream_->end_capture(nullptr);
  }
  /// How long each launch of a graph takes; also checks what it computes.
  std::vector<double> times_of(Graph& graph, const std::vector<int64_t>& columns) {
    for (const int64_t n : columns) operands(n).clear();
    graph.launch();
    stream_->synchronize();
    std::vector<double> times;
    for (size_t i = 0; i < columns.size(); ++i) {
      EXPECT_TRUE(operands(columns[i]).is_computed()) << columns[i];
      times.push_back(stream_->elapsed_us(static_cast<uint32_t>(i), static_cast<uint32_t>(i) + 1));
    }
    return times;
  }
  /// Captures the shapes and returns the times of the launches.
  std::vector<double> captured_times(const std::vector<int64_t>& columns) {
    const auto graph = capture(columns);
    if (graph == nullptr) ADD_FAILURE() << "the capture was spoiled";
    return graph == nullptr ? std::vector<double>() : times_of(*graph, columns);
  }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  /// The script goes on when the test has put a file `go`.
  std::string waits_for_go() const {
    return fmt::format("touch {}.$N\nwhile [ ! -e {} ]; do sleep 0.005; done\n", file("begun"), file("go")) + kCompiles;
  }
  bool has_begun(int64_t n) const { return std::filesystem::exists(file(fmt::format("begun.{}", n))); }
  void go() const { folder_.put("go", ""); }
  std::string build_command() const {
    return fmt::format("attune kernels build --table {} --devices toy:0", file("bf16_tuned_gemm.csv"));
  }

  static constexpr const char* kCompiles = "echo kernel > out\n";
  static constexpr const char* kKeepsDefault = "a captured graph keeps the default kernel of ";
  TestFolder folder_;
  const StandardError errors_{file("errors")};
  const TestEnvironment cache_{"ATTUNE_CACHE", (folder_.path() / "cache").string()};
  std::vector<int64_t> columns_ = {16};
  DispatcherOptions options_;
  Accelerator device_{"toy:0"};
  std::unique_ptr<Stream> stream_ = device_.open_stream();
  std::map<int64_t, std::unique_ptr<DeviceCall>> calls_;
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(CapturedKernels, ACapturedCallWaitsForTheKernelOfItsRow) {
  EXPECT_EQ(captured_times({16}), std::vector{kRowUs});
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 0u);
}

TEST_F(CapturedKernels, ACallBeforeTheCaptureChangesNothing) {
  ScriptedSolver::script() = "sleep 0.02\n" + std::string(kCompiles);
  EXPECT_TRUE(call(16).is_stand_in);
  EXPECT_EQ(captured_times({16, 16}), (std::vector{kRowUs, kRowUs}));
}

TEST_F(CapturedKernels, ShapesFirstCalledInACaptureHaveTheKernelsOfTheirRows) {
  columns_ = {16, 32};
  EXPECT_EQ(captured_times({16, 32}), (std::vector{kRowUs, kRowUs}));
}

TEST_F(CapturedKernels, WhenACapturedCallWaitsAllKernelsThatWereCalledForAreCompiledSideBySide) {
  if (thread_limit({}) < 2) GTEST_SKIP() << "one core compiles one kernel at a time";
  columns_ = {16, 32};
  // Each compiler waits until the other has begun.
  ScriptedSolver::script() = fmt::format(
      "touch {0}.$N\nwhile [ ! -e {0}.16 -o ! -e {0}.32 ]; do sleep 0.005; done\n{1}", file("begun"), kCompiles);
  EXPECT_TRUE(call(16).is_stand_in);
  EXPECT_TRUE(call(32).is_stand_in);
  EXPECT_EQ(captured_times({16, 32}), (std::vector{kRowUs, kRowUs}));
}

TEST_F(CapturedKernels, ACompilerThatHangsEndsInAGraphWithTheDefaultKernelAndANotice) {
  columns_ = {16, 32};
  options_.graph_wait = milliseconds(30);
  ScriptedSolver::script() = waits_for_go();
  const std::vector<int64_t> captured = {16, 16, 32};
  const auto graph = capture(captured);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(times_of(*graph, captured), (std::vector{kDefaultUs, kDefaultUs, kDefaultUs}));
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 3u);
  EXPECT_EQ(errors_.count(kKeepsDefault), 2u) << "once for each shape: " << errors_.text();
  EXPECT_THAT(errors_.text(), HasSubstr("its kernel was not compiled within 0.03 s (ATTUNE_GRAPH_WAIT_S)"));
  EXPECT_THAT(errors_.text(), HasSubstr(build_command()));
  go();
  ASSERT_TRUE(becomes_true([&] { return !call(16).is_stand_in && !call(32).is_stand_in; })) << "it compiles on";
  EXPECT_EQ(captured_times(captured), (std::vector{kRowUs, kRowUs, kRowUs}));
  EXPECT_EQ(times_of(*graph, captured), (std::vector{kDefaultUs, kDefaultUs, kDefaultUs})) << "a graph stays as it is";
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 3u);
}

TEST_F(CapturedKernels, ACompilerThatFailsEndsInAGraphWithTheDefaultKernelAndANotice) {
  ScriptedSolver::script() = "echo kernel.toy: error: no such tile >&2\nexit 1\n";
  EXPECT_EQ(captured_times({16, 16}), (std::vector{kDefaultUs, kDefaultUs}));
  EXPECT_EQ(captured_times({16}), std::vector{kDefaultUs});
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 3u);
  EXPECT_EQ(errors_.count(kKeepsDefault), 1u);
  EXPECT_THAT(errors_.text(), HasSubstr("because its kernel cannot be compiled: "));
  EXPECT_THAT(errors_.text(), HasSubstr(build_command()));
}

TEST_F(CapturedKernels, AFailureBeforeTheCaptureIsANoticeOfTheCapture) {
  ScriptedSolver::script() = "exit 1\n";
  call(16);
  ASSERT_TRUE(becomes_true([&] { return call(16).kernel_failed; }));
  EXPECT_EQ(errors_.count(kKeepsDefault), 0u);
  EXPECT_EQ(captured_times({16}), std::vector{kDefaultUs});
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 1u);
  EXPECT_THAT(errors_.text(), HasSubstr("because its kernel cannot be compiled: "));
}

TEST_F(CapturedKernels, AMissingCompilerEndsInAGraphWithTheDefaultKernelAndANotice) {
  ScriptedSolver::compiler() = "absent";
  EXPECT_EQ(captured_times({16}), std::vector{kDefaultUs});
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 1u);
  EXPECT_THAT(errors_.text(), HasSubstr("this build has no such compiler: 'absent'"));
  EXPECT_EQ(errors_.count(kKeepsDefault), 1u);
}

TEST_F(CapturedKernels, NoCallWaitsIfTheBoundIsZeroOrNothingIsCompiled) {
  ScriptedSolver::script() = waits_for_go();
  options_.graph_wait = milliseconds(0);
  EXPECT_EQ(captured_times({16}), std::vector{kDefaultUs});
  EXPECT_THAT(errors_.text(), HasSubstr("ATTUNE_GRAPH_WAIT_S=0 waits for none"));
  options_ = {.device = "toy:0", .compile_mode = CompileMode::never, .poll_interval = milliseconds(0)};
  dispatcher_.reset();
  EXPECT_EQ(captured_times({16}), std::vector{kDefaultUs});
  EXPECT_THAT(errors_.text(), HasSubstr("no kernel is compiled with ATTUNE_BUILD=never"));
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 1u);
}

TEST_F(CapturedKernels, ACallOutsideACaptureDoesNotWait) {
  ScriptedSolver::script() = waits_for_go();
  EXPECT_TRUE(call(16).is_stand_in);
  EXPECT_TRUE(dispatcher().run(key(16), operands(16).operands()).is_stand_in);
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 0u);
  EXPECT_EQ(errors_.count(kKeepsDefault), 0u);
}

TEST_F(CapturedKernels, RequireRowWaitsForAGraphToo) {
  columns_ = {16, 32};
  stream_->begin_capture();
  const Hit hit = dispatcher().require_row(key(16), stream_->native());
  EXPECT_NE(hit.plan, nullptr);
  EXPECT_FALSE(hit.is_stand_in);
  EXPECT_NE(stream_->end_capture(nullptr), nullptr);
  ScriptedSolver::script() = "exit 1\n";
  stream_->begin_capture();
  EXPECT_EQ(dispatcher().require_row(key(32), stream_->native()).plan, nullptr);
  EXPECT_EQ(dispatcher().require_row(key(32), stream_->native()).plan, nullptr);
  EXPECT_NE(stream_->end_capture(nullptr), nullptr);
  EXPECT_EQ(dispatcher().counts().captured_stand_ins, 2u) << "its caller computes them";
  EXPECT_EQ(errors_.count(kKeepsDefault), 1u);
}

TEST_F(CapturedKernels, OtherThreadsCallAndForkWhileOneWaits) {
  columns_ = {16, 32};
  EXPECT_EQ(captured_times({32}), std::vector{kRowUs});
  ScriptedSolver::script() = waits_for_go();
  operands(16);
  std::vector<double> times;
  std::unique_ptr<Graph> graph;
  std::thread capturing([&] { graph = capture({16}); });
  ASSERT_TRUE(becomes_true([&] { return has_begun(16); }));
  EXPECT_NE(dispatcher().choose(key(32)).plan, nullptr);
  EXPECT_FALSE(dispatcher().run(key(32), operands(32).operands()).is_stand_in);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_hit = dispatcher().choose(key(32)).plan != nullptr && !dispatcher().require(key(32)).is_stand_in;
    ::_exit(is_hit && dispatcher().require(key(16)).is_stand_in ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "it finds no lock held";
  go();
  capturing.join();
  ASSERT_NE(graph, nullptr) << "no call of the others ended the capture";
  EXPECT_EQ(times_of(*graph, {16}), std::vector{kRowUs});
}

TEST_F(CapturedKernels, ADispatcherThatFinishesEndsTheWait) {
  ScriptedSolver::script() = waits_for_go();
  std::unique_ptr<Graph> graph;
  operands(16);
  dispatcher();
  std::thread capturing([&] { graph = capture({16}); });
  EXPECT_TRUE(becomes_true([&] { return has_begun(16); }));
  dispatcher().finish();
  capturing.join();
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(times_of(*graph, {16}), std::vector{kDefaultUs});
}

/// Whether this process may start a thread.
bool starts_threads() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

TEST_F(CapturedKernels, NoCallWaitsWithoutTheDispatchersThread) {
  constexpr uid_t kNobody = 65534;  // The limit of processes does not hold for root.
  constexpr int kCannotLimit = 2;
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if ((::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) || ::setrlimit(RLIMIT_NPROC, &none) != 0 ||
        starts_threads())
      ::_exit(kCannotLimit);
    bool is_good = false;
    try {
      is_good = captured_times({16}) == std::vector{kDefaultUs} && dispatcher().counts().captured_stand_ins == 1;
    } catch (const std::exception&) {
      // The parent says that it failed.
    }
    ::_exit(is_good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kCannotLimit) GTEST_SKIP() << "RLIMIT_NPROC holds no thread back here";
  EXPECT_EQ(status, 0);
  EXPECT_THAT(errors_.text(), HasSubstr("because the dispatcher has no thread that compiles kernels"));
}

TEST_F(CapturedKernels, ANoticeSaysOnceHowManyKernelsOfATableTheCacheLacks) {
  columns_ = {16, 32, 48, 64};
  call(16);
  const std::string notice = fmt::format("the cache lacks 4 kernels of {}, `{}` compiles them all",
                                         file("bf16_tuned_gemm.csv"), build_command());
  EXPECT_TRUE(becomes_true([&] { return errors_.count(notice) > 0; })) << errors_.text();
  EXPECT_EQ(captured_times({16, 32, 48, 64}), (std::vector{kRowUs, kRowUs, kRowUs, kRowUs}));
  EXPECT_EQ(errors_.count("the cache lacks"), 1u);
  dispatcher_.reset();
  EXPECT_EQ(captured_times({16}), std::vector{kRowUs});
  dispatcher_.reset();
  EXPECT_EQ(errors_.count("the cache lacks"), 1u) << "it has them now";
}

}  // namespace
}  // namespace attune::toys
