// SPDX-License-Identifier: MIT
#include "compile/compiler.h"

#include <algorithm>
#include <atomic>

#include "base/blocked_write_signals.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mutex.h"

namespace attune {

std::vector<const Compiler*> registered_compilers();  // Generated.

CompileCommand LibraryCompiler::command(const CompileTask&, const std::filesystem::path&) const {
  fail(ErrorCode::internal, "a compiler that is a library has no command: {}", name());
}

void write_task_file(const std::filesystem::path& file, std::string_view content) {
  const BlockedWriteSignals blocked;
  if (!write_own_file(file, content))
    fail(ErrorCode::io, "cannot write a file of a compilation, free some space: '{}'", file.string());
}

namespace {

/// The compilers of this process. Never destroyed, because the process may end while a thread uses them.
struct CompilerList {
  Mutex mutex;
  std::vector<const Compiler*> all ATTUNE_GUARDED_BY(mutex) = registered_compilers();
  bool is_fixed ATTUNE_GUARDED_BY(mutex) = false;

  static CompilerList& get() {
    static CompilerList& list = *new CompilerList;
    return list;
  }
};

constinit std::atomic<void (*)()> compiler_loader{nullptr};

std::span<const Compiler* const> fix_compilers() {
  if (const auto load = compiler_loader.load()) load();
  CompilerList& list = CompilerList::get();
  const Lock lock(list.mutex);
  list.is_fixed = true;  // Callers keep the span.
  return list.all;
}

}  // namespace

std::span<const Compiler* const> compilers() {
  static const std::span<const Compiler* const> all = fix_compilers();
  return all;
}

void set_compiler_loader(void (*load)()) noexcept { compiler_loader = load; }

void register_compiler(const Compiler& compiler) {
  CompilerList& list = CompilerList::get();
  const Lock lock(list.mutex);
  const auto has_its_name = [&](const Compiler* one) { return one->name() == compiler.name(); };
  if (std::ranges::any_of(list.all, has_its_name))
    fail(ErrorCode::invalid_input, "a compiler has this name already: '{}'", compiler.name());
  if (list.is_fixed)
    fail(ErrorCode::invalid_input, "a compiler is registered before the first use of a compiler, too late for '{}'",
         compiler.name());
  list.all.push_back(&compiler);
}

void withdraw_compiler(const Compiler& compiler) noexcept {
  CompilerList& list = CompilerList::get();
  const Lock lock(list.mutex);
  if (!list.is_fixed) std::erase(list.all, &compiler);
}

const Compiler* find_compiler(std::string_view name) {
  for (const Compiler* compiler : compilers()) {
    if (compiler->name() == name) return compiler;
  }
  return nullptr;
}

std::string toolchain_if_any(std::string_view compiler) {
  const Compiler* const known = find_compiler(compiler);
  try {
    return known == nullptr ? std::string() : known->toolchain();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace attune
