// SPDX-License-Identifier: MIT
#pragma once
#include <cstdlib>
#include <filesystem>

#include "compile/compile_pool.h"

namespace attune {

/// A pool's options with helpers for compilers that are libraries: those of the program `attune` that lies beside the
/// test's.
inline PoolOptions with_built_helpers() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "attune";
  PoolOptions options;
  options.helper = {.arguments = {program.string(), "compile-worker"}, .environment = {}};
  for (const char* name : {"LD_LIBRARY_PATH", "PATH", "ATTUNE_PYTHON"}) {
    if (const char* value = std::getenv(name)) options.helper.environment.emplace(name, value);
  }
  return options;
}

}  // namespace attune
