// SPDX-License-Identifier: MIT
#include "cli/flags/python_flag.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "process/child_command.h"

namespace attune {
namespace {

void use_python(const std::string& python) {
  const std::filesystem::path program =
      python.find('/') == std::string::npos ? find_on_path(python) : std::filesystem::absolute(python);
  if (program.empty() || !is_runnable_program(program))
    fail(ErrorCode::invalid_input, "--python expects a Python program, and this is none: '{}'", shown(python));
  ::setenv("ATTUNE_PYTHON", program.c_str(), 1);
}

}  // namespace

void add_python_flag(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--python", use_python,
          "Python program that compiles Triton's kernels; default: $ATTUNE_PYTHON, else the Triton of `tools/setup "
          "--with-triton`, else python3")
      ->type_name("PYTHON");
}

}  // namespace attune
