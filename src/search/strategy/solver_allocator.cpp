// SPDX-License-Identifier: MIT
#include "search/strategy/solver_allocator.h"

#include <algorithm>
#include <limits>

namespace attune {
namespace {

/// Results with times before which nobody is behind. In ten searches on an H200 the best of 96 was at most 10 % faster
/// than the best of the first 24 (docs/adr/0029).
constexpr size_t kEnough = 24;
constexpr double kBehind = 1.15;
/// Turns of which one that is behind takes part in one.
constexpr uint64_t kTurns = 8;

double best_of(const SolverState& solver) {
  return solver.trials.best_us().value_or(std::numeric_limits<double>::infinity());
}

class Leaders final : public SolverAllocator {
 public:
  size_t next(std::span<const SolverState> solvers) override {
    double best_us = std::numeric_limits<double>::infinity();
    for (const SolverState& solver : solvers) best_us = std::min(best_us, best_of(solver));
    // Nobody may be left but solvers that are behind.
    for (size_t passed = 0; passed < kTurns * solvers.size(); ++passed, advance(solvers.size())) {
      const SolverState& solver = solvers[next_];
      if (solver.idle || (turn_ % kTurns != 0 && is_behind(solver, best_us))) continue;
      const size_t chosen = next_;
      advance(solvers.size());
      return chosen;
    }
    return next_;
  }

 private:
  static bool is_behind(const SolverState& solver, double best_us) {
    return best_of(solver) > kBehind * best_us && solver.trials.num_timed() >= kEnough;
  }
  void advance(size_t num_solvers) {
    next_ = (next_ + 1) % num_solvers;
    if (next_ == 0) ++turn_;
  }

  size_t next_ = 0;
  uint64_t turn_ = 0;
};

}  // namespace

std::unique_ptr<SolverAllocator> favour_leaders() { return std::make_unique<Leaders>(); }

}  // namespace attune
