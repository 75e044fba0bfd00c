// SPDX-License-Identifier: MIT
#pragma once

namespace attune {

/// The threads with which one call may compute where OpenMP's team must have as many as the call asks for. oneDNN
/// computes only part of the result with fewer, BLIS aborts. OpenMP grants fewer under a thread limit, with dynamic
/// teams and in another parallel region, and libgomp ends the process when the system refuses a thread. For the life of
/// the object the calling thread's dynamic teams are off. A module that uses it compiles openmp_team.cpp and links
/// OpenMP. The first object of a calling thread for a larger team starts that team, about 50 µs a thread; others take
/// about 10 ns.
class OpenmpTeam {
 public:
  explicit OpenmpTeam(int wanted) noexcept;
  ~OpenmpTeam();
  OpenmpTeam(const OpenmpTeam&) = delete;
  OpenmpTeam& operator=(const OpenmpTeam&) = delete;

  /// The wanted number if a parallel region has all of them, else 1: the call then starts no parallel region.
  int size() const noexcept { return size_; }

 private:
  int size_ = 1;
  bool was_dynamic_ = false;
};

}  // namespace attune
