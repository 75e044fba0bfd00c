// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "cli/tune_inputs.h"
#include "cli/tune_options.h"
#include "core/record.h"

namespace attune {

/// Turns decisions into rows of the table and entries of the YAML file, a batch at a time.
class TunePublisher {
 public:
  TunePublisher(const TuneOptions& options, const TuneInputs& inputs, const DeviceInfo& device);
  /// Takes a decision; publishes when a batch is full.
  void add(const Decision& decision);
  /// Publishes what is left. Throws io; the decisions stay in the journal.
  void flush();
  const std::vector<std::string>& notices() const noexcept { return notices_; }

 private:
  size_t position(const Problem& problem) const;

  const TuneOptions& options_;
  const TuneInputs& inputs_;
  const DeviceInfo& device_;
  std::vector<Decision> pending_;
  std::vector<std::string> notices_;
};

}  // namespace attune
