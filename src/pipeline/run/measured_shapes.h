// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>

#include "base/descriptor.h"

namespace attune {

/// The shapes that a pipeline's run has measured, in a file with a line of JSON for each (docs/ci_reference.md). If the
/// run is killed during a step, the next call measures only the missing shapes. A line is on disk when add() returns.
/// If a shape gets a second line, with its next attempt, the later one counts.
class MeasuredShapes {
 public:
  /// Reads the file, if there is one; the rest of a line at which a call was killed is cut off. Throws invalid_input
  /// for a line that is no such JSON, io if the file cannot be made.
  explicit MeasuredShapes(std::filesystem::path file);

  /// The newest line of a shape, as it was added; null: none.
  nlohmann::ordered_json find(std::string_view step, std::string_view family, const std::string& problem) const;
  /// `shape`: an object with the key of its `problem`. A line that cannot be written is lost, and why_unwritten() has
  /// the reason; the measurement counts nevertheless.
  void add(std::string_view step, std::string_view family, const nlohmann::ordered_json& shape);
  /// A sentence about the first line that could not be written; empty: all were.
  const std::string& why_unwritten() const noexcept { return why_unwritten_; }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // Step, family, problem.
  void read_line(std::string_view line);

  std::filesystem::path file_;
  Descriptor output_;
  std::map<Key, nlohmann::ordered_json> shapes_;
  std::string why_unwritten_;
};

}  // namespace attune
