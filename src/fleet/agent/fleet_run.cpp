// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "campaign/tune_method.h"
#include "compile/compiler.h"
#include "compile/kernel_cache.h"
#include "core/device_lost.h"
#include "device/device_kind.h"
#include "fleet/agent/agent_devices.h"
#include "fleet/agent/agent_name.h"
#include "fleet/agent/agent_store.h"
#include "fleet/agent/compile_jobs.h"
#include "fleet/agent/fleet_display.h"
#include "fleet/agent/fleet_kernels.h"
#include "fleet/agent/fleet_work.h"
#include "fleet/agent/patient_queue.h"
#include "fleet/setup/container_image.h"
#include "fleet/setup/measuring_protocol.h"
#include "report/json_output.h"
#include "report/time_report.h"
#include "solver/registry.h"
#include "store/fleet/fleet_file.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/store_away.h"
#include "tuner/history/neighbours.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

constexpr size_t kNeighbourWinners = 3;
constexpr int kStoreAway = 3, kOtherEnvironment = 4, kDeviceLost = 5;

/// Whether to end as Slurm and other schedulers ask: the agent gives its jobs back.
bool is_drain() { return is_interrupted() && interrupt_status() == 128 + SIGTERM; }

ClaimFilter filter_of(const FleetRunOptions& options, bool is_compile) {
  ClaimFilter filter{.session = options.session, .steps = {}, .agent = agent_name()};
  for (const FleetStep step : options.steps) {
    if (compiles(step) == is_compile) filter.steps.push_back(step);
  }
  return filter;
}

FleetCounts sum_of(const FleetCounts& one, const FleetCounts& other) {
  return {one.num_done + other.num_done,         one.num_unsupported + other.num_unsupported,
          one.num_failed + other.num_failed,     one.num_given_back + other.num_given_back,
          one.num_deferred + other.num_deferred, one.num_lost + other.num_lost};
}

/// `perf_compile,perf_eval`
std::string text_of(const std::vector<FleetStep>& steps) {
  std::vector<std::string> names;
  for (const FleetStep step : steps) names.emplace_back(name(step));
  return join(names, ",");
}

/// How long an agent waits.
struct AgentWaits {
  double patience_s = 0;  ///< For the store.
  double others_s = 0;    ///< For jobs that other agents must end first.
};

/// A run from the moment at which its session is known to be of this environment.
class AgentRun {
 public:
  /// All arguments outlive this.
  AgentRun(const FleetRunOptions& options, const AgentWaits& waits, const FleetSession& session, TunerOptions how,
           FleetStore& store, const AgentDevices& devices, DeviceLosses& losses)
      : options_(options),
        waits_(waits),
        session_(session),
        how_(std::move(how)),
        queue_(store.queue(), waits.patience_s, [this](const std::string& line) { display_.say(line); }),
        devices_(devices),
        environments_(devices.environments),
        toolchains_(toolchains_of(session)),
        cache_(cache_folders(kernel_cache_folder(options.tune.kernels)), kProgramCacheBytes),
        display_(
            options.tune.json,
            [this] {
              queue_.tick();
              if (work_) work_->tick();
            },
            [&losses](const std::string& why) { losses.add(why); }) {
    const std::filesystem::path file = journal_file(options.tune.journal);
    const size_t num_journals = std::max<size_t>(1, environments_.size());
    for (size_t i = 0; i < num_journals; ++i) journals_.push_back(open_sql_journal(file));
    recorded_.emplace(*journals_.front(), device(), 0);
    for (size_t i = 1; i < journals_.size(); ++i) journals_[i]->join_run(recorded_->number());
    share_kernels(store);
    how_.before_measuring = [this](const Tick& tick) {
      wait_for_quiet(environments_.front(), options_.tune.quiet_wait_s, tick,
                     [this](const std::string& line) { display_.say(line); });
    };
  }

