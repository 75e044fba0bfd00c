// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "compile/compile_worker.h"
#include "process/channel/channel.h"

namespace attune {
namespace {

int run(const std::string& name) {
  if (!is_channel(kHelperChannel))
    fail(ErrorCode::invalid_input, "`attune compile-worker` is started by commands that compile, not by hand");
  const Compiler* compiler = find_compiler(name);
  if (compiler == nullptr || compiler->library() == nullptr)
    fail(ErrorCode::invalid_input, "this build has no compiler of that name that is a library: '{}'", name);
  return run_compile_worker(*compiler->library());
}

void add_compile_worker_flags(CLI::App& command, Action& chosen) {
  auto name = std::make_shared<std::string>();
  command.add_option("compiler", *name, "Name of a compiler that is a library")->required();
  command.callback([name, &chosen] { chosen = [name] { return run(*name); }; });
}

}  // namespace

Command compile_worker_command() {
  return {CommandGroup::hidden, "compile-worker",
          "The process in which a compiler runs that is a library; started by commands that compile",
          add_compile_worker_flags};
}

}  // namespace attune
