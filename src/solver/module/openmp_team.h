// SPDX-License-Identifier: MIT
#pragma once

namespace attune {

/// Sets the calling thread's number of threads in OpenMP for the life of the object; the application's own is restored.
class OpenmpThreads {
 public:
  explicit OpenmpThreads(int threads) noexcept;
  ~OpenmpThreads();
  OpenmpThreads(const OpenmpThreads&) = delete;
  OpenmpThreads& operator=(const OpenmpThreads&) = delete;

 private:
  int before_;
  bool is_changed_;
};

/// The threads with which one call may compute where OpenMP's team must have as many as the call asks for. oneDNN
/// computes only part of the result with fewer, BLIS aborts. OpenMP grants fewer under a thread limit, with dynamic
/// teams and in another parallel region, and libgomp ends the process when the system refuses a thread. For the life of
/// the object the calling thread's dynamic teams are off and its number of threads is size(). A module that uses it
/// compiles openmp_team.cpp and links OpenMP. An object that makes the calling thread's team larger asks the system
/// first, about 20 µs for each new thread; others take about 20 ns.
class OpenmpTeam {
 public:
  explicit OpenmpTeam(int wanted) noexcept;
  ~OpenmpTeam();
  OpenmpTeam(const OpenmpTeam&) = delete;
  OpenmpTeam& operator=(const OpenmpTeam&) = delete;

  /// The wanted number if a parallel region has all of them, else 1.
  int size() const noexcept { return size_; }

 private:
  bool was_dynamic_ = false;
  int size_;
  OpenmpThreads threads_;
};

}  // namespace attune
