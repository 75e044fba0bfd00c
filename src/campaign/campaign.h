// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "campaign/tune_options.h"
#include "tuner/tuner.h"

namespace attune {

struct CampaignResult {
  /// Exit status: 0; 1 if no shape could be tuned or a winner that was checked again is wrong; 128 + the signal's
  /// number after SIGINT or SIGTERM.
  int status = 0;
  std::vector<TuneResult> shapes;  ///< How each shape ended, in input order.
};

/// One run: reads the shapes and the existing tables, opens devices and journal, tunes, publishes and reports progress
/// and results on the standard streams. Installs handlers for SIGINT and SIGTERM while it runs: the first signal ends
/// the run in order, the second ends the process. Requires: one run at a time in a process. Throws invalid_input before
/// anything is written; io, device, database and internal later, after the rows decided so far are published.
CampaignResult run_campaign(const TuneOptions& options);

}  // namespace attune
