// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace attune {

/// Adds --kernel, which names Triton kernels of the user. It acts when the command line is parsed, after --python: it
/// stores each kernel and sets ATTUNE_TRITON_KERNELS for this process, its workers and helpers. `devices`: the value of
/// --devices, which comes before and must lead to a GPU; null: kernels are only listed or compiled. Outlives the
/// command.
void add_kernel_flag(CLI::App& command, const std::string* devices = nullptr);

}  // namespace attune
