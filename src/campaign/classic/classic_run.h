// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_options.h"

namespace attune {

/// Implements `attune tune --search classic`: tunes each shape by tune_classic() and prints its winner. Writes no table
/// and no journal, because neither can say that a winner was found so; the YAML file gets the winners that are right.
/// Has an InterruptHandler. Returns the exit status: 0; 1 if a shape has no winner or a wrong one; 128 + the signal's
/// number after an interrupt. Throws invalid_input before anything is measured, and like run_campaign() later.
int run_classic(const TuneOptions& options);

}  // namespace attune
