// SPDX-License-Identifier: MIT
// Helpers that compile are killed, hang, grow and answer wrongly while a problem is tuned, $ATTUNE_HELPER_FAULTS times
// (40) among as many healthy candidates, in an order drawn by $ATTUNE_FAULT_SEED (1). Half of the kernels are those of
// a library in a helper, half of a Python that a helper runs. Each fault costs its candidate and nothing else, and no
// process or temporary file is left. `attune_helper_faults helper NAME` is a helper.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "compile/triton/triton_compiler.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/process_stat.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/becomes_true.h"
#include "testing/compile/fake_triton.h"
#include "testing/environment.h"
#include "testing/faulty_library.h"
#include "testing/planted_gemm.h"
#include "testing/tuner_doubles.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace {

using namespace attune;
namespace fs = std::filesystem;

/// What a kernel's text does in the Python that compiles it, so that its candidate fails.
constexpr std::string_view kPythonFaults[] = {
    "os.write(2, b'a last word')\nos._exit(3)",
    "os.kill(os.getpid(), 9)",
    "os.kill(os.getpid(), 11)",
    "os.fork() == 0 and time.sleep(1000)\nos._exit(3)",
    "time.sleep(1000)",
    "import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass",
    "os.close(4)\ntime.sleep(1000)",
    "os.write(4, b'garbage\\n')\ntime.sleep(1000)",
    "os.write(4, b'x' * 300000)\ntime.sleep(1000)",
    "os.write(4, b'{\"number\": 1, \"ok\": true}\\n{\"number\": 1, \"ok\": true}\\n')\ntime.sleep(1000)",
    "os.write(4, b'{\"number\": 99999, \"ok\": true, \"log\": \"\", \"facts\": {}}\\n')\ntime.sleep(1000)",
    "kernel.made = triton.cubin('kernel', 80)",
    "kernel.made = b'text'",
    "bytearray(1 << 62)",
    "raise ValueError('wrong')"};
/// What healthy kernels do besides.
constexpr std::string_view kPythonQuirks[] = {"print('{}')\nos.write(1, b'x' * 100000)\nos.write(2, b'y')",
                                              "os.fork() == 0 and time.sleep(1000)", "os.kept = b'x' * (1100 << 20)"};
constexpr size_t kQuirkOneIn = 8;

/// A candidate's kernel.
struct Made {
  CompileTask task;
  bool is_fault = false;
};

CompileTask library_task(uint64_t number, std::string_view word) {
  return {.compiler = "library",
          .source = fmt::format("{} {}", word, number),
          .arch = "fake",
          .options = {},
          .entries = {}};
}

CompileTask python_task(uint64_t number, std::string_view text) {
  return {
      .compiler = "triton",
      .source = fmt::format("import os, time, triton  # {}\n@triton.jit\ndef kernel(a, N): pass\n{}\n", number, text),
      .arch = "sm_90",
      .options = {"--argument=a:*fp16:16", "--constant=N:4", "--num-warps=4", "--num-stages=3"},
      .entries = {"kernel"}};
}

/// As many healthy kernels as faults, in random order after a healthy one; every kind of fault comes before one comes
/// again.
std::vector<Made> made_kernels(uint64_t num_faults, bool has_python, Random& random) {
  std::vector<CompileTask> faults;
  std::vector<Made> all;
  uint64_t number = 0;
  while (all.size() < num_faults) {
    if (faults.empty()) {
      for (const std::string_view fault : kHelperFaults) faults.push_back(library_task(0, fault));
      for (const std::string_view text : kPythonFaults) {
        if (has_python) faults.push_back(python_task(0, text));
      }
      random.shuffle(faults);
    }
    CompileTask task = faults.back();
    faults.pop_back();
    task.source += fmt::format(" # {}", ++number);
    all.push_back({std::move(task), true});
  }
  while (all.size() < 2 * num_faults) {
    const bool is_python = has_python && random.below(2) == 0, is_odd = random.below(kQuirkOneIn) == 0;
    const std::string_view quirk = is_odd ? kPythonQuirks[random.below(std::size(kPythonQuirks))] : "";
    all.push_back({is_python ? python_task(++number, quirk) : library_task(++number, "good"), false});
  }
  random.shuffle(all);
  all.insert(all.begin(), {library_task(++number, "good"), false});
  return all;
}

/// A solver of a fake device: config `kernel=5` needs the kernel of that number.
class HelpedSolver final : public Solver {
 public:
  explicit HelpedSolver(std::vector<Made> kernels) : kernels_(std::move(kernels)) {}
  static Config config_of(size_t number) { return Config::parse(fmt::format("kernel={}", number)); }

  std::string_view id() const override { return "onednn.gemm"; }  // The family's first baseline.
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config& config, const DeviceInfo&) const override {
    return {kernels_.at(static_cast<size_t>(config.integer("kernel"))).task};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<HelpedBackend>(kernels_.size(), dynamic_cast<FakeDevice&>(device));
  }

 private:
  class HelpedBackend final : public Backend {
   public:
    HelpedBackend(size_t num_kernels, FakeDevice& device) : num_kernels_(num_kernels), device_(device) {}
    Versions versions() const override { return {{"onednn.gemm", "1"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> configs;
      for (size_t number = 0; number < num_kernels_; ++number) configs.push_back(config_of(number));
      return SearchSpace::listed(configs);
    }
    Config default_config(const Problem&) override { return config_of(0); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config,
                                  const PrepareContext& context) override {
      if (context.binaries.size() != 1) fail(ErrorCode::invalid_input, "a candidate has no kernel");
      const double us = 10 + 0.1 * static_cast<double>(config.integer("kernel"));
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [this, us] { device_.advance_us(us); });
    }

   private:
    size_t num_kernels_;
    FakeDevice& device_;
  };

  std::vector<Made> kernels_;
};