  int run() {
    const double began_s = steady_clock().now_s();
    queue_.end_leases(options_.session, is_ended_agent);
    display_.set_total(num_waiting());
    const ClaimFilter compile = filter_of(options_, true), measure = filter_of(options_, false);
    if (!compile.steps.empty() && !compile_jobs(compile)) return end(began_s);
    if (!measure.steps.empty() && !is_interrupted()) {
      if (how_.budget_s > 0) how_.budget_s = std::max(0.001, how_.budget_s - (steady_clock().now_s() - began_s));
      measure_jobs(measure);
    }
    return end(began_s);
  }

 private:
  const DeviceInfo& device() const { return devices_.info; }

  /// Agents of a server's store share kernels through it, unless their cache is a folder that machines share.
  void share_kernels(FleetStore& store) {
    const bool is_shared_folder = !network_file_system(kernel_cache_folder(options_.tune.kernels)).empty();
    if (!store.is_server() || is_shared_folder || cache_reuse() != CacheReuse::all) return;
    kernels_.emplace(store.open_kernels(),
                     FleetKernelsOptions{.session = options_.session,
                                         .agent = agent_name(),
                                         .toolchains = toolchains_,
                                         .say = [this](const std::string& line) { display_.say(line); }});
    if (devices_.own_kernels) devices_.own_kernels->share(*kernels_);
    for (const Environment& one : environments_) one.kernels->share(*kernels_);
  }

  size_t num_waiting() {
    size_t num = 0;
    for (const bool is_compile : {true, false}) {
      const ClaimFilter filter = filter_of(options_, is_compile);
      if (filter.steps.empty()) continue;
      const JobCounts counts = queue_.counts(filter);
      num += counts.queued + counts.leased;
    }
    return num;
  }

  void on_job(const EndedJob& job) {
    display_.ended(job);
    if (!options_.tune.json) return;
    jobs_.push_back({{"job", job.job.id},
                     {"step", name(job.job.step)},
                     {"solver", job.job.solver},
                     {"problem", job.job.problem},
                     {"status", name(job.outcome.status)},
                     {"detail", job.outcome.detail},
                     {"seconds", job.seconds}});
    if (job.outcome.decision) {
      jobs_.back()["winner"] = job.outcome.decision->winner.name();
      jobs_.back()["winner_us"] = job.outcome.decision->comparison.us;
    }
  }

  /// False after an interrupt or when the budget is spent.
  bool compile_jobs(const ClaimFilter& filter) {
    NeighbourIndex index(device().fingerprint());
    index.refresh(*journals_.front());
    const double end_s = steady_clock().now_s() + how_.budget_s;
    CompileJobs jobs(queue_, registry(), device(), devices_.kernels(),
                     {.filter = filter,
                      .solvers = solvers_by_op(),
                      .how = how_,
                      .neighbours = [&](const Problem& problem) { return index.nearest(problem, kNeighbourWinners); },
                      .on_job = [this](const EndedJob& job) { on_job(job); },
                      .waits_for_store = [this] { return queue_.is_waiting(); },
                      .skips_unavailable = environments_.empty(),
                      .max_wait_s = waits_.others_s,
                      .has_ended = is_ended_agent,
                      .stop =
                          [&](size_t num_waiting) {
                            display_.compiling_kernels(num_waiting);
                            return is_interrupted() || (how_.budget_s > 0 && steady_clock().now_s() > end_s);
                          }});
    const bool is_complete = jobs.run();
    counts_ = sum_of(counts_, jobs.counts());
    return is_complete;
  }

  /// The kernels of finalists of generated solvers, from the cache.
  std::vector<FleetKernel> kernels_of(const Problem& problem, const std::vector<ShortListRow>& finalists) const {
    std::vector<FleetKernel> all;
    for (const ShortListRow& row : finalists) {
      const Solver* solver = registry().find(row.solver);
      // Kernels of parts belong to other ops.
      if (solver == nullptr || !solver->parts(problem, device()).empty()) continue;
      for (const CompileTask& task : solver->compile_tasks(problem, row.candidate.config, device())) {
        // Of the session's compiler: another one's kernel was not measured.
        const auto toolchain = toolchains_.find(task.compiler);
        const bool is_pinned = toolchain != toolchains_.end();
        const auto binary = cache_.find(task.arch, task.recipe(), is_pinned ? toolchain->second : "");
        if (!binary || (is_pinned && binary->toolchain != toolchain->second)) continue;
        const auto options = binary->metadata.find("options");
        all.push_back({binary->recipe + binary->file.extension().string(),
                       options == binary->metadata.end() ? "" : options->second, read_file(binary->file)});
      }
    }
    return all;
  }

