// SPDX-License-Identifier: MIT
#include "cli/environment.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/text.h"
#include "cli/line_output.h"
#include "cli/worker_options.h"
#include "measure/local_executor.h"
#include "measure/quiet.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "worker/worker_executor.h"

namespace attune {

namespace {

/// Libraries keep large arrays on the stack (libxsmm 130 KiB) and end the program where there is no room.
void check_stack() {
  constexpr rlim_t kLeastBytes = 512 << 10;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kLeastBytes) return;
  fail(ErrorCode::unavailable, "the stack is too small for the libraries, raise it with `ulimit -s 8192`: {} KiB",
       stack.rlim_cur >> 10);
}

}  // namespace

Environment open_environment(const std::string& devices, Isolation isolation, const KernelOptions& kernels) {
  const auto ids = split(devices, ',');
  if (ids.size() > 1)
    fail(ErrorCode::invalid_input, "one device is tuned at a time in this version, got --devices '{}'", devices);
  const std::string device = devices.empty() ? "cpu:0" : std::string(trim(ids.front()));
  // The modules' load variables must be set before anything starts a thread.
  const Registry& solvers = registry();
  if (kernels.cache.empty()) check_cache_location();
  if (device.starts_with("cpu")) check_stack();
  Environment environment;
  if (isolation == Isolation::process) {
    environment.strays = std::make_unique<Strays>();
    environment.executor = std::make_unique<WorkerExecutor>(worker_options(device, environment.strays.get()));
  } else {
    environment.opened = open_device(device);
    environment.executor = std::make_unique<LocalExecutor>(*environment.opened, solvers);
  }
  const std::filesystem::path cache = kernels.cache.empty() ? cache_location().path.string() : kernels.cache;
  environment.kernels =
      std::make_unique<Kernels>(solvers, environment.device(), cache.empty() ? cache : std::filesystem::absolute(cache),
                                PoolOptions{.jobs = kernels.jobs, .keep = kernels.keep});
  return environment;
}

Isolation isolation_option(const std::string& text) { return text == "none" ? Isolation::none : Isolation::process; }

std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol) {
  constexpr ProblemId kProbe = ~ProblemId{0};
  executor.open(kProbe, problem, protocol);
  std::vector<Contender> found;
  for (bool answered = false; !answered;) {
    for (Event& event : executor.wait(Milliseconds(1000))) {
      if (auto* opened = std::get_if<Opened>(&event)) {
        if (!opened->refused.empty()) fail(ErrorCode::unavailable, "{}", opened->refused);
        found = std::move(opened->contenders);
        answered = true;
      }
    }
  }
  executor.close(kProbe);
  return found;
}

std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem,
                                        std::span<const Contender> contenders, const DeviceInfo& device) {
  const auto found = std::find_if(contenders.begin(), contenders.end(),
                                  [&](const Contender& one) { return one.solver == candidate.solver; });
  if (found == contenders.end()) return "no solver of that name is available here: " + candidate.solver;
  if (!found->support.yes) return candidate.solver + " " + found->support.reason;
  if (found->version != candidate.version)
    return fmt::format("made with {} {}, here is {}", candidate.solver, candidate.version, found->version);
  return why_outside(found->space, candidate.config, problem, device);
}

std::optional<Candidate> default_candidate(const Problem& problem, std::span<const Contender> contenders) {
  for (const auto id : op_of(problem).family().baselines) {
    for (const Contender& contender : contenders) {
      if (contender.solver == id && contender.support.yes) {
        return Candidate{contender.solver, contender.version, contender.untuned};
      }
    }
  }
  return std::nullopt;
}

void wait_for_quiet(const Environment& environment, double wait_s) {
  if (environment.device().kind != "host" || wait_s <= 0) return;
  auto own = environment.executor->processes();
  own.push_back(getpid());
  const Quiet quiet = wait_until_quiet(QuietOptions{.wait_s = wait_s}, own);
  if (!quiet.quiet) {
    std::fprintf(
        stderr, "note: other programs use %.0f %% of the processors after %.0f s of waiting; results will be noisier\n",
        100 * quiet.share, quiet.waited_s);
  }
}

void check_output(const std::filesystem::path& path) {
  try {
    check_writable(path);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "{}", error.what());
  }
}

const FamilySpec* family_option(const std::string& op) {
  if (op.empty()) return nullptr;
  if (const FamilySpec* family = find_family(op)) return family;
  fail(ErrorCode::invalid_input, "unknown family, see `attune list ops`: '{}'", op);
}

std::filesystem::path journal_file(const std::string& option) {
  if (!option.empty()) return option;
  check_home_location();
  return journal_location().path;
}

void note_damaged(size_t num_damaged, const std::filesystem::path& journal) {
  if (num_damaged == 0) return;
  print_line(stderr, fmt::format("note: the journal is damaged, {} left out: '{}'", counted(num_damaged, "row"),
                                 journal.string()));
}

void print_notices(const Table& table) {
  for (const auto& notice : table.notices()) print_line(stderr, "note: " + notice);
}

Problem parse_problem(const std::string& text, const DeviceInfo& device) {
  const auto problem = Problem::parse(text);
  return op_of(problem).normalise(problem, device);
}

}  // namespace attune
