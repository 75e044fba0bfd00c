// SPDX-License-Identifier: MIT
// A module with two solvers, each of an op and with a version of its own.
#include "solver/module.h"

namespace attune::toys {
namespace {

/// Knows no problem: it only is there.
class PairSolver : public Solver {
 public:
  std::string_view title() const override { return "one of two in a module"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return Support::no("computes nothing"); }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

class PairGemm final : public PairSolver {
 public:
  std::string_view id() const override { return "pair.gemm"; }
  std::string_view version() const override { return "1"; }
};

class PairScaled final : public PairSolver {
 public:
  std::string_view id() const override { return "pair.toy_scaled"; }
  std::string_view version() const override { return "7"; }
};

}  // namespace
}  // namespace attune::toys

ATTUNE_SOLVER_MODULE(attune::toys::PairGemm, attune::toys::PairScaled)
