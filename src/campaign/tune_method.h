// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/tune_options.h"
#include "tuner/tuner.h"

namespace attune {

/// Converts the command line to tuner options. For an invalid value, throws invalid_input with the valid ones.
TunerOptions tuner_options(const TuneOptions& options);

}  // namespace attune
