// SPDX-License-Identifier: MIT
#include "dispatch/plans/attune_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <system_error>
#include <vector>

#include "base/locations.h"
#include "base/variable.h"

extern char** environ;

namespace attune {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code missing;
  return fs::is_regular_file(path, missing) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

AttuneProgram attune_program() {
  const char* named = variable_or_null("ATTUNE_PROGRAM");
  const fs::path folder = code_folder();
  std::vector<fs::path> places = {folder.parent_path() / "bin" / "attune",
                                  folder.parent_path().parent_path() / "bin" / "attune", folder / "attune"};
  if (named != nullptr) places = {named};
  for (const fs::path& place : places) {
    if (is_program(place)) return {fs::absolute(place), {}};
  }
  return {
      {},
      fmt::format("the attune program was not found, set ATTUNE_PROGRAM to its path: '{}'", places.front().string())};
}

std::map<std::string, std::string> environment_copy() {
  std::map<std::string, std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (const size_t equals = text.find('='); equals != std::string_view::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

HelperProgram compile_worker() {
  const AttuneProgram program = attune_program();
  if (program.path.empty()) return {};
  HelperProgram helper{.arguments = {program.path.string(), "compile-worker"}, .environment = environment_copy()};
  // A helper has a folder of its own. An empty variable counts as unset.
  if (const auto modules = helper.environment.find("ATTUNE_MODULES");
      modules != helper.environment.end() && !modules->second.empty())
    modules->second = fs::absolute(modules->second).string();
  return helper;
}

}  // namespace attune
