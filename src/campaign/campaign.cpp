// SPDX-License-Identifier: MIT
#include "campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/text.h"
#include "campaign/captured_limits.h"
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "campaign/journal_run.h"
#include "campaign/observers.h"
#include "campaign/progress_tracker.h"
#include "campaign/publisher.h"
#include "campaign/tune_display.h"
#include "campaign/tune_method.h"
#include "campaign/tune_shapes.h"
#include "device/core_binding.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "formats/csv/ban_file.h"
#include "report/evidence_file.h"
#include "report/result_table.h"
#include "report/time_report.h"
#include "solver/registry.h"
#include "solver/static/rule_choice.h"
#include "tuner/interleaved.h"
#include "tuner/problem/cost_forecast.h"
#include "tuner/weight_configs.h"
#include "worker/worker_executor.h"

namespace attune {
namespace {

KernelOptions kernel_options(const TuneOptions& options) {
  KernelOptions kernels = options.kernels;
  if (!options.keep_dir.empty()) kernels.keep = (std::filesystem::path(options.keep_dir) / "kernels").string();
  return kernels;
}

/// Opens the devices; returns none if the run was interrupted while a worker started.
std::vector<Environment> open_environments_to_tune(const TuneOptions& options) {
  return unless_interrupted([&] {
    return open_environments(options.devices, isolation_option(options.isolation), kernel_options(options),
                             static_cast<uint32_t>(options.workers), is_interrupted);
  });
}

/// Opens the journal once for each worker, because each has a thread.
std::vector<std::unique_ptr<Journal>> open_journals(const std::filesystem::path& file, size_t num_workers) {
  std::vector<std::unique_ptr<Journal>> journals;
  for (size_t i = 0; i < num_workers; ++i) journals.push_back(open_sql_journal(file));
  return journals;
}

RunProgress progress_at_start(const TuneInputs& inputs, const DeviceInfo& device, const TunerOptions& how,
                              const std::filesystem::path& journal) {
  const auto num_rows = std::ranges::count_if(inputs.items, [](const WorkItem& one) { return one.has_row; });
  return {.num_shapes = inputs.items.size(),
          .num_known = how.retune ? 0 : static_cast<size_t>(num_rows),
          .budget_s = how.budget_s,
          .device = device.id,
          .table = inputs.table.string(),
          .journal = journal.string()};
}

/// A run from the moment at which all its inputs are known to be valid.
class Campaign {
 public:
  /// Opens the journal and records the start of the run. All arguments outlive this.
  Campaign(const TuneOptions& options, TunerOptions how, const std::vector<Environment>& environments,
           const TuneInputs& inputs)
      : options_(options),
        how_(std::move(how)),
        environments_(environments),
        inputs_(inputs),
        journal_file_(journal_file(options.journal)),
        journals_(open_journals(journal_file_, environments.size())),
        recorded_(*journals_.front(), device(), inputs.items.size()),
        publisher_(options, inputs, device()),
        tracker_(progress_at_start(inputs, device(), how_, journal_file_), path_if_any(home_location)),
        display_(options, inputs, first().flags, tracker_.now()) {
    for (size_t i = 1; i < journals_.size(); ++i) journals_[i]->join_run(recorded_.number());
    how_.before_measuring = [this](const Tick& tick) { wait_for_others(tick); };
  }

  CampaignResult run() {
    end_s_ = steady_clock().now_s() + how_.budget_s;
    tune();
    publish();
    report();
    const int status = exit_status();
    return end(status);
  }

