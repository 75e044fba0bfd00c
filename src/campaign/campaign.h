// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "campaign/tune_options.h"
#include "tuner/tuner.h"

namespace attune {

struct CampaignResult {
  /// Exit status: 0; 1 if no shape could be tuned or a winner that was checked again is wrong; 128 + the signal's
  /// number after one that InterruptHandler handles.
  int status = 0;
  std::vector<TuneResult> shapes;  ///< How each shape ended, in input order.
};

/// One run: reads the shapes and the existing tables, opens devices and journal, tunes, publishes and reports progress
/// and results on the standard streams. Has an InterruptHandler: the first signal ends the run in order. Requires: one
/// run at a time in a process. Throws invalid_input before anything is written. Throws io, device, database and
/// internal later, after the rows decided so far are published.
CampaignResult run_campaign(const TuneOptions& options);

/// Calls run_campaign() for each of the thread limits, in ascending order; a limit gets an equal share of the remaining
/// budget. Returns the status of the first run that failed, else 0. Throws invalid_input, before anything runs, for a
/// limit that this process cannot have and for outputs that hold one run only.
int run_campaigns(TuneOptions options);

}  // namespace attune