  std::map<std::string, std::vector<std::string>, std::less<>> solvers_by_op() const {
    std::map<std::string, std::vector<std::string>, std::less<>> all;
    for (const FleetSolver& one : session_.solvers) all[one.op].push_back(one.id);
    return all;
  }

  void measure_jobs(const ClaimFilter& filter) {
    FleetWork work(queue_,
                   {.filter = filter,
                    .device = device(),
                    .solvers = solvers_by_op(),
                    .kernels_of = [this](const Problem& problem,
                                         const std::vector<ShortListRow>& rows) { return kernels_of(problem, rows); },
                    .has_ended = is_ended_agent,
                    .waits_for_store = [this] { return queue_.is_waiting(); },
                    .steps_before = steps_before(),
                    .max_wait_s = waits_.others_s,
                    .on_job = [this](const EndedJob& job) { on_job(job); },
                    .say = [this](const std::string& line) { display_.say(line); }});
    work_ = &work;
    std::vector<TuningDevice> devices;
    for (size_t i = 0; i < environments_.size(); ++i) {
      const Environment& one = environments_[i];
      devices.push_back({*one.executor, *journals_[i], one.kernels.get(), one.cores});
    }
    try {
      ending_ = Tuner(std::move(devices), how_).run(work, display_, interrupt_flag());
    } catch (...) {
      work_ = nullptr;
      throw;
    }
    work_ = nullptr;
    work.release_all();
    counts_ = sum_of(counts_, work.counts());
  }

  JobCounts counts_of(FleetStep step) {
    return queue_.counts({.session = options_.session, .steps = {step}, .agent = {}});
  }

  /// The compile steps before this run's measuring steps.
  std::vector<FleetStep> steps_before() const {
    std::vector<FleetStep> before;
    for (const FleetStep step : options_.steps) {
      if (!compiles(step))
        before.push_back(step == FleetStep::find_eval ? FleetStep::find_compile : FleetStep::perf_compile);
    }
    return before;
  }

  /// The same without this run's own steps and without steps whose jobs have ended.
  std::vector<FleetStep> open_compile_steps() {
    auto open = steps_before();
    std::erase_if(open, [&](FleetStep before) {
      const JobCounts counts = counts_of(before);
      return counts.queued + counts.leased == 0 || std::ranges::find(options_.steps, before) != options_.steps.end();
    });
    return open;
  }

  /// Why jobs are left, a sentence each; empty: none is.
  std::vector<std::string> left() {
    std::vector<std::string> all;
    for (const bool is_compile : {true, false}) {
      const ClaimFilter filter = filter_of(options_, is_compile);
      if (filter.steps.empty()) continue;
      const std::string steps = text_of(filter.steps);
      const JobCounts now = queue_.counts(filter);
      if (now.leased > 0)
        all.push_back(fmt::format("{} of {} held by other agents", counted(now.leased, "job"), steps));
      const size_t num_blocked = std::min(now.queued, now.blocked);
      if (now.queued > num_blocked)
        all.push_back(fmt::format("{} of {} left in the queue", counted(now.queued - num_blocked, "job"), steps));
      if (num_blocked == 0) continue;
      const std::string blocked =
          fmt::format("{} of {} for jobs before them",
                      num_blocked == 1 ? "1 job waits" : fmt::format("{} jobs wait", num_blocked), steps);
      const auto before = open_compile_steps();
      all.push_back(before.empty() ? blocked
                                   : fmt::format("{}, run `attune fleet run --session {} --steps {}` first", blocked,
                                                 options_.session, text_of(before)));
    }
    return all;
  }