 private:
  const Environment& first() const { return environments_.front(); }
  const DeviceInfo& device() const { return first().device(); }
  bool is_lost(const Environment& one) const { return display_.lost().contains(one.device().id); }
  static bool has_worker(const Environment& one) { return one.worker == nullptr || one.worker->has_worker(); }
  /// Returns the devices that were not lost; a run that goes on has at least one. If any of them has a worker, returns
  /// only those with one.
  std::vector<size_t> working() const {
    std::vector<size_t> all, with_worker;
    for (size_t i = 0; i < environments_.size(); ++i) {
      if (is_lost(environments_[i])) continue;
      all.push_back(i);
      if (has_worker(environments_[i])) with_worker.push_back(i);
    }
    return with_worker.empty() ? all : with_worker;
  }
  const Environment& first_working() const { return environments_[working().front()]; }

  /// Waits for a quiet machine. The budget does not count this time.
  void wait_for_others(const Tick& tick) {
    const double before_s = steady_clock().now_s();
    wait_for_quiet(first(), options_.quiet_wait_s, tick, [this](const std::string& line) { display_.say(line); });
    waited_s_ = steady_clock().now_s() - before_s;
  }

  std::vector<TuningDevice> tuning_devices() const {
    std::vector<TuningDevice> devices;
    for (const size_t i : working()) {
      const Environment& one = environments_[i];
      devices.push_back({*one.executor, *journals_[i], one.kernels.get(), one.cores});
    }
    return devices;
  }

  /// Runs the tuner; publishes the decisions made before an error.
  void tune() {
    Observers observers({&tracker_, &display_, &publisher_});
    try {
      if (how_.protocol.require == Requirement::batch_invariant)
        tune_weights(observers);
      else
        results_ = Tuner(tuning_devices(), how_).run(inputs_.items, observers, interrupt_flag());
    } catch (const Error&) {
      display_.flush();
      publisher_.flush();
      throw;
    }
  }

  /// Tunes all rows, then gives all rows of a weight one config; only then are their results known.
  void tune_weights(TuneObserver& observer) {
    ProgressObserver progress(observer);
    results_ = Tuner(tuning_devices(), how_).run(inputs_.items, progress, interrupt_flag());
    TunerOptions rest = how_;
    if (rest.budget_s > 0) rest.budget_s = std::max(0.001, end_s_ + waited_s_ - steady_clock().now_s());
    WeightConfigs weights(tuning_devices(), rest, inputs_.items, observer);
    weights.settle(results_, interrupt_flag());
    for (const TuneResult& result : results_) observer.finished(result);
    for (const std::string& notice : weights.notices()) display_.note(notice);
  }

  void publish() {
    publisher_.flush();
    display_.note_replaced(publisher_.replaced());
    display_.note_cut_shapes();
    for (const auto& notice : publisher_.notices()) display_.note(notice);
    if (options_.profile_file.empty() && options_.keep_dir.empty()) return;
    std::vector<Problem> problems;
    for (const WorkItem& item : inputs_.items) problems.push_back(item.problem);
    const MeasuredProblems measured{*inputs_.family, std::move(problems), device(), how_.protocol};
    if (!options_.profile_file.empty()) write_profile(options_.profile_file, *journals_.front(), measured);
    if (options_.keep_dir.empty()) return;
    make_private_folder(options_.keep_dir);
    write_kept(options_.keep_dir, *journals_.front(), measured, registry());
  }

  /// The decisions as they are published, in the order of the input.
  std::vector<Decision> published() const {
    std::vector<Decision> all;
    for (const TuneResult& result : results_) {
      if (!result.decision) continue;
      const auto& replaced = publisher_.replaced();
      const auto other = std::find_if(replaced.begin(), replaced.end(),
                                      [&](const Decision& one) { return one.problem == result.problem; });
      all.push_back(other == replaced.end() ? *result.decision : *other);
    }
    return all;
  }

  std::vector<Recovery> recoveries() const {
    std::vector<Recovery> all;
    for (const Environment& one : environments_) {
      if (one.worker == nullptr) continue;
      all.insert(all.end(), one.worker->recoveries().begin(), one.worker->recoveries().end());
    }
    return all;
  }

