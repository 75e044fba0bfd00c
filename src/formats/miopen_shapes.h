// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attune/problem.h"

/// What the files of MIOpen and its tuner say of problems of `conv`.
namespace attune {

/// A problem and the place of its key.
struct MiopenShape {
  Problem problem;  ///< Not normalised; equal problems have equal keys.
  size_t line = 0;  ///< Of a text; of a database the config's id.
};

/// A solver's result for a shape, in the words of its file. Another program measured it: it is kept for people and
/// never decides anything.
struct MiopenResult {
  size_t shape = 0;  ///< Index in MiopenShapes::shapes.
  std::string solver, algorithm;
  std::string time_ms;  ///< Positive and finite; empty: the file states none.
  std::string workspace_bytes;
  std::string params;
};

struct MiopenShapes {
  std::vector<MiopenShape> shapes;    ///< Each once, in the order of the file.
  std::vector<MiopenResult> results;  ///< If they were asked for: one for each shape and solver, the first of the file.
  std::vector<std::string> notices;   ///< About skipped keys and results.
  size_t num_keys = 0;                ///< Of the file, repeated ones included.
  size_t num_untunable = 0;           ///< Keys that name no problem.
};

/// Gathers the shapes of one file.
class MiopenShapesBuilder {
 public:
  /// `noun`: of the file, for messages: `find-db`. `is_checked`: `attune check` reads such files.
  MiopenShapesBuilder(const std::filesystem::path& file, std::string_view noun, bool is_checked = true)
      : file_(file.string()), noun_(noun), is_checked_(is_checked) {}

  /// Adds a key's problem, or finds it; returns its index.
  size_t add(Problem problem, size_t line);
  /// Counts a key that names no problem.
  void leave_out(size_t line, std::string why);
  void add_result(MiopenResult result);
  /// Counts a result without a usable time.
  void leave_out_result(size_t line);
  /// Throws invalid_input if no key names a problem.
  MiopenShapes take();

 private:
  const std::string file_, noun_;
  const bool is_checked_;
  MiopenShapes found_;
  std::unordered_map<std::string, size_t> places_;  ///< Of shapes, by key.
  std::unordered_set<std::string> result_keys_;     ///< `index solver`
  size_t first_line_ = 0, num_untimed_ = 0, first_untimed_ = 0;
  std::string first_reason_;
};

}  // namespace attune
