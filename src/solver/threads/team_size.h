// SPDX-License-Identifier: MIT
#pragma once
#include <pthread.h>

#include <optional>

namespace attune {

/// The size of the calling thread's OpenMP team after the last call of any module. libgomp has one team for each
/// calling thread, ends threads of it when the next one is smaller, and starts them again for a larger one. The numbers
/// are kept under one key of the process, which each module learns when it is registered.
class TeamSizes {
 public:
  /// A new key; without one, when the process has too many, every team counts as new.
  static TeamSizes make() noexcept;
  /// 1 at first.
  int here() const noexcept;
  void set_here(int size) const noexcept;

 private:
  std::optional<pthread_key_t> key_;
};

/// Those of this module.
const TeamSizes& team_sizes() noexcept;
void share_team_sizes(const TeamSizes& of_process) noexcept;

}  // namespace attune
