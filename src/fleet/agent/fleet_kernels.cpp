// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_kernels.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compile/cache_entry.h"
#include "store/fleet/store_away.h"

namespace attune {
namespace {

constexpr double kSilenceS = 30;

}  // namespace

FleetKernels::FleetKernels(std::unique_ptr<SharedKernels> store, FleetKernelsOptions options, Clock& clock)
    : store_(std::move(store)), options_(std::move(options)), clock_(clock) {}

/// Runs an action on the store, unless it was away a moment ago. The first failure is said.
template <typename Action>
void FleetKernels::ask(Action action) {
  if (clock_.now_s() < silent_until_s_) return;
  try {
    action();
  } catch (const Error& error) {
    if (dynamic_cast<const StoreAway*>(&error) != nullptr) silent_until_s_ = clock_.now_s() + kSilenceS;
    if (!std::exchange(said_, true) && options_.say)
      options_.say(fmt::format("kernels are not shared: {}", error.what()));
  }
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
  ask([&] {
    for (const SharedKernel& kernel : store_->get(keys)) {
      if (auto binary = checked(kernel)) found.push_back(*std::move(binary));
    }
  });
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
    return store_->put(kernels);
  } catch (const StoreAway&) {
    throw;
  } catch (const Error&) {
    if (kernels.size() == 1) throw;
  }
  std::optional<Error> failure;
  for (size_t i = 0; i < kernels.size(); ++i) {
    try {
      store_->put(kernels.subspan(i, 1));
    } catch (const StoreAway&) {
      throw;
    } catch (const Error& error) {
      failure = error;
    }
  }
  if (failure) throw *failure;
}

void FleetKernels::offer(std::span<const Binary> binaries) {
  std::vector<KernelKey> keys;
  std::vector<const Binary*> own;
  for (const Binary& binary : binaries) {
    const auto compiler = binary.metadata.find("compiler");
    if (compiler == binary.metadata.end()) continue;
    const auto toolchain = options_.toolchains.find(compiler->second);
    if (toolchain == options_.toolchains.end() || toolchain->second != binary.toolchain) continue;
    keys.push_back({binary.arch, binary.recipe, binary.toolchain});
    own.push_back(&binary);
  }
  if (keys.empty()) return;
  const Lock lock(mutex_);
  ask([&] {
    const auto missing = store_->missing(keys);
    const std::set<KernelKey> wanted(missing.begin(), missing.end());
    std::vector<SharedKernel> kernels;
    for (size_t i = 0; i < own.size(); ++i) {
      if (!wanted.contains(keys[i])) continue;
      std::string bytes = read_file(own[i]->file);
      if (sha256(bytes) == own[i]->sha256)
        kernels.push_back({keys[i], own[i]->sha256, own[i]->metadata, std::move(bytes)});
    }
    put(kernels);
  });
}

}  // namespace attune
