// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "campaign/progress_display.h"
#include "campaign/publisher.h"
#include "campaign/tune_inputs.h"
#include "campaign/tune_options.h"
#include "tuner/tuner.h"

namespace attune {

/// Shows a run while it goes on and hands its decisions to the publisher.
class TuneDisplay final : public TuneObserver {
 public:
  TuneDisplay(const TuneOptions& options, const TuneInputs& inputs, const DeviceInfo& device, TunePublisher& publisher,
              const std::filesystem::path& journal);
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    display_.update(problem, phase, num_alive);
  }
  void note(const std::string& text) { display_.print_line("note: " + text, false); }

  void finished(const TuneResult& result) override;
  const std::vector<Decision>& decisions() const noexcept { return decisions_; }
  size_t num_kept() const noexcept { return num_kept_; }
  size_t num_reused() const noexcept { return num_reused_; }
  /// One line a reason for the shapes that were not decided, on standard error.
  void note_cut_shapes();
  /// Prints the results that wait for one before them; finished() does when that one ends.
  void flush();

 private:
  void print_details(const TuneResult& result);
  void print_in_order(const Problem& problem, std::string line);
  void print_first();

  const TuneOptions& options_;
  const DeviceInfo& device_;
  TunePublisher& publisher_;
  ProgressDisplay display_;
  std::set<std::string> rows_;                 // Problems whose row is in a table already.
  std::multimap<std::string, size_t> places_;  // Of the shapes that have not ended, in the input.
  std::map<size_t, std::string> waiting_;      // By place: lines that wait for shapes before them.
  size_t next_place_ = 0;
  bool header_printed_ = false;
  std::vector<Decision> decisions_;
  std::map<std::string, size_t> cut_;  // Reason → shapes.
  size_t num_kept_ = 0, num_reused_ = 0;
};

/// `--json`: the whole run as one document.
/// `recoveries`: how long each death of a worker took to mend.
void print_results_json(const std::vector<TuneResult>& results, const TuneInputs& inputs, const DeviceInfo& device,
                        const std::vector<Milliseconds>& recoveries);
/// `--compare`: the row as it was (or the default, where there was none) and the row now, from the same finals.
void print_comparison(const std::vector<TuneResult>& results, const TuneInputs& inputs);
/// The last lines: geometric mean, and where everything lies.
void print_summary(const TuneOptions& options, const TuneInputs& inputs, const TuneDisplay& display,
                   const std::filesystem::path& journal);

}  // namespace attune