  void report() const {
    print_notes(default_notices(published(), registry()));
    if (options_.json) {
      print_results_json(results_, inputs_, first(), recoveries(), display_.time(), publisher_.replaced(),
                         display_.lost());
      return;
    }
    if (options_.compare) print_comparison(published(), inputs_);
    print_summary(options_, inputs_, display_, journal_file_, workers());
  }

  WorkersOfRun workers() const {
    std::set<std::string> devices;
    for (const Environment& one : environments_) devices.insert(one.device().id);
    return {.num_devices = devices.size(), .num_workers = environments_.size()};
  }

  /// Verifies a winner once more and reports the result. False after an interrupt.
  bool is_winner_right(const Decision& decision) const {
    const InterleavedOptions once{
        .protocol = how_.protocol, .rounds = 0, .kernels = first_working().kernels.get(), .tick = is_interrupted};
    const auto checked = unless_interrupted([&] {
      return time_interleaved(*first_working().executor, decision.problem, {&decision.winner, 1}, once);
    });
    if (is_interrupted()) return false;
    const Outcome& outcome = checked.front().outcome;
    std::fprintf(stderr, "%s: winner checked again: %s%s%s, errRatio %.4f\n", short_shape(decision.problem).c_str(),
                 std::string(name(outcome.status)).c_str(), outcome.detail.empty() ? "" : ", ", outcome.detail.c_str(),
                 outcome.errors.mismatch_ratio);
    return outcome.ok();
  }

  /// Verifies the winners like the older tuner's --compare, and reports how many the budget leaves unchecked. False
  /// after an interrupt.
  bool winners_are_right() const {
    bool right = true;
    size_t num_left = 0;
    for (const TuneResult& result : results_) {
      if (is_interrupted()) return false;
      if (!result.decision) continue;
      const double needed_s = min_first_admission_s(result.problem, device());
      if (how_.budget_s > 0 && steady_clock().now_s() + needed_s > end_s_ + waited_s_)
        ++num_left;
      else
        right = is_winner_right(*result.decision) && right;
    }
    if (num_left > 0)
      print_line(stderr, fmt::format("note: the budget is spent, {} not checked again", counted(num_left, "winner")));
    return right;
  }

  int exit_status() const {
    if (is_interrupted()) return interrupt_status();
    // Only winners for YAML output or of a single size, which the older tuner checks.
    const bool check_again = options_.compare && (!inputs_.yaml.empty() || is_single_size(options_));
    if (check_again && !winners_are_right()) return is_interrupted() ? interrupt_status() : 1;
    return std::any_of(results_.begin(), results_.end(), is_decided) ? 0 : 1;
  }

  /// Records the end of the run. Throws, like every entry, if the journal has been removed or replaced.
  CampaignResult end(int status) {
    Versions versions;  // Versions of all solvers that took part.
    for (const TuneResult& result : results_) versions.insert(result.versions.begin(), result.versions.end());
    recorded_.end(is_interrupted() ? "interrupted" : "done", status, versions);
    return {status, std::move(results_)};
  }

