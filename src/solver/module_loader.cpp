// SPDX-License-Identifier: MIT
#include "solver/module_loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/locations.h"

namespace attune {
namespace {

// glibc's DEEPBIND keeps a module's own library ahead of whatever else defines cblas_sgemm; sanitizers refuse it
// because it would bypass their malloc, and RTLD_LOCAL alone is enough there (tests/conformance checks both builds).
#ifdef ATTUNE_SANITIZED
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::vector<std::filesystem::path> module_folders() {
  if (const char* folder = std::getenv("ATTUNE_MODULES")) return {folder};
  // In a build; from bin; from lib; from lib/x86_64-linux-gnu.
  const auto here = code_folder(), above = here.parent_path();
  return {here / "modules", above / "lib/attune/modules", here / "attune/modules", above / "attune/modules"};
}

/// The value a spec's entries give on this CPU, by variable.
std::map<std::string, std::string> values_here(const ModuleSpec& spec) {
  std::map<std::string, std::string> values;
  for (const auto entry : spec.load_variables) {
    const auto equals = entry.find('='), at = entry.find('@');
    const auto level = at == std::string_view::npos ? std::string_view() : entry.substr(at + 1);
    if (!level.empty() && level > cpu_level()) continue;
    values.emplace(entry.substr(0, equals),
                   entry.substr(equals + 1, at == std::string_view::npos ? at : at - equals - 1));
  }
  return values;
}

}  // namespace

std::string_view cpu_level() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "v3";
  return "v2";
}

namespace {

void set_load_variables(std::span<const ModuleSpec> specs) {
  std::map<std::string, std::string> wanted;
  for (const ModuleSpec& spec : specs) {
    for (const auto& [variable, value] : values_here(spec)) {
      const auto [found, fresh] = wanted.emplace(variable, value);
      ATTUNE_CHECK(found->second == value, "solver modules want {}={} and {}={}", variable, found->second, variable,
                   value);
      if (fresh) setenv(variable.c_str(), value.c_str(), 0);
    }
  }
}

/// Opens one module and calls its registration; returns why not.
std::string register_module(const std::filesystem::path& file, Registry& registry) {
  void* module = dlopen(file.c_str(), kOpenFlags);
  if (!module) return dlerror();
  const auto version = reinterpret_cast<int (*)()>(dlsym(module, "attune_solver_interface"));
  const auto start = reinterpret_cast<void (*)(Registry&)>(dlsym(module, "attune_register"));
  if (!version || !start) return "not a solver module: " + file.string();
  if (version() != kSolverInterface) return "the module is of another build of Attune, rebuild it: " + file.string();
  start(registry);
  return {};
}

}  // namespace

void load_modules(std::span<const ModuleSpec> specs, Surroundings surroundings, Registry& registry) {
  if (surroundings == Surroundings::program) set_load_variables(specs);
  for (const ModuleSpec& spec : specs) {
    const std::string file_name = "attune_solver_" + std::string(spec.name) + ".so";
    std::string reason = "the module " + file_name + " is not installed";
    for (const auto& folder : module_folders()) {
      if (!std::filesystem::exists(folder / file_name)) continue;
      registry.module_ = (folder / file_name).string();
      reason = register_module(folder / file_name, registry);
      break;
    }
    if (!reason.empty()) registry.add_unavailable(std::string(spec.solver_id), std::string(spec.title), reason);
    registry.module_.clear();
  }
}

}  // namespace attune
