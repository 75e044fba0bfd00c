// SPDX-License-Identifier: MIT
#include "compile/compile_worker.h"

#include <csignal>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/text.h"
#include "compile/compile_messages.h"
#include "process/channel/channel.h"

namespace attune {
namespace {

LibraryOutput compiled(const LibraryCompiler& compiler, const CompileTask& task) {
  try {
    if (task.compiler != compiler.name())
      fail(ErrorCode::invalid_input, "this helper runs the compiler {}, so it cannot do a task of another: '{}'",
           compiler.name(), shown(task.compiler));
    LibraryOutput output = compiler.compile(task);
    output.toolchain = compiler.toolchain();
    return output;
  } catch (const CompilerLost&) {
    throw;
  } catch (const std::exception& error) {
    return {.is_compiled = false, .binary = {}, .log = error.what()};
  }
}

}  // namespace

int run_compile_worker(const LibraryCompiler& compiler) {
  // The pool ends a helper. Signals that a terminal sends to the whole group are handled by the program.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  InheritedChannel channel(kHelperChannel);
  try {
    while (const auto frame = channel.read()) {
      const LibraryOutput output = compiled(compiler, compile_task_from(frame->payload));
      if (!channel.write({frame->number, to_payload(output)})) return 1;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attune compile-worker: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace attune
