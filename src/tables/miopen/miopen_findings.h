// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tables/miopen/miopen_file.h"

namespace attune {

/// One thing that `attune check` says of a file of MIOpen.
struct MiopenFinding {
  enum class Kind : uint8_t {
    defect,        ///< MIOpen reads wrong values, or drops the entry.
    repeated_key,  ///< MIOpen reads one of the lines.
    orphan,        ///< A row of a perf-db without its config.
    untunable,     ///< A key that names no problem of `conv`; not an error.
    unused         ///< A config without a row; not an error.
  };
  Kind kind = Kind::defect;
  int64_t line = 0;  ///< Of a text; of a database the row's id.
  std::string key, what;
  bool is_error() const noexcept { return kind != Kind::untunable && kind != Kind::unused; }
};
std::string_view name(MiopenFinding::Kind kind) noexcept;

struct MiopenFindings {
  MiopenFile file = MiopenFile::none;
  size_t num_keys = 0, num_entries = 0;
  std::vector<MiopenFinding> findings;  ///< By kind, then in the order of the file.
};

/// Reads a file whose kind is known. Throws invalid_input for what cannot be read at all.
MiopenFindings miopen_findings(const std::filesystem::path& path, MiopenFile file);

}  // namespace attune
