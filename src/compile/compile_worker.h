// SPDX-License-Identifier: MIT
#pragma once
#include "compile/compiler.h"

namespace attune {

/// Descriptor of the channel that a helper inherits.
inline constexpr int kHelperChannel = 3;

/// Main loop of a helper process: compiles tasks from the channel with the library, and answers each with the number of
/// its frame, until the pool closes the channel. Returns the exit status: 0 after that, 1 when it cannot continue.
int run_compile_worker(const LibraryCompiler& compiler);

}  // namespace attune
