// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "campaign/devices/open_devices.h"
#include "campaign/live_line.h"
#include "campaign/run_progress.h"
#include "campaign/tune_inputs.h"
#include "campaign/tune_options.h"
#include "report/time_report.h"
#include "tuner/tuner.h"
#include "worker/recoveries.h"

namespace attune {

/// Displays a running `tune`: its progress, then a line for each shape, in input order.
class TuneDisplay final : public TuneObserver {
 public:
  /// `device_flags`: Environment::flags. `progress` is kept up to date by an observer that is notified before this one.
  /// All must outlive this.
  TuneDisplay(const TuneOptions& options, const TuneInputs& inputs, const std::string& device_flags,
              const RunProgress& progress);
  void progress(const Problem&, Phase, size_t) override { display_.update(); }
  void tick() override { display_.update(); }
  void compiling(const Problem&, size_t) override { display_.update(); }
  void note(const std::string& text) { say("note: " + text); }
  /// Prints a line on standard error. May be called while another thread calls the functions of TuneObserver.
  void say(const std::string& line) { display_.print_line(line, false); }

  void finished(const TuneResult& result) override;
  void device_ended(const TimeUse& time) override { time_ += time; }
  void device_lost(const DeviceInfo& device, const std::string& why) override;
  void worker_lost(const DeviceInfo& device, const std::string& why) override;
  /// Ids of the devices that were lost, and why.
  const std::map<std::string, std::string>& lost() const noexcept { return lost_; }
  /// Decisions as they are published.
  const std::vector<Decision>& decisions() const noexcept { return decisions_; }
  /// Time of all ended devices, by activity.
  const TimeUse& time() const noexcept { return time_; }
  size_t num_kept() const noexcept { return num_kept_; }
  size_t num_reused() const noexcept { return num_reused_; }
  /// Replaces the shapes' decisions by those published with the layout of their weight group, and prints both.
  void note_replaced(const std::vector<Decision>& published);
  /// Prints one line per reason for the undecided shapes, on standard error, and removes the live line.
  void note_cut_shapes();
  /// Prints results that still wait for an earlier shape; finished() prints them once that shape ends.
  void flush();

 private:
  void print_details(const TuneResult& result);
  void note_refused_kernel(const TuneResult& result);
  void print_in_order(const Problem& problem, std::string line);
  void print_first();

  const TuneOptions& options_;
  const std::string& device_flags_;
  LiveLine display_;
  std::multimap<std::string, size_t> places_;  // Input positions of unfinished shapes.
  std::map<size_t, std::string> waiting_;      // Lines that wait for earlier shapes, by position.
  size_t next_place_ = 0;
  bool header_printed_ = false, is_refusal_told_ = false;
  std::vector<Decision> decisions_;
  TimeUse time_;
  std::map<std::string, std::string> lost_;
  std::map<std::string, size_t> cut_;  // Reason → number of shapes.
  size_t num_kept_ = 0, num_reused_ = 0;
};

/// Implements `--json`: prints the whole run as one document, `ending` first (`done`, `interrupted`). `environment`:
/// the first of the run. `recoveries`: from each death of a worker. `time`: TuneDisplay::time(). `replaced`:
/// TunePublisher::replaced(). `lost`: TuneDisplay::lost().
void print_results_json(const std::vector<TuneResult>& results, const TuneInputs& inputs,
                        const Environment& environment, const std::vector<Recovery>& recoveries, const TimeUse& time,
                        const std::vector<Decision>& replaced = {},
                        const std::map<std::string, std::string>& lost = {});
/// Prints the document of a run that was interrupted before its inputs were known.
void print_interrupted_json();
/// Implements `--compare`: prints the previous row (or the baseline, if there was none) and the new row, from the same
/// finals. `decisions`: as they are published.
void print_comparison(const std::vector<Decision>& decisions, const TuneInputs& inputs);
/// Prints the last lines: shapes that were decided before, an explanation of the table's words, the time of the devices
/// by activity, and the summary with the output files.
void print_summary(const TuneOptions& options, const TuneInputs& inputs, const TuneDisplay& display,
                   const std::filesystem::path& journal, const WorkersOfRun& workers);

}  // namespace attune