  /// Sends the last results, for which the run waits if the store is away.
  void send_results() {
    constexpr double kPauseS = 0.5;
    queue_.tick();
    while (queue_.num_unsent() > 0 && queue_.is_waiting() && !is_interrupted()) {
      steady_clock().sleep_s(kPauseS);
      queue_.tick();
    }
  }

  std::string unsent() {
    if (queue_.num_unsent() == 0) return "the store does not answer; the same command goes on";
    return fmt::format(
        "the store does not answer: {} in the journal, the same command sends them",
        queue_.num_unsent() == 1 ? "1 result waits" : fmt::format("{} results wait", queue_.num_unsent()));
  }

  int end(double began_s) {
    send_results();
    display_.hide();
    counts_.num_lost += queue_.num_late();
    const bool is_away = queue_.is_given_up() || queue_.num_unsent() > 0;
    auto remaining = is_away ? std::vector<std::string>() : left();
    if (is_away) remaining.push_back(unsent());
    is_drained_ = is_drain() && !is_away;
    const int status = is_drained_         ? 0
                       : is_interrupted()  ? interrupt_status()
                       : is_away           ? kStoreAway
                       : remaining.empty() ? 0
                                           : 1;
    const char* ending = is_drained_ ? "drained" : is_interrupted() ? "interrupted" : is_away ? "store_away" : "done";
    const double seconds = steady_clock().now_s() - began_s;
    const std::string noise = display_.noise_notice();
    if (options_.tune.json) {
      print_json({{"ending", ending},
                  {"session", options_.session},
                  {"device", device().key()},
                  {"done", counts_.num_done},
                  {"unsupported", counts_.num_unsupported},
                  {"failed", counts_.num_failed},
                  {"given_back", counts_.num_given_back},
                  {"deferred", counts_.num_deferred},
                  {"lost", counts_.num_lost},
                  {"seconds", seconds},
                  {"left", remaining},
                  {"notices", noise.empty() ? std::vector<std::string>() : std::vector{noise}},
                  {"jobs", jobs_}});
    } else {
      print_summary_line(seconds);
      if (!noise.empty()) print_line(stderr, "note: " + noise);
      for (const std::string& one : remaining) print_line(stderr, "note: " + one);
    }
    recorded_->end(is_drained_ ? "interrupted" : ending, status);
    return status;
  }

  void print_summary_line(double seconds) const {
    std::string line = counted(counts_.num_done, "job") + " done";
    if (counts_.num_unsupported > 0) line += fmt::format(", {} unsupported", counts_.num_unsupported);
    if (counts_.num_failed > 0) line += fmt::format(", {} failed", counts_.num_failed);
    if (counts_.num_given_back > 0) line += fmt::format(", {} cut short and given back", counts_.num_given_back);
    if (counts_.num_deferred > 0) line += fmt::format(", {} given back until kernels are built", counts_.num_deferred);
    if (counts_.num_lost > 0) line += fmt::format(", {} lost to other agents", counts_.num_lost);
    line += " in " + format_duration(seconds);
    if (is_drained_)
      line += "; drained, all other jobs were given back";
    else if (is_interrupted())
      line += "; interrupted, the same command goes on";
    else if (!ending_.empty())
      line += "; " + ending_;
    print_line(stdout, line);
  }

  const FleetRunOptions& options_;
  const AgentWaits waits_;
  const FleetSession& session_;
  TunerOptions how_;
  PatientQueue queue_;
  const AgentDevices& devices_;
  const std::vector<Environment>& environments_;
  const Toolchains toolchains_;
  const KernelCache cache_;  // For kernels_of(): the others belong to the devices' threads.
  std::optional<FleetKernels> kernels_;
  std::vector<std::unique_ptr<Journal>> journals_;
  std::optional<JournalRun> recorded_;
  FleetWork* work_ = nullptr;  // While the devices measure.
  FleetDisplay display_;
  FleetCounts counts_;
  bool is_drained_ = false;
  std::string ending_;  // Why the tuner ended before the queue was empty.
  std::vector<nlohmann::ordered_json> jobs_;
};

