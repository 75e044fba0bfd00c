// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "campaign/devices/open_devices.h"
#include "dispatch/plans/plan_maker.h"
#include "solver/contender.h"

namespace attune {

/// The device of a command that runs nothing on it.
struct DeviceViewOptions {
  DeviceChoice devices;   ///< One device.
  std::string info_file;  ///< File that describes it (docs/formats/device_info.md); empty: a device of this machine.
  KernelOptions kernels;
};

/// Whether a candidate's plan meets a requirement, as far as that is known without compiling its kernel.
struct PlanStatement {
  bool is_known = true;
  std::optional<std::string> why_not;  ///< Nothing: the plan meets it, or that is not known.
};

/// A device as far as it can be known without running anything there. It is one of this machine, which is opened, or
/// one that a file describes and that this machine may lack. Not thread-safe.
class DeviceView {
 public:
  /// Throws invalid_input for a wrong file, a device that it does not describe, a thread limit above the device's, and
  /// like open_environment().
  explicit DeviceView(const DeviceViewOptions& options);

  const DeviceInfo& device() const noexcept { return device_; }
  bool is_here() const noexcept { return environment_.has_value(); }
  /// The flags with which a command runs on the device: `--devices cpu:0 --threads 1`.
  const std::string& flags() const noexcept { return flags_; }
  Kernels& kernels() noexcept { return *kernels_; }

  /// Returns every solver's report for a normalised problem there: static_contenders() for a device of another machine.
  /// Throws unavailable when the problem cannot be run on a device of this machine.
  std::vector<Contender> contenders(const Problem& problem);
  /// Returns why a candidate cannot run there, as far as that is known (why_unknown()); nothing if it can.
  /// `contenders`: the reports for the problem.
  std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem,
                                          std::span<const Contender> contenders) const;
  /// Whether the run time serves a candidate whose solver lacks its compiler: the kernel is in the cache.
  bool serves_stored(const Candidate& candidate, const Problem& problem, std::span<const Contender> contenders);
  /// Makes the plan of a candidate as the run time does, under a requirement. Requires: is_here(), and why_unusable()
  /// or serves_stored() says that it can run.
  PlanStatement statement_of(const Candidate& candidate, const Problem& problem, Requirement required);

 private:
  const DeviceViewOptions options_;
  std::optional<Environment> environment_;  ///< Environment of a device of this machine.
  std::unique_ptr<PlanMaker> maker_;        ///< Null: no plan was made yet.
  std::unique_ptr<Kernels> own_kernels_;    ///< Kernels of another device.
  Kernels* kernels_ = nullptr;
  DeviceInfo device_;
  std::string flags_;
};

}  // namespace attune
