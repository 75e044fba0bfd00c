// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

#include "campaign/tune_inputs.h"
#include "store/journal.h"

namespace attune {

/// `-o2`: every record of the run's candidates as CSV, from the journal: the columns of the family's tuned table, then
/// stage, status, spread, samples and detail. Cells of times are empty where there is none. Rewritten whole. Throws io.
void write_profile(const std::filesystem::path& file, const Journal& journal, const TuneInputs& inputs,
                   const DeviceInfo& device, const Protocol& protocol);

/// What `--keep` calls that file.
inline constexpr const char* kKeptCandidates = "candidates.csv";

/// check_output() for both of these: throws invalid_input for a file that is there and holds anything else.
void check_evidence_output(const std::filesystem::path& file);

/// The records a query finds, of any family, for `attune journal export`; and how many entries are damaged.
std::pair<std::string, size_t> records_csv(const Journal& journal, const Query& query);

}  // namespace attune
