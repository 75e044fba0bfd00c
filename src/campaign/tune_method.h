// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_options.h"
#include "tuner/tuner.h"

namespace attune {

/// How to tune, from the command line. Throws invalid_input for what cannot be, with what can.
TunerOptions tuner_options(const TuneOptions& options);

}  // namespace attune
