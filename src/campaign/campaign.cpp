// SPDX-License-Identifier: MIT
#include "campaign/campaign.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/evidence_file.h"
#include "campaign/existing_rows.h"
#include "campaign/journal_run.h"
#include "campaign/observers.h"
#include "campaign/open_devices.h"
#include "campaign/progress_tracker.h"
#include "campaign/publisher.h"
#include "campaign/tune_display.h"
#include "campaign/tune_method.h"
#include "report/result_table.h"
#include "solver/registry.h"
#include "tuner/expected_cost.h"
#include "tuner/interleaved.h"
#include "worker/worker_executor.h"

namespace attune {
namespace {

std::atomic<bool> interrupted = false;
std::atomic<int> interrupting = 0;  // The signal.
/// The first signal asks the run to end, the second ends the program.
extern "C" void on_interrupt(int signal) {
  interrupting = signal;
  if (interrupted.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Returns the set variables that change how libraries perform. Reads them before Attune sets any.
std::vector<std::string> library_variables() {
  std::vector<std::string> set;
  for (const char* variable :
       {"OMP_NUM_THREADS", "OMP_PLACES", "OMP_PROC_BIND", "OMP_THREAD_LIMIT", "GOMP_SPINCOUNT", "OPENBLAS_NUM_THREADS",
        "OPENBLAS_CORETYPE", "BLIS_NUM_THREADS", "BLIS_ARCH_TYPE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(variable)) set.push_back(fmt::format("{}={}", variable, value));
  }
  return set;
}

/// Adds notices about this machine and environment for readers of the results.
void note_surroundings(const DeviceInfo& device, const std::vector<std::string>& variables, TuneInputs& inputs) {
  if (!variables.empty()) {
    inputs.notices.push_back(
        fmt::format("set in the environment, libraries may not be at their best: {}", fmt::join(variables, ", ")));
  }
  const auto online = static_cast<int64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  if (device.kind == "host" && device.num_units < online) {
    inputs.notices.push_back(fmt::format("this process may use {} of {} cores: the rows are for {} cores",
                                         device.num_units, online, device.num_units));
  }
  std::string missing;
  for (const SolverEntry& entry : registry().entries()) {
    if (!entry.solver) missing += (missing.empty() ? "" : ", ") + entry.id;
  }
  if (!missing.empty()) {
    inputs.notices.push_back("solvers that are not available here (`attune list solvers` says why): " + missing);
  }
}

void print_notes(TuneInputs& inputs) {
  for (const char* variable : {"GEMM_A4W4_BLOCKWISE_HIP_CLANG_PATH", "ATTUNE_HIP_CLANG_PATH"}) {
    if (std::getenv(variable)) {
      inputs.notices.push_back(fmt::format("{} is set, but no HIP solver is built here", variable));
    }
  }
  for (const auto& notice : inputs.notices) print_line(stderr, "note: " + notice);
  for (const auto& shape : inputs.skipped) print_line(stderr, fmt::format("skipped {}: {}", shape.shape, shape.reason));
}

void write_profiles(const TuneOptions& options, const Journal& journal, const TuneInputs& inputs,
                    const DeviceInfo& device, const Protocol& protocol) {
  if (!options.profile_file.empty())
    write_profile(options.profile_file, journal, *inputs.family, inputs.items, device, protocol);
  if (options.keep_dir.empty()) return;
  make_private_folder(options.keep_dir);
  write_profile(std::filesystem::path(options.keep_dir) / kKeptCandidates, journal, *inputs.family, inputs.items,
                device, protocol);
}

KernelOptions kernel_options(const TuneOptions& options) {
  KernelOptions kernels = options.kernels;
  if (!options.keep_dir.empty()) kernels.keep = (std::filesystem::path(options.keep_dir) / "kernels").string();
  return kernels;
}

/// Verifies the winners for YAML output or of a single size once more, like the older tuner's --compare, and reports
/// how many the budget leaves no time for. `end_s`: on the steady clock.
bool winners_are_right(const std::vector<TuneResult>& results, const Environment& environment, const TunerOptions& how,
                       double end_s) {
  bool right = true;
  size_t num_left = 0;
  for (const TuneResult& result : results) {
    if (!result.decision) continue;
    const double needed_s = least_first_admission_s(result.problem, environment.device());
    if (how.budget_s > 0 && steady_clock().now_s() + needed_s > end_s) {
      ++num_left;
      continue;
    }
    const InterleavedOptions once{.protocol = how.protocol, .rounds = 0, .kernels = environment.kernels.get()};
    const auto checked = time_interleaved(*environment.executor, result.problem, {&result.decision->winner, 1}, once);
    const Outcome& outcome = checked.front().outcome;
    right = right && outcome.ok();
    std::fprintf(stderr, "%s: winner checked again: %s%s%s, errRatio %.4f\n", short_shape(result.problem).c_str(),
                 std::string(name(outcome.status)).c_str(), outcome.detail.empty() ? "" : ", ", outcome.detail.c_str(),
                 outcome.errors.mismatch_ratio);
  }
  if (num_left > 0)
    print_line(stderr, fmt::format("note: the budget is spent, {} not checked again", counted(num_left, "winner")));
  return right;
}

std::vector<TuningLane> lanes_of(const std::vector<Environment>& environments, Journal& first,
                                 const std::vector<std::unique_ptr<Journal>>& more) {
  std::vector<TuningLane> lanes;
  for (size_t i = 0; i < environments.size(); ++i) {
    const Environment& one = environments[i];
    lanes.push_back({*one.executor, i == 0 ? first : *more[i - 1], one.kernels.get(), one.cores});
  }
  return lanes;
}

std::vector<Milliseconds> recoveries_of(const std::vector<Environment>& environments) {
  std::vector<Milliseconds> all;
  for (const Environment& one : environments) {
    if (one.worker != nullptr) all.insert(all.end(), one.worker->recoveries().begin(), one.worker->recoveries().end());
  }
  return all;
}

/// Opens the devices; returns none if the run was interrupted while a worker started.
std::vector<Environment> open_environments_to_tune(const TuneOptions& options) {
  try {
    return open_environments(options.devices, isolation_option(options.isolation), kernel_options(options),
                             [] { return interrupted.load(); });
  } catch (const Error&) {
    if (interrupted) return {};
    throw;
  }
}

/// Runs the tuner; publishes the decisions made before an error.
std::vector<TuneResult> run_tuner(Tuner tuner, const TuneInputs& inputs, TuneObserver& observers, TuneDisplay& display,
                                  TunePublisher& publisher) {
  try {
    return tuner.run(inputs.items, observers, interrupted);
  } catch (const Error&) {
    display.flush();
    publisher.flush();
    throw;
  }
}

/// Returns the versions of all solvers that took part.
Versions versions_of(const std::vector<TuneResult>& results) {
  Versions versions;
  for (const TuneResult& result : results) versions.insert(result.versions.begin(), result.versions.end());
  return versions;
}

}  // namespace

CampaignResult run_campaign(const TuneOptions& options) {
  TunerOptions how = tuner_options(options);
  const auto variables = library_variables();
  // Folders and processes that need cleaning up are created below.
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const auto environments = open_environments_to_tune(options);
  if (environments.empty()) return {128 + interrupting, {}};
  const Environment& environment = environments.front();
  const DeviceInfo& device = environment.device();
  // Virtual time does not drift, so waiting has no use.
  if (device.kind == "fake") how.contest.confirm.delay_s = 0;
  TuneInputs inputs = read_tune_inputs(options, device);
  apply_existing_rows(options, device, *environment.executor, inputs);
  note_surroundings(device, variables, inputs);
  print_notes(inputs);
  if (inputs.items.empty() && inputs.skipped.empty()) {
    print_line(stderr, fmt::format("note: no shapes in {}, nothing is tuned or written", inputs.source));
    if (options.json) print_results_json({}, inputs, device, {});
    return {0, {}};
  }
  const auto file_of_journal = journal_file(options.journal);
  const auto journal = open_sql_journal(file_of_journal);  // Opened after all input is validated.
  std::vector<std::unique_ptr<Journal>> more_journals;     // One per further thread, on the same file.
  for (size_t i = 1; i < environments.size(); ++i) more_journals.push_back(open_sql_journal(file_of_journal));
  JournalRun recorded(*journal, device);
  for (const auto& each : more_journals) each->join_run(recorded.number());
  double waited_s = 0;
  how.before_measuring = [&] {
    const double before_s = steady_clock().now_s();
    wait_for_quiet(environment, options.quiet_wait_s, [] { return interrupted.load(); });
    waited_s = steady_clock().now_s() - before_s;
  };

  TunePublisher publisher(options, inputs, device);
  ProgressTracker tracker({.num_shapes = inputs.items.size(),
                           .budget_s = how.budget_s,
                           .device = device.id,
                           .table = inputs.table.string(),
                           .journal = file_of_journal.string()});
  TuneDisplay display(options, inputs, device, tracker.now());
  Observers observers({&tracker, &display, &publisher});
  const double end_s = steady_clock().now_s() + how.budget_s;
  std::vector<TuneResult> results =
      run_tuner(Tuner(lanes_of(environments, *journal, more_journals), how), inputs, observers, display, publisher);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  publisher.flush();
  display.note_cut_shapes();
  for (const auto& notice : publisher.notices()) display.note(notice);
  write_profiles(options, *journal, inputs, device, how.protocol);
  if (options.json) {
    print_results_json(results, inputs, device, recoveries_of(environments));
  } else {
    if (options.compare) print_comparison(results, inputs);
    print_summary(options, inputs, display, file_of_journal);
  }
  const auto end = [&](int status) {
    // Throws, like every entry, if the journal was removed or replaced meanwhile.
    recorded.end(interrupted ? "interrupted" : "done", status, versions_of(results));
    return CampaignResult{status, std::move(results)};
  };
  if (interrupted) return end(128 + interrupting);
  const bool check_again = options.compare && (!inputs.yaml.empty() || options.m);
  if (check_again && !winners_are_right(results, environment, how, end_s + waited_s)) return end(1);
  return end(display.decisions().size() + display.num_kept() > 0 ? 0 : 1);
}

}  // namespace attune
