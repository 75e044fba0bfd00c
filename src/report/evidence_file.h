// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/record.h"
#include "ops/family.h"
#include "store/journal.h"

namespace attune {

class Registry;

/// Problems of one family on one device, measured under one protocol.
struct MeasuredProblems {
  const FamilySpec& family;
  std::vector<Problem> problems;  ///< Normalised, in the order of the file.
  const DeviceInfo& device;
  const Protocol& protocol;
};
/// Implements `-o2`: writes all records of the problems from the journal as CSV. The columns are the family's tuned
/// table's, then stage, status, spread, samples, detail and the number of the run that wrote the record. Records that
/// were reused from earlier runs are included. Cells without a time are empty. Replaces the whole file. Throws io.
void write_profile(const std::filesystem::path& file, const Journal& journal, const MeasuredProblems& measured);

/// Implements `--keep`: writes into a folder the CSV of write_profile() (kKeptCandidates) and the scripts of solvers
/// that have one (StaticSpace::script()), each with the configs of their present versions that were right, by the
/// fastest time in the journal. A script replaces one of an earlier run; a file of another origin stays, and the script
/// gets another name. Reads the journal once. Throws io.
void write_kept(const std::filesystem::path& folder, const Journal& journal, const MeasuredProblems& measured,
                const Registry& solvers);

/// Name of that file with `--keep`.
inline constexpr const char* kKeptCandidates = "candidates.csv";

/// Like check_output(), for both of these files; also throws invalid_input for an existing file with other contents.
void check_evidence_output(const std::filesystem::path& file);

/// Returns the records that match a query, of any family, for `attune journal export`, and the number of damaged
/// entries.
std::pair<std::string, size_t> records_csv(const Journal& journal, const Query& query);

}  // namespace attune