/// Triton's compiler with a deadline that a long run of hanging ones can wait for.
class HurriedTriton final : public LibraryCompiler {
 public:
  std::string_view name() const override { return triton_.name(); }
  std::string toolchain() const override { return triton_.toolchain(); }
  bool targets(std::string_view arch) const override { return triton_.targets(arch); }
  uint32_t command_version() const override { return triton_.command_version(); }
  CompilerLimits limits() const override {
    CompilerLimits limits = triton_.limits();
    limits.deadline = Milliseconds(6000);
    return limits;
  }
  std::map<std::string, std::string> report(const CompilerOutput& output) const override {
    return triton_.report(output);
  }
  std::string flaw_of(std::string_view file) const override { return triton_.flaw_of(file); }
  LibraryOutput compile(const CompileTask& task) const override { return triton_.compile(task); }

 private:
  TritonCompiler triton_;
};

/// Number of processes whose parent this one is, by birth or because theirs died; the dead are reaped first.
size_t num_children() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto pid = parse_int(entry.path().filename().string());
    const auto fields = pid ? process_stat(static_cast<pid_t>(*pid)) : std::vector<int64_t>();
    count += !fields.empty() && fields[kParent] == ::getpid();
  }
  return count;
}

/// Prints what is wrong with the verifications in the journal; returns the number of lines.
uint64_t print_wrong(const Journal& journal, const std::vector<Made>& kernels) {
  std::map<size_t, std::vector<Outcome>> verified;
  journal.scan({}, [&](const Entry& entry, const Stamp&) {
    const auto* record = std::get_if<Record>(&entry);
    if (record != nullptr && record->stage == Stage::verify)
      verified[static_cast<size_t>(record->candidate.config.integer("kernel"))].push_back(record->outcome);
  });
  uint64_t num_wrong = 0;
  for (size_t number = 0; number < kernels.size(); ++number) {
    const auto& outcomes = verified[number];
    const Status wanted = kernels[number].is_fault ? Status::compile_failed : Status::ok;
    if (outcomes.size() == 1 && outcomes[0].status == wanted && (outcomes[0].ok() || !outcomes[0].detail.empty()))
      continue;
    ++num_wrong;
    fmt::print("kernel {} has {} verifications:\n{}\n", number, outcomes.size(), kernels[number].task.source);
    for (const Outcome& one : outcomes) fmt::print("  {}: {}\n", name(one.status), one.detail);
  }
  return num_wrong;
}

struct TuningRun {
  uint64_t num_wrong = 0;
  bool is_decided = false;
};

TuningRun tune(const std::vector<Made>& kernels, const fs::path& cache) {
  const FaultyLibrary library({.memory_bytes = 0, .deadline = Milliseconds(2000)});
  const HurriedTriton triton;
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<HelpedSolver>(kernels));
  PoolOptions pool{.jobs = 4,
                   .compilers = {&library, &triton},
                   .helper = {.arguments = {"/proc/self/exe", "helper"}, .environment = {}}};
  for (const char* variable : {"PATH", "LD_LIBRARY_PATH", "ATTUNE_PYTHON"}) {
    if (const char* value = std::getenv(variable)) pool.helper.environment.emplace(variable, value);
  }
  Kernels built(solvers, device.info(), cache, pool);
  LocalExecutor executor(device, solvers);
  TunerOptions options;
  options.compiles_beside_measuring = true;
  options.strategy.max_trials = kAllTrials;
  options.contest.confirm.delay_s = 0;
  const auto journal = open_memory_journal();
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  const auto text = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const std::vector<WorkItem> items = {{.problem = op_of(text).normalise(text, device.info())}};
  const auto results = Tuner(executor, *journal, options, steady_clock(), &built).run(items, observer, interrupted);
  return {print_wrong(*journal, kernels), results.size() == 1 && is_decided(results[0])};
}

uint64_t number_in(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

int run() {
  const uint64_t num_faults = number_in("ATTUNE_HELPER_FAULTS", 40);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const FakeTriton package;
  if (package.python().empty()) fmt::print("no python3 is here, so only a library's helpers fail\n");
  const TestEnvironment python("ATTUNE_PYTHON", package.python());
  const TemporaryFolder folder("helper-faults"), temporary("helper-faults-tmp");
  Random random(number_in("ATTUNE_FAULT_SEED", 1));
  const std::vector<Made> kernels = made_kernels(num_faults, !package.python().empty(), random);
  const auto began = std::chrono::steady_clock::now();
  TuningRun tuned;
  {
    const TestEnvironment variable("TMPDIR", temporary.path().string());
    tuned = tune(kernels, folder.path() / "cache");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  const bool is_alone = becomes_true([] { return num_children() == 0; });
  uint64_t num_left = 0;
  for (const auto& left : fs::directory_iterator(temporary.path())) {
    if (left.path().filename() == ".lock") continue;
    fmt::print("left: {}\n", left.path().string());
    ++num_left;
  }
  fmt::print(
      "{} faults of helpers among {} candidates: {} wrong, {}, {} processes and {} temporary folders left, {:.1f} s\n",
      num_faults, kernels.size(), tuned.num_wrong, tuned.is_decided ? "decided" : "not decided",
      is_alone ? 0 : num_children(), num_left, seconds.count());
  return tuned.num_wrong == 0 && tuned.is_decided && is_alone && num_left == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "helper") {
    return std::string_view(argv[2]) == "triton" ? run_compile_worker(TritonCompiler())
                                                 : run_compile_worker(FaultyLibrary());
  }
  return run();
}
