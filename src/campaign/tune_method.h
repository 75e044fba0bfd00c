// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/tune_options.h"
#include "device/device_kind.h"
#include "tuner/tuner.h"

namespace attune {

/// Converts a flag's duration (parse_duration_s()) to seconds. Throws invalid_input for another text.
double duration_option(std::string_view text, std::string_view flag, bool may_be_zero = true);

/// The search that run_classic() makes.
inline constexpr std::string_view kClassicSearch = "classic";
/// Names that --search accepts: `race`, the strategies that a user may name, and kClassicSearch.
std::vector<std::string> search_names();

/// Converts the command line to tuner options. For an invalid value, throws invalid_input with the valid ones.
TunerOptions tuner_options(const TuneOptions& options);
/// Sets the constants of a kind of device, and its deadlines unless the command line states them.
void set_constants(TunerOptions& tuner, const TuneOptions& options, const DeviceKind& kind);

/// A check of existing rows, which `attune tune` makes instead of tuning.
struct RowCheckRequest {
  std::string file;  ///< Tuned table or YAML results.
  bool verify_only = false;
  std::string benchmark;  ///< File of the times, `-`: standard output; empty: the results are printed as by `check`.
  DeviceChoice devices;
};
/// Returns the check that `--run_config` and `--benchmark` (rows are verified and timed) or `--compare_wo_tuning`
/// (verified) ask for; nullopt without these flags. The file is the flag's own, else `--gemm_size_file` (for
/// `--compare_wo_tuning` only), else the output, else the input. Throws invalid_input when there is no file, or for
/// several numbers of threads.
std::optional<RowCheckRequest> row_check_request(const TuneOptions& options);

}  // namespace attune
