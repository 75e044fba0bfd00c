// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>

#include "solver/modules/module_file.h"

namespace attune {

/// An op or a kind of device that is not of this build, with its solvers: a file attune_op_<name>.so or
/// attune_device_<name>.so in a folder of the solver modules.
struct OpModule {
  std::string file;
  ModuleEntry entry;
};

/// Opens the modules and registers what they hold, of each all or nothing; the first of two files of one name counts. A
/// module that cannot be used, or that other users could have written, is a notice. The first ops() and the first
/// device_kinds() call it; only the first call does anything.
void load_op_modules() noexcept;
/// The modules that were opened, and what is wrong with others. Requires: ops() was called.
std::span<const OpModule> op_modules() noexcept;
std::span<const std::string> op_module_notices() noexcept;

}  // namespace attune