  const TuneOptions& options_;
  TunerOptions how_;
  const std::vector<Environment>& environments_;
  const TuneInputs& inputs_;
  const std::filesystem::path journal_file_;
  const std::vector<std::unique_ptr<Journal>> journals_;  // One for each worker, on the same file.
  JournalRun recorded_;
  TunePublisher publisher_;
  ProgressTracker tracker_;
  TuneDisplay display_;
  double end_s_ = 0, waited_s_ = 0;  // End of the budget on the steady clock; time waited for a quiet machine.
  std::vector<TuneResult> results_;
};

/// The ids of the devices to tune on.
std::string devices_to_tune(const TuneOptions& options) {
  const DeviceChoice choice{.ids = options.devices.ids,
                            .threads = options.thread_limits.empty() ? 0 : options.thread_limits.front()};
  const std::string ids = ids_to_open(choice, isolation_option(options.isolation), architectures_of_shapes(options));
  const auto names = split(ids, ',');
  std::vector<std::string> each(names.begin(), names.end());
  const auto max_count = static_cast<size_t>(options.mp);
  if (max_count > each.size())
    print_line(stderr, fmt::format("note: --mp {}: {} {}, and no other", max_count,
                                   each.size() == 1 ? "there is" : "there are", ids));
  if (max_count > 0 && max_count < each.size()) each.resize(max_count);
  return join(each, ",");
}

}  // namespace

CampaignResult run_campaign(const TuneOptions& options) {
  TunerOptions how = tuner_options(options);
  // Folders and processes that need cleaning up are created below.
  const InterruptHandler handler;
  const auto environments = open_environments_to_tune(options);
  if (environments.empty()) {
    if (options.json) print_interrupted_json();
    return {interrupt_status(), {}};
  }
  Executor& executor = *environments.front().executor;
  set_constants(how, options, device_kind(executor.device().kind));
  const TuneInputs inputs = read_tune_inputs(options, executor);
  for (const WorkItem& item : inputs.items) check_rule_choice(how.rules, registry(), item.problem, executor.device());
  print_notices(inputs);
  std::vector<std::string> notices;
  how.bans = bans_of_user(notices);
  if (!how.bans->empty())
    notices.push_back(fmt::format("{} in force, what they name is not tried: attune quarantine list",
                                  counted(how.bans->all().size(), "ban")));
  print_notes(notices);
  if (inputs.items.empty() && inputs.skipped.empty()) {
    print_line(stderr, fmt::format("note: no shapes in {}, nothing is tuned or written", inputs.source));
    if (options.json) print_results_json({}, inputs, environments.front(), {}, {});
    return {0, {}};
  }
  return Campaign(options, std::move(how), environments, inputs).run();
}

int run_campaigns(TuneOptions options) {
  std::vector<int64_t>& limits = options.thread_limits;
  options.devices.ids = devices_to_tune(options);
  std::optional<CapturedLimits> captured;
  const bool on_host = units_are_cores(options.devices.ids);
  if (!on_host && !limits.empty()) {
    print_line(stderr,
               "note: --threads limits a host; other devices keep the units that they have: " + options.devices.ids);
    limits.clear();
  }
  if (on_host && limits.empty() && !options.input.empty()) {
    captured.emplace(options.input, options.op, thread_limit(options.devices));
    limits = captured->all();
    if (!limits.empty()) options.captured_limits = &*captured;
  }
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  if (limits.empty()) limits = {options.devices.threads};
  if (limits.size() > 1 && (options.json || !options.profile_file.empty() || !options.keep_dir.empty() ||
                            !options.results_file.empty() || !options.size_file.empty()))
    fail(ErrorCode::invalid_input,
         "--json, --profile_file, --keep and YAML files hold the results of one run, run once for each number of "
         "threads");
  for (const int64_t limit : limits) static_cast<void>(thread_limit({.ids = {}, .threads = limit}));
  const double budget_s = tuner_options(options).budget_s, start_s = steady_clock().now_s();
  int status = 0;
  for (size_t i = 0; i < limits.size(); ++i) {
    options.devices.threads = limits[i];
    if (limits.size() > 1) print_line(stderr, fmt::format("-- {}", counted(static_cast<size_t>(limits[i]), "thread")));
    if (budget_s > 0) {
      const double left_s = budget_s - (steady_clock().now_s() - start_s);
      options.budget = fmt::format("{:.3f}s", std::max(left_s, 0.001) / static_cast<double>(limits.size() - i));
    }
    // Without a worker, measuring leaves this thread on one core, which would limit the next run.
    const CoreBinding as_now(allowed_cores());
    const int ended = run_campaign(options).status;
    if (status == 0) status = ended;
    if (is_interrupted()) break;
  }
  return status;
}

}  // namespace attune
