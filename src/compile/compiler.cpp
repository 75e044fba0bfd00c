// SPDX-License-Identifier: MIT
#include "compile/compiler.h"

namespace attune {

std::vector<const Compiler*> registered_compilers();  // Generated.

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
