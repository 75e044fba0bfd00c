// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>

#include "solver/module_loader.h"

namespace attune {

/// An op that is not of this build, with its solvers: a file attune_op_<name>.so in a folder of the solver modules.
struct OpModule {
  std::string file;
  ModuleEntry entry;
};

/// Opens the op modules and registers their ops; the first of two files of one name counts. A module that cannot be
/// used, or that other users could have written, is a notice. Called once, by the first ops(), which opens them.
void load_op_modules() noexcept;
/// The modules that were opened, and what is wrong with others. Requires: ops() was called.
std::span<const OpModule> op_modules() noexcept;
std::span<const std::string> op_module_notices() noexcept;

}  // namespace attune
