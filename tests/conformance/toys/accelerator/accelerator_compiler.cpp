// SPDX-License-Identifier: MIT
#include "accelerator_compiler.h"

#include <fmt/format.h>

#include <bit>

#include "base/text.h"

namespace attune::toys {
namespace {

constexpr std::string_view kSource = "tile ", kKernel = "kernel ";

}  // namespace

CompilerLimits AcceleratorCompiler::limits() const { return {.deadline = Milliseconds(10'000)}; }

std::map<std::string, std::string> AcceleratorCompiler::report(const CompilerOutput& output) const {
  return {{"code_bytes", std::to_string(output.binary.size())}};
}

std::string AcceleratorCompiler::flaw_of(std::string_view file) const {
  return file.starts_with(kKernel) ? "" : "not a kernel of the toy accelerator";
}

LibraryOutput AcceleratorCompiler::compile(const CompileTask& task) const {
  const std::string_view source = task.source;
  const auto tile = source.starts_with(kSource) ? parse_int(source.substr(kSource.size())) : std::nullopt;
  if (!tile || *tile < 1 || !std::has_single_bit(static_cast<uint64_t>(*tile)))
    return {.log = fmt::format("kernel.toy(1): error: a tile is a power of two: '{}'", source)};
  return {.is_compiled = true, .binary = fmt::format("{}{}", kKernel, *tile), .log = {}};
}

}  // namespace attune::toys
