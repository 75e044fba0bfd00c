// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attune {

/// Kinds of defects of tables, in the order in which they are listed.
enum class FindingKind : uint8_t {
  unreadable,
  missing_column,
  duplicate_key,
  unusable_time,
  absurd_time,
  below_roofline,
  wrong_tflops,
  wrong_bandwidth,
  too_many_errors,
  unknown_kernel,
  unreachable,
  slower_than_padded
};
inline constexpr size_t kNumFindingKinds = 12;
/// Returns the kind as a word of JSON, such as `duplicate_key`.
std::string_view name(FindingKind kind) noexcept;
/// Returns the kind for people, such as `duplicate key`.
std::string_view title(FindingKind kind) noexcept;

/// A defect of a table.
struct TableFinding {
  FindingKind kind = FindingKind::unreadable;
  std::string file;
  size_t line = 1;      ///< Counted from 1; 1 where the whole file is meant.
  std::string problem;  ///< Key of the row's problem; empty where the row or the file has none.
  std::string detail;   ///< A clause.

  std::string place() const;  ///< `t.csv:17`
};

/// Numbers of findings by kind.
using FindingCounts = std::array<size_t, kNumFindingKinds>;
FindingCounts count_findings(std::span<const TableFinding> findings) noexcept;

}  // namespace attune
