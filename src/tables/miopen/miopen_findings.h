// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "tables/miopen/miopen_file.h"

namespace attune {

/// One thing that `attune check` says of a file of MIOpen.
struct MiopenFinding {
  enum class Kind : uint8_t {
    defect,          ///< MIOpen reads wrong values, or drops the entry.
    unusable_time,   ///< The time is not positive and finite.
    repeated_key,    ///< MIOpen reads one of the lines.
    orphan,          ///< A row of a perf-db without its config.
    unknown_solver,  ///< Neither MIOpen nor this program has it: its entries are ignored.
    no_candidate,    ///< The solver, which is of this program, has no such parameters on this device.
    other_device,    ///< A key or kernel of another device than the file's name states.
    untunable,       ///< A key that names no problem of `conv`; not an error.
    unused           ///< A config without a row; not an error.
  };
  Kind kind = Kind::defect;
  int64_t line = 0;  ///< Of a text; of a database the row's id.
  std::string key, what;
  bool is_error() const noexcept { return kind < Kind::untunable; }
};
std::string_view name(MiopenFinding::Kind kind) noexcept;

/// Why a solver of this program has no candidate with these parameters for a problem; nothing: it has, or this device
/// cannot tell.
using CandidateCheck = std::function<std::optional<std::string>(const Problem& problem, const std::string& solver,
                                                                const std::string& params)>;

struct MiopenFindings {
  MiopenFile file = MiopenFile::none;
  size_t num_keys = 0, num_entries = 0;
  std::vector<MiopenFinding> findings;  ///< By kind, then in the order of the file.
};

/// Reads a file whose kind is known. `check`: see CandidateCheck; null: parameters are not looked at. Throws
/// invalid_input for what cannot be read at all.
MiopenFindings miopen_findings(const std::filesystem::path& path, MiopenFile file, const CandidateCheck& check = {});
/// Whether a perf-db has rows of solvers of this program; false for other files. Throws like miopen_findings().
bool names_own_solver(const std::filesystem::path& path, MiopenFile file);

}  // namespace attune
