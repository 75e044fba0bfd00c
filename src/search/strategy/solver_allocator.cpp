// SPDX-License-Identifier: MIT
#include "search/strategy/solver_allocator.h"

namespace attune {
namespace {

class Turns final : public SolverAllocator {
 public:
  size_t next(std::span<const SolverState> solvers) override {
    size_t solver = next_;
    while (solvers[solver].idle) solver = (solver + 1) % solvers.size();
    next_ = (solver + 1) % solvers.size();
    return solver;
  }

 private:
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<SolverAllocator> take_turns() { return std::make_unique<Turns>(); }

}  // namespace attune
