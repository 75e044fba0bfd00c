// SPDX-License-Identifier: MIT
#include "dispatch/plans/kernel_compilation.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "dispatch/threads/library_use.h"

namespace attune {

// Starting and ending compilers takes locks, which a child of fork() must find open: hence the LibraryUses. Each ends
// soon, so that a thread that forks, or ends the process, can proceed.

KernelCompilations::~KernelCompilations() { end_pool(); }

void KernelCompilations::end_pool() noexcept {
  try {
    const LibraryUse use;
    pool_.reset();
  } catch (const Error&) {
    pool_.reset();  // The process is ending.
  }
  kernels_.reset();
  recipes_.clear();
}

void KernelCompilations::submit(const CompileTask& task, const std::string& recipe) {
  const LibraryUse use;
  try {
    begun_.insert(recipe);
    if (cache_.folder.empty())
      fail(ErrorCode::unavailable, "there is no folder for compiled kernels, set ATTUNE_CACHE");
    if (!pool_) {
      kernels_ = std::make_unique<KernelCache>(cache_folders(cache_.folder), cache_.max_bytes, KernelCache::Lease::none,
                                               cache_reuse());
      pool_ = std::make_unique<CompilePool>(*kernels_, PoolOptions{.helper = helper_});
    }
    pool_->submit(task);
    recipes_.insert(recipe);
  } catch (const std::exception& error) {  // Else the shape would wait for ever.
    end(recipe, error.what());
  }
}

void KernelCompilations::begin(const LookupRequest& shape, const std::vector<CompileTask>& tasks) {
  Waiting& own = shapes_.emplace_back(Waiting{{shape, {}}, {}});
  for (const CompileTask& task : tasks) own.recipes.insert(task.recipe());
  for (const CompileTask& task : tasks) {
    const std::string recipe = task.recipe();
    if (!recipes_.contains(recipe)) submit(task, recipe);
  }
}

/// `failure`: the reason; null: the kernel is in the cache.
void KernelCompilations::end(const std::string& recipe, const char* failure) {
  recipes_.erase(recipe);
  for (Waiting& one : shapes_) {
    if (one.recipes.erase(recipe) > 0 && failure != nullptr) one.shape.failures.emplace(recipe, failure);
  }
}

void KernelCompilations::end_all(const std::string& failure) {
  for (Waiting& one : shapes_) {
    for (const std::string& recipe : std::exchange(one.recipes, {})) one.shape.failures.emplace(recipe, failure);
  }
}

std::vector<KernelCompilations::Ended> KernelCompilations::wait(Milliseconds timeout) {
  if (pool_) {
    const LibraryUse use;
    try {
      for (const CompileResult& one : pool_->wait(timeout))
        end(one.recipe, one.outcome.ok() ? nullptr : one.outcome.detail.c_str());
    } catch (const std::exception& error) {
      end_all(error.what());
    }
  }
  std::vector<Ended> ended;
  for (auto next = shapes_.begin(); next != shapes_.end();) {
    const auto one = next++;
    if (!one->recipes.empty()) continue;
    ended.push_back(std::move(one->shape));
    shapes_.erase(one);
  }
  if (shapes_.empty() && pool_) end_pool();
  return ended;
}

std::map<std::string, std::string> compile_kernels(const std::vector<CompileTask>& tasks, const CachePlace& cache,
                                                   const HelperProgram& helper, const std::function<bool()>& stopped) {
  KernelCompilations all(cache, helper);
  all.begin({}, tasks);
  while (!stopped()) {
    std::vector<KernelCompilations::Ended> ended = all.wait(Milliseconds(20));
    if (!ended.empty()) return std::move(ended.front().failures);
  }
  return {};
}

}  // namespace attune