/// The steps that a session has jobs of, in their order.
std::vector<FleetStep> steps_of(FleetStore& store, int64_t session) {
  std::set<FleetStep> steps;
  for (const JobGroup& group : store.job_groups(session)) {
    // A contest is claimed under the name of its evaluation.
    steps.insert(group.step == FleetStep::perf_contest ? FleetStep::perf_eval : group.step);
  }
  if (steps.empty())
    fail(ErrorCode::invalid_input,
         "session {0} has no jobs, load some first: attune jobs load --session {0} -t TAG --steps "
         "perf_compile,perf_eval -l REASON",
         session);
  return {steps.begin(), steps.end()};
}

void check_session(const FleetSession& session) {
  if (session.state != "open")
    fail(ErrorCode::invalid_input, "session {} is {}, begin another with attune session init", session.id,
         session.state);
}

AgentWaits waits_of_agent(const FleetRunOptions& options) {
  return {.patience_s = duration_option(options.patience, "--patience"),
          .others_s = options.wait.empty() ? 0 : duration_option(options.wait, "--wait")};
}

/// Results wait there for a store that is away, and SQLite cannot rely on a network file system's locks.
void check_journal_is_local(const std::filesystem::path& file) {
  if (const auto network = network_file_system(file); !network.empty())
    fail(ErrorCode::invalid_input,
         "an agent's journal must be on a local disk and this one is on {}, name another with "
         "--journal: '{}'",
         network, file.string());
}

int run_with_devices(const FleetRunOptions& options, const AgentWaits& waits, const FleetSession& session,
                     TunerOptions how, FleetStore& store, DeviceLosses& losses) {
  const AgentDevices devices = open_agent_devices(options, session);
  if (devices.environments.empty() && !devices.own_kernels) return is_drain() ? 0 : interrupt_status();
  const auto differing = differences_here(session, devices, options);
  if (!differing.empty()) {
    print_line(stderr, fmt::format("attune: session {} was begun in another environment: {}", options.session,
                                   join(differing, "; ")));
    return kOtherEnvironment;
  }
  if (!devices.missing_compilers.empty())
    store.add_event(
        options.session,
        {.at = {}, .agent = agent_name(), .kind = "lacks_compiler", .text = join(devices.missing_compilers, ", ")});
  set_constants(how, options.tune, device_kind(devices.info.kind));
  return AgentRun(options, waits, session, std::move(how), store, devices, losses).run();
}

}  // namespace

int run_fleet(const FleetRunOptions& asked) {
  TunerOptions how = tuner_options(asked.tune);
  const AgentWaits waits = waits_of_agent(asked);
  check_journal_is_local(journal_file(asked.tune.journal));
  const InterruptHandler handler;
  const auto store = open_patiently(waits.patience_s);
  if (!store) return is_drain() ? 0 : interrupt_status();
  const FleetSession session = store->session(asked.session);
  check_session(session);
  if (const std::string note = image_difference(session, container_image()); !note.empty())
    print_line(stderr, "note: " + note);
  FleetRunOptions options = asked;
  if (options.steps.empty()) options.steps = steps_of(*store, options.session);
  options.tune.inputs = pinned_inputs(session.environment.versions);
  how.protocol.cache = parse_cache_policy(options.tune.inputs);
  // Workers run candidates, which need not know it.
  ::unsetenv("ATTUNE_STORE_PASSWORD");
  ::unsetenv("TUNA_DB_USER_PASSWORD");
  DeviceLosses losses(*store, options.session);
  try {
    return run_with_devices(options, waits, session, std::move(how), *store, losses);
  } catch (const DeviceLost& error) {
    print_line(stderr, fmt::format("attune: the device is lost, so this agent ends: {}", error.what()));
    losses.add(error.what());
    return kDeviceLost;
  }
}

}  // namespace attune
