// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/tune_inputs.h"
#include "campaign/tune_options.h"
#include "core/record.h"
#include "formats/tune_gemm/tune_gemm.h"
#include "tuner/tuner.h"

namespace attune {

/// Makes the entry of a YAML results file. `us`: 0 if the time is not known.
TuneGemmEntry results_entry(const Problem& problem, const Candidate& winner, double us, const DeviceInfo& device);

/// Turns decisions into rows of the table and entries of the YAML file, in batches. Rows with packed weights wait for
/// the end of the run, because the rows of a weight group share one layout.
class TunePublisher final : public TuneObserver {
 public:
  TunePublisher(const TuneOptions& options, const TuneInputs& inputs, const DeviceInfo& device);
  void progress(const Problem&, Phase, size_t) override {}
  /// Takes a decision; publishes when a batch is full. A decision from the journal was published by an earlier run. Its
  /// row stays unless the table has no such row, or new rows change the layout of its weight group. The YAML file gets
  /// the rows that stay, too. A notice counts those with another kernel than the decision's.
  void finished(const TuneResult& result) override;
  /// Publishes the remaining decisions, weight groups included. Throws io; the decisions stay in the journal.
  void flush();
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  /// Decisions that were published with another layout than finished() received, because of their weight group.
  const std::vector<Decision>& replaced() const noexcept { return replaced_; }

 private:
  void add(const Decision& decision, bool is_new);
  size_t position(const Problem& problem) const;
  void publish_pending();
  void publish_rows();
  void choose_layouts();

  const TuneOptions& options_;
  const TuneInputs& inputs_;
  const DeviceInfo& device_;
  /// Rows that the table had before the run, by problem key.
  std::map<std::string, std::optional<Incumbent>> rows_;
  std::vector<TuneGemmEntry> entries_of_rows_;  ///< Entries of such rows for the YAML file.
  std::vector<Decision> pending_;
  struct GroupDecision {
    Decision decision;
    bool is_new;
  };
  std::vector<GroupDecision> packed_;  ///< bpreshuffle=1.
  std::vector<Decision> replaced_;
  size_t num_other_rows_ = 0;  ///< Rows that stay and name another kernel than a decision of the journal.
  std::vector<std::string> notices_;
};

}  // namespace attune
