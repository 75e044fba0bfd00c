// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "ops/quantised_gemm/quantised_gemm_op.h"
#include "solver/solver.h"
#include "solvers/onednn/onednn_library.h"

namespace attune {

/// `onednn.gemm`: products of floats (onednn_solver.cpp).
class OnednnSolver final : public Solver {
 public:
  std::string_view id() const override { return onednn_library().id; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return onednn_library().title; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  double one_thread_flops() const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

/// `onednn.<op>`: the products of a quantised family (onednn_quantised_solver.cpp).
class OnednnQuantisedSolver : public Solver {
 public:
  std::string_view id() const override { return id_; }
  /// Of the code around oneDNN's product, too: a change of scaled_sums.cpp or dequantise.cpp that changes its results
  /// or speed raises it.
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return onednn_library().quantised_title; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;

 protected:
  /// `family` must outlive it.
  explicit OnednnQuantisedSolver(const FamilySpec& family)
      : family_(family), id_(std::string(onednn_library().name) + "." + std::string(family.op)) {}

 private:
  const FamilySpec& family_;
  std::string id_;
};

template <const FamilySpec& (*kFamily)()>
class OnednnQuantised final : public OnednnQuantisedSolver {
 public:
  OnednnQuantised() : OnednnQuantisedSolver(kFamily()) {}
};

/// `onednn.conv`: convolutions of floats (onednn_conv_solver.cpp).
class OnednnConvSolver final : public Solver {
 public:
  std::string_view id() const override { return onednn_library().conv_id; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return onednn_library().conv_title; }
  std::string_view thread_pool() const override { return "libgomp"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

}  // namespace attune
