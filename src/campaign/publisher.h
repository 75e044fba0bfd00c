// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "campaign/tune_inputs.h"
#include "campaign/tune_options.h"
#include "core/record.h"

namespace attune {

/// Turns decisions into rows of the table and entries of the YAML file, in batches. Rows with packed weights wait for
/// the end of the run, because the rows of a weight group share one layout.
class TunePublisher {
 public:
  TunePublisher(const TuneOptions& options, const TuneInputs& inputs, const DeviceInfo& device);
  /// Adds a decision; publishes when a batch is full. `is_new` false: an earlier run published the row, and it stays
  /// unchanged unless new rows cause a new choice of its weight group's layout.
  void add(const Decision& decision, bool is_new);
  /// Publishes the remaining decisions, weight groups included. Throws io; the decisions stay in the journal.
  void flush();
  const std::vector<std::string>& notices() const noexcept { return notices_; }

 private:
  size_t position(const Problem& problem) const;
  void publish_pending();
  void choose_layouts();

  const TuneOptions& options_;
  const TuneInputs& inputs_;
  const DeviceInfo& device_;
  std::vector<Decision> pending_;
  struct GroupDecision {
    Decision decision;
    bool is_new;
  };
  std::vector<GroupDecision> packed_;  ///< bpreshuffle=1.
  std::vector<std::string> notices_;
};

}  // namespace attune
