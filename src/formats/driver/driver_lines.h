// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "formats/driver/driver_options.h"

/// Command lines of MIOpenDriver, as files of networks hold them and as MIOpen logs them (docs/formats/driver.md):
/// `[prefix:] [path/]MIOpenDriver conv -n 4 -c 64 -H 56 …`. Each convolution becomes a problem of `conv` for each
/// direction that it names.
namespace attune {

/// A problem and the line that named it first.
struct DriverProblem {
  Problem problem;  ///< Not normalised; equal problems have equal keys.
  size_t line = 0;
};

/// Lines that are no convolutions, of one operator or one defect.
struct DriverSkip {
  std::string name;    ///< `bnorm`; empty: a bad line.
  std::string reason;  ///< Of a bad line: `unknown flag '-Q'`.
  std::vector<size_t> lines;
};

/// num_lines = num_blank + num_convolutions + the lines of `skipped`.
struct DriverFile {
  std::vector<DriverProblem> problems;  ///< Each once, in the order of the file.
  std::vector<DriverSkip> skipped;      ///< In the order of their first lines.
  size_t num_lines = 0, num_blank = 0, num_convolutions = 0;
  /// One sentence for each of `skipped`, with file and lines.
  std::vector<std::string> notices;
};

/// Whether a file holds such lines: its first line that is not blank has MIOpenDriver in it. False for a file that
/// cannot be read.
bool is_driver_file(const std::filesystem::path& path);
/// Throws invalid_input `lines.txt:17: …` for a file above 256 MiB, a line above 64 KiB, a NUL byte, a file without any
/// convolution, and with `strict` for the first line of another kind.
DriverFile read_driver_lines(const std::filesystem::path& path, const DriverOptions& options = {});
/// The same for text in memory; `name` is used in messages.
DriverFile parse_driver_lines(std::string_view content, const std::string& name, const DriverOptions& options = {});

/// Batch sizes as typed: `1,2,4`. Throws invalid_input.
std::vector<int64_t> parse_batches(std::string_view text);
/// Checks the operator of `-c`: conv, convfp16, convbfp16, convint8 or convfp8. Throws invalid_input.
void check_driver_command(std::string_view command);

}  // namespace attune
