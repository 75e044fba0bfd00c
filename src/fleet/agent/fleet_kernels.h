// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "process/temporary_folder.h"
#include "store/fleet/kernels/shared_kernels.h"
#include "tuner/kernels.h"

namespace attune {

struct FleetKernelsOptions {
  int64_t session = 0;
  std::string agent;
  Toolchains toolchains;                        ///< The session's. Kernels of others are neither fetched nor offered.
  std::function<void(const std::string&)> say;  ///< Receives sentences about a store that fails and refused kernels.
};

/// Kernels that a fleet's agents share through the store, for agents without a common folder. A kernel whose bytes do
/// not match their SHA-256 is refused: it is removed from the store, which gets an event. While the store is away there
/// are no kernels; it is asked again after a while, and gets the kernels that were offered in that time. A kernel that
/// the store does not take is sent again a few times. Thread-safe.
class FleetKernels final : public KernelExchange {
 public:
  /// `clock` must outlive this.
  FleetKernels(std::unique_ptr<SharedKernels> store, FleetKernelsOptions options, Clock& clock = steady_clock());
  std::vector<Binary> fetch(std::span<const CompileTask> tasks) override;
  void offer(std::span<const Binary> binaries) override;

 private:
  struct Unsent {
    Binary binary;
    int num_failures = 0;
    double retry_s = 0;  // When it is sent again.
  };
  bool is_of_session(const Binary& binary) const;
  bool is_silent() ATTUNE_REQUIRES(mutex_) { return clock_.now_s() < silent_until_s_; }
  void send() ATTUNE_REQUIRES(mutex_);
  void note_failure(const Error& error) ATTUNE_REQUIRES(mutex_);
  void put(std::span<const SharedKernel> kernels) ATTUNE_REQUIRES(mutex_);
  void send(std::span<const KernelKey> keys) ATTUNE_REQUIRES(mutex_);
  void postpone(const KernelKey& key) ATTUNE_REQUIRES(mutex_);
  std::optional<Binary> checked(const SharedKernel& kernel) ATTUNE_REQUIRES(mutex_);

  Mutex mutex_;
  const std::unique_ptr<SharedKernels> store_ ATTUNE_PT_GUARDED_BY(mutex_);
  const FleetKernelsOptions options_;
  Clock& clock_;
  const TemporaryFolder folder_{"fleet-kernels"};
  std::map<KernelKey, Unsent> unsent_ ATTUNE_GUARDED_BY(mutex_);  // Offered, and not known to be in the store.
  size_t num_files_ ATTUNE_GUARDED_BY(mutex_) = 0;
  double silent_until_s_ ATTUNE_GUARDED_BY(mutex_) = 0;  // The store was away.
  bool said_ ATTUNE_GUARDED_BY(mutex_) = false;
};

}  // namespace attune
