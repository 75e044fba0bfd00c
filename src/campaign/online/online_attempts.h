// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attune/problem.h"

namespace attune {

/// Shapes that `attune online` started without finishing, with the number of attempts, shapes that it has given up, and
/// shapes that wait because the device had too little memory. They are stored in a file `attempts.csv` (problem,
/// attune, begun, given_up, waits, retry_at: seconds since 1970), replaced with every change. Rows of another version
/// of Attune are ignored, because that version may succeed. Only the process that has the turn changes this.
class OnlineAttempts {
 public:
  static constexpr int64_t kMaxStarts = 5;
  /// Time before a shape that lacked memory is tried again; doubled each time up to the maximum.
  static constexpr int64_t kFirstWaitS = 240, kMaxWaitS = 4 * 3600;

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
  /// Has a shape wait for memory from now on, and returns for how many seconds. `now_s`: since 1970.
  int64_t postpone(const Problem& problem, int64_t now_s);
  /// Whether a shape still waits for memory. A machine's clock that was set back does not prolong the wait.
  bool is_waiting(const Problem& problem, int64_t now_s) const;
  /// Forgets all shapes; returns the given-up ones.
  std::vector<Problem> forget_all();
  /// Throws io.
  void save() const;

 private:
  struct Attempt {
    int64_t num_starts = 0;
    std::string given_up;
    int64_t num_waits = 0, retry_at_s = 0;
  };
  static int64_t wait_s(int64_t num_waits) noexcept;

  std::filesystem::path file_;
  std::map<std::string, Attempt> attempts_;  ///< By key.
};

}  // namespace attune
