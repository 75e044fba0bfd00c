// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tuner/problem/candidate_search.h"

namespace attune {

/// Runs the search of one problem on a thread of its own, so that a device need not wait while the search computes. The
/// calls are done in order, so no answer depends on how fast the search is. Used by one thread. Until wait() returns,
/// the caller uses no member of the search that begin(), ask() and tell() change.
class SearchThread {
 public:
  /// `search` outlives this. Without the flag there is no thread: each call computes before it returns.
  SearchThread(CandidateSearch& search, bool beside) : search_(search), beside_(beside) {}
  /// Waits for the call that is being computed and drops the later ones.
  ~SearchThread();
  SearchThread(const SearchThread&) = delete;
  SearchThread& operator=(const SearchThread&) = delete;

  /// CandidateSearch::begin().
  void begin(PriorKnowledge known);
  /// Asks for further candidates until `num_in_all` have been named since the beginning. If the search has none for
  /// now, a later call makes up for it.
  void ask(size_t num_in_all);
  /// CandidateSearch::tell().
  void tell(const Candidate& candidate, const Trial& trial);
  /// Returns the candidates named since the last call, in the order of asking. Like the calls above, throws errors of
  /// the search.
  std::vector<Candidate> take();
  /// Waits until all calls are done. Throws errors of the search.
  void wait();

 private:
  void add(std::function<void()> call);
  void run();
  void throw_error() ATTUNE_REQUIRES(mutex_);

  CandidateSearch& search_;
  const bool beside_;
  size_t num_asked_ = 0;  ///< Used only by the queued calls.
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> calls_ ATTUNE_GUARDED_BY(mutex_);  ///< The first is being computed.
  std::vector<Candidate> found_ ATTUNE_GUARDED_BY(mutex_);
  std::exception_ptr error_ ATTUNE_GUARDED_BY(mutex_);
  bool is_ending_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  ///< Runs from the first call on; none if not `beside_`.
};

}  // namespace attune
