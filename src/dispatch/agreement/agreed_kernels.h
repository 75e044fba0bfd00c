// SPDX-License-Identifier: MIT
#pragma once
#include <set>
#include <span>
#include <string>
#include <utility>

#include "dispatch/agreement/serving_report.h"

namespace attune {

/// The kernels that may serve in every process of a group, as long as one holds its changes. Used under the
/// dispatcher's ForkGuard.
class AgreedKernels {
 public:
  /// Sets those that serve, and the recipes that count as failed; returns whether either differs.
  bool set(std::set<CommonKernel> serving, std::set<std::string> failed) {
    const bool changes = serving != serving_ || failed != failed_;
    serving_ = std::move(serving);
    failed_ = std::move(failed);
    return changes;
  }
  bool serves(const CommonKernel& kernel) const { return is_waived_ || serving_.contains(kernel); }
  bool serve(std::span<const CommonKernel> kernels) const {
    for (const CommonKernel& one : kernels) {
      if (!serves(one)) return false;
    }
    return true;
  }
  bool has_failed(const std::string& recipe) const { return failed_.contains(recipe); }
  const std::set<CommonKernel>& serving() const noexcept { return serving_; }
  const std::set<std::string>& failed() const noexcept { return failed_; }

  /// While it exists every compiled kernel serves, for a call that nothing else can serve, on any rank.
  class Waiver {
   public:
    explicit Waiver(AgreedKernels& kernels) : kernels_(kernels) { kernels_.is_waived_ = true; }
    ~Waiver() { kernels_.is_waived_ = false; }
    Waiver(const Waiver&) = delete;
    Waiver& operator=(const Waiver&) = delete;

   private:
    AgreedKernels& kernels_;
  };

 private:
  std::set<CommonKernel> serving_;
  std::set<std::string> failed_;
  bool is_waived_ = false;
};

}  // namespace attune
