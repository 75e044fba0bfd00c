// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "compile/compiler.h"

namespace attune {

/// A compiler for tests: runs sources as shell scripts, and reports the lines `key=value` that they print. Has limits
/// of its own.
class ScriptCompiler : public Compiler {
 public:
  explicit ScriptCompiler(CompilerLimits limits = {.memory_bytes = 0, .deadline = Milliseconds(10'000)})
      : limits_(limits) {}
  std::string_view name() const override { return "script"; }
  std::string toolchain() const override { return "sh-1"; }
  bool targets(std::string_view) const override { return true; }
  CompileCommand command(const CompileTask& task, const std::filesystem::path& folder) const override {
    std::ofstream(folder / "source") << task.source;
    return {.arguments = {"/bin/sh", "source"}, .environment = {{"PATH", "/usr/bin:/bin"}}, .output = "out"};
  }
  uint32_t command_version() const override { return 1; }
  CompilerLimits limits() const override { return limits_; }
  std::map<std::string, std::string> report(const CompilerOutput& output) const override {
    std::map<std::string, std::string> facts;
    for (const std::string_view line : split(output.log, '\n')) {
      if (const size_t at = line.find('='); at != std::string_view::npos)
        facts.emplace(line.substr(0, at), line.substr(at + 1));
    }
    facts["bytes"] = std::to_string(output.binary.size());
    facts["left"] = std::filesystem::exists(output.folder / "more") ? "more" : "nothing";
    return facts;
  }
  std::string flaw_of(std::string_view) const override { return ""; }

 private:
  CompilerLimits limits_;
};

}  // namespace attune
