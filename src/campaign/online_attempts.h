// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attune/problem.h"

namespace attune {

/// What `attune online` keeps of shapes that it does not come to an end with: which were begun and how often, and which
/// it has given up. A file `attempts.csv` (problem, attune, begun, given_up), replaced with every change. Rows of
/// another version of Attune are not looked at: it may be able to. For the process that has the turn.
class OnlineAttempts {
 public:
  static constexpr int64_t kMaxBegun = 5;

  /// A file that cannot be read is as good as none. Throws io.
  explicit OnlineAttempts(std::filesystem::path file);

  /// Why a shape is not tried any more; empty: it is.
  std::string given_up(const Problem& problem) const;
  /// It was begun before, and the process ended in the middle of it.
  bool is_suspect(const Problem& problem) const;
  void begin(const Problem& problem);   ///< One time more.
  void done(const Problem& problem);    ///< Nothing is kept of it.
  void undone(const Problem& problem);  ///< Its run ended in good order, without it: this time does not count.
  void give_up(const Problem& problem, const std::string& reason);
  /// Forgets all; returns those that it had given up.
  std::vector<Problem> forget_all();
  /// Throws io.
  void save() const;

 private:
  struct Attempt {
    int64_t begun = 0;
    std::string given_up;
  };
  std::filesystem::path file_;
  std::map<std::string, Attempt> attempts_;  ///< By key.
};

}  // namespace attune
