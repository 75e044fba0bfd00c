// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "compile/compile_helper.h"

namespace attune {

/// The program `attune` that belongs to this library, or a sentence that says why it was not found.
struct AttuneProgram {
  std::filesystem::path path;  ///< Absolute; empty: not found.
  std::string why_not;
};
/// Returns $ATTUNE_PROGRAM, else bin/attune of the library's installation tree, else the attune beside the library.
/// Reads the environment.
AttuneProgram attune_program();

/// Copies the environment; no thread may change it meanwhile.
std::map<std::string, std::string> environment_copy();

/// How helpers are started that compile with a library: as `attune compile-worker`, with this process's environment.
/// Without the program there are none. Reads the environment.
HelperProgram compile_worker();

}  // namespace attune
