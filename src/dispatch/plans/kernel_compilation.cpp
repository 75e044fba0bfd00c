// SPDX-License-Identifier: MIT
#include "dispatch/plans/kernel_compilation.h"

#include <optional>

#include "base/error.h"
#include "compile/compile_pool.h"
#include "dispatch/threads/library_use.h"

namespace attune {

std::map<std::string, std::string> compile_kernels(const std::vector<CompileTask>& tasks, const CachePlace& cache,
                                                   const HelperProgram& helper, const std::function<bool()>& stopped) {
  std::map<std::string, std::string> failures;
  try {
    // Starting compilers takes locks, which a child of fork() must find open.
    std::optional<LibraryUse> use(std::in_place);
    if (cache.folder.empty()) fail(ErrorCode::unavailable, "there is no folder for compiled kernels, set ATTUNE_CACHE");
    KernelCache kernels({cache.folder}, cache.max_bytes);
    CompilePool pool(kernels, {.jobs = 1, .helper = helper});
    for (const CompileTask& task : tasks) pool.submit(task);
    while (pool.unanswered() > 0 && !stopped()) {
      for (const CompileResult& one : pool.wait(Milliseconds(20))) {
        if (!one.outcome.ok()) failures.emplace(one.recipe, one.outcome.detail);
      }
      use.reset();  // Lets a thread that forks, or ends the process, proceed.
      use.emplace();
    }
  } catch (const Error& error) {
    for (const CompileTask& task : tasks) failures.emplace(task.recipe(), error.what());
  }
  return failures;
}

}  // namespace attune
