// SPDX-License-Identifier: MIT
#include "compile/compiler.h"

#include <fstream>

#include "base/blocked_write_signals.h"
#include "base/error.h"

namespace attune {

std::vector<const Compiler*> registered_compilers();  // Generated.

CompileCommand LibraryCompiler::command(const CompileTask&, const std::filesystem::path&) const {
  fail(ErrorCode::internal, "a compiler that is a library has no command: {}", name());
}

void write_task_file(const std::filesystem::path& file, std::string_view content) {
  const BlockedWriteSignals blocked;
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) fail(ErrorCode::io, "cannot write a file of a compilation, free some space: '{}'", file.string());
}

std::span<const Compiler* const> compilers() {
  static const std::vector<const Compiler*> all = registered_compilers();
  return all;
}

const Compiler* find_compiler(std::string_view name) {
  for (const Compiler* compiler : compilers()) {
    if (compiler->name() == name) return compiler;
  }
  return nullptr;
}

}  // namespace attune
