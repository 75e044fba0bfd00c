// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_kernels.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compile/cache_entry.h"
#include "store/fleet/store_away.h"

namespace attune {
namespace {

constexpr double kSilenceS = 30;
constexpr int kMaxFailures = 3;  // Of a kernel: the server may take none of its size.

}  // namespace

FleetKernels::FleetKernels(std::unique_ptr<SharedKernels> store, FleetKernelsOptions options, Clock& clock)
    : store_(std::move(store)), options_(std::move(options)), clock_(clock) {}

/// Tells the first failure. A store that is away is not asked for a while.
void FleetKernels::note_failure(const Error& error) {
  if (dynamic_cast<const StoreAway*>(&error) != nullptr) silent_until_s_ = clock_.now_s() + kSilenceS;
  if (!std::exchange(said_, true) && options_.say)
    options_.say(fmt::format("kernels are not shared: {}", error.what()));
}

std::vector<Binary> FleetKernels::fetch(std::span<const CompileTask> tasks) {
  std::vector<KernelKey> keys;
  for (const CompileTask& task : tasks) {
    const auto toolchain = options_.toolchains.find(task.compiler);
    if (toolchain == options_.toolchains.end() || !cache_entry::is_name(toolchain->second)) continue;
    keys.push_back({task.arch, task.recipe(), toolchain->second});
  }
  std::vector<Binary> found;
  if (keys.empty()) return found;
  const Lock lock(mutex_);
  send();
  if (is_silent()) return found;
  try {
    for (const SharedKernel& kernel : store_->get(keys)) {
      if (auto binary = checked(kernel)) found.push_back(*std::move(binary));
    }
  } catch (const Error& error) {
    note_failure(error);
  }
  return found;
}

/// Nothing for damaged bytes, and for a kernel of another version of the compiler's command.
std::optional<Binary> FleetKernels::checked(const SharedKernel& kernel) {
  if (sha256(kernel.bytes) != kernel.sha256) {
    if (options_.say)
      options_.say(
          fmt::format("a kernel of the store does not match its SHA-256 and is refused: {}", kernel.key.recipe));
    store_->refuse(options_.session, options_.agent, kernel);
    return std::nullopt;
  }
  Binary binary{.arch = kernel.key.arch,
                .recipe = kernel.key.recipe,
                .toolchain = kernel.key.toolchain,
                .sha256 = kernel.sha256,
                .file = folder_.path() / std::to_string(num_files_++),
                .metadata = kernel.metadata};
  if (!cache_entry::is_of_this_command(binary)) return std::nullopt;
  if (!write_own_file(binary.file, kernel.bytes))
    fail(ErrorCode::io, "cannot write a fetched kernel, free some space: '{}'", binary.file.string());
  return binary;
}

/// One after the other if they cannot be stored at once: the server may take no kernel of some size.
void FleetKernels::put(std::span<const SharedKernel> kernels) {
  if (kernels.empty()) return;
  try {
    store_->put(kernels);
    for (const SharedKernel& one : kernels) unsent_.erase(one.key);
    return;
  } catch (const StoreAway&) {
    throw;
  } catch (const Error& error) {
    if (kernels.size() == 1) {
      postpone(kernels[0].key);
      return note_failure(error);
    }
  }
  for (size_t i = 0; i < kernels.size(); ++i) put(kernels.subspan(i, 1));
}

/// Forgets a kernel that has failed too often. It is offered again if it is built again.
void FleetKernels::postpone(const KernelKey& key) {
  const auto found = unsent_.find(key);
  if (found == unsent_.end()) return;
  found->second.retry_s = clock_.now_s() + kSilenceS;
  if (++found->second.num_failures >= kMaxFailures) unsent_.erase(found);
}

/// Whether the session's compiler made it.
bool FleetKernels::is_of_session(const Binary& binary) const {
  const auto compiler = binary.metadata.find("compiler");
  if (compiler == binary.metadata.end()) return false;
  const auto toolchain = options_.toolchains.find(compiler->second);
  return toolchain != options_.toolchains.end() && toolchain->second == binary.toolchain;
}

void FleetKernels::offer(std::span<const Binary> binaries) {
  const Lock lock(mutex_);
  for (const Binary& binary : binaries) {
    if (is_of_session(binary)) unsent_[{binary.arch, binary.recipe, binary.toolchain}].binary = binary;
  }
  send();
}

void FleetKernels::send() {
  if (is_silent()) return;
  std::vector<KernelKey> keys;
  for (const auto& [key, one] : unsent_) {
    if (one.retry_s <= clock_.now_s()) keys.push_back(key);
  }
  if (keys.empty()) return;
  try {
    send(keys);
  } catch (const StoreAway& error) {
    note_failure(error);
  } catch (const Error& error) {
    for (const KernelKey& key : keys) postpone(key);
    note_failure(error);
  }
}

/// Skips damaged files and files that the cache has evicted.
void FleetKernels::send(std::span<const KernelKey> keys) {
  const auto missing = store_->missing(keys);
  const std::set<KernelKey> wanted(missing.begin(), missing.end());
  std::vector<SharedKernel> kernels;
  for (const KernelKey& key : keys) {
    const Binary& binary = unsent_.at(key).binary;
    std::string bytes;
    if (wanted.contains(key)) {
      try {
        bytes = read_file(binary.file);
      } catch (const Error&) {
        // No bytes have its digest.
      }
    }
    if (!wanted.contains(key) || sha256(bytes) != binary.sha256)
      unsent_.erase(key);
    else
      kernels.push_back({key, binary.sha256, binary.metadata, std::move(bytes)});
  }
  put(kernels);
}

}  // namespace attune
