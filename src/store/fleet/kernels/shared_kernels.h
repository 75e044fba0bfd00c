// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/binary.h"
#include "store/fleet/store_address.h"

namespace attune {

/// What names a compiled kernel on every machine: CompileTask::arch and recipe(), and the compiler's toolchain.
struct KernelKey {
  std::string arch, recipe, toolchain;
  auto operator<=>(const KernelKey&) const = default;
};

/// A compiled kernel in a fleet's store.
struct SharedKernel {
  KernelKey key;
  std::string sha256;  ///< Of `bytes`, as the agent that stored them stated it. The reader checks it.
  BinaryMetadata metadata;
  std::string bytes;
};

/// The compiled kernels that the agents of a fleet share through its store. One call is a few statements, however many
/// kernels it names. Not thread-safe. Throws StoreAway if a server does not answer, else Error{database}.
class SharedKernels {
 public:
  virtual ~SharedKernels() = default;
  /// The stored ones of these keys.
  virtual std::vector<SharedKernel> get(std::span<const KernelKey> keys) = 0;
  /// Those of these keys that are not stored.
  virtual std::vector<KernelKey> missing(std::span<const KernelKey> keys) = 0;
  /// Stores those that are not there. The first one of a key stays.
  virtual void put(std::span<const SharedKernel> kernels) = 0;
  /// Removes bytes that do not match and all kernels that have them, so that they can be stored again. Bytes that
  /// another agent has replaced stay. Adds an event `kernel_refused` to the session.
  virtual void refuse(int64_t session, const std::string& agent, const SharedKernel& kernel) = 0;
};

/// Requires: the store exists.
std::unique_ptr<SharedKernels> open_shared_kernels(const StoreAddress& address, int max_wait_ms);

}  // namespace attune
