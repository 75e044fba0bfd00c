// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attune/problem.h"

namespace attune {

/// Shapes that `attune online` started without finishing, with the number of attempts, and shapes that it has given up.
/// They are stored in a file `attempts.csv` (problem, attune, num_starts, given_up), replaced with every change. Rows
/// of another version of Attune are ignored, because that version may succeed. Only the process that has the turn uses
/// this.
class OnlineAttempts {
 public:
  static constexpr int64_t kMaxStarts = 5;

  /// An unreadable file counts as empty. Throws io.
  explicit OnlineAttempts(std::filesystem::path file);

  /// Returns why a shape was given up; empty: it may be tried.
  std::string given_up(const Problem& problem) const;
  /// Whether an earlier process ended while it was tuning the shape.
  bool is_suspect(const Problem& problem) const;
  void begin(const Problem& problem);   ///< Counts one more attempt.
  void done(const Problem& problem);    ///< Forgets the shape.
  void undone(const Problem& problem);  ///< Discounts an attempt whose run ended normally without the shape.
  void give_up(const Problem& problem, const std::string& reason);
  /// Forgets all shapes; returns the given-up ones.
  std::vector<Problem> forget_all();
  /// Throws io.
  void save() const;

 private:
  struct Attempt {
    int64_t num_starts = 0;
    std::string given_up;
  };
  std::filesystem::path file_;
  std::map<std::string, Attempt> attempts_;  ///< By key.
};

}  // namespace attune
