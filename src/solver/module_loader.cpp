// SPDX-License-Identifier: MIT
#include "solver/module_loader.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/locations.h"
#include "base/trusted_path.h"
#include "base/variable.h"
#include "device/core_binding.h"
#include "solver/op_modules.h"
#include "solver/shared_library.h"

namespace attune {
namespace {

// glibc's DEEPBIND prefers a module's own library to any other definition of cblas_sgemm; sanitizers reject it because
// it would bypass their malloc, and RTLD_LOCAL alone is enough there (tests/conformance checks both builds).
#ifdef ATTUNE_SANITIZED
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

namespace fs = std::filesystem;

/// The reason why a folder cannot be searched; empty for a missing folder.
std::optional<std::string> why_unsafe(const fs::path& folder) {
  struct stat status {};
  int error = ::stat(folder.c_str(), &status) == 0 ? 0 : errno;
  if (error == ENOENT) return std::nullopt;
  if (error == 0 && !S_ISDIR(status.st_mode)) error = ENOTDIR;
  if (error == 0 && ::access(folder.c_str(), R_OK | X_OK) != 0) error = errno;
  if (error == 0) return std::nullopt;
  return std::strerror(error);
}

}  // namespace

std::vector<fs::path> module_folders(HostProcess host, std::vector<std::string>& notices) {
  if (const char* named = variable_or_null("ATTUNE_MODULES")) {
    const auto why = why_unsafe(named);
    if (!why) return {named};
    const std::string sentence = fmt::format(
        "ATTUNE_MODULES does not name a readable folder ({}), set it to that of the solver modules or "
        "unset it: '{}'",
        *why, named);
    if (host == HostProcess::program) fail(ErrorCode::invalid_input, "{}", sentence);
    notices.push_back(sentence);
  }
  // Candidates: in a build; from bin; from lib; from lib/x86_64-linux-gnu.
  const auto here = code_folder(), above = here.parent_path();
  return {here / "modules", above / "lib/attune/modules", here / "attune/modules", above / "attune/modules"};
}

namespace {

/// Values of a spec's load variables on this CPU.
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
      ATTUNE_CHECK(found->second == value, "solver modules require {}={} and {}={}", variable, found->second, variable,
                   value);
      if (fresh) setenv(variable.c_str(), value.c_str(), 0);
    }
  }
}

/// Opens one module and calls its registration; returns the reason for a failure.
std::string register_module(const std::string& file, Registry& registry) {
  const ModuleEntry module = open_module_file(file);
  if (module.error.empty()) module.register_solvers(registry);
  return module.error;
}

/// The file of a module; empty if it is missing.
fs::path find_module(const std::string& file_name, const std::vector<fs::path>& folders) {
  std::error_code missing;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / file_name, missing)) return folder / file_name;
  }
  return {};
}

std::string none_found(const std::vector<fs::path>& folders) {
  std::string named;
  for (const fs::path& folder : folders) named += fmt::format("{}'{}'", named.empty() ? "" : ", ", folder.string());
  return fmt::format(
      "no solver modules found in {}: only slow portable loops are available, install the modules or name their "
      "folder with ATTUNE_MODULES",
      named);
}

}  // namespace

ModuleEntry open_module_file(const std::string& file) {
  if (const auto why = why_truncated(file)) return {.error = *why};
  const UnboundThread loading;
  void* module = dlopen(file.c_str(), kOpenFlags);
  if (!module) return {.error = dlerror()};
  const auto version = reinterpret_cast<int (*)()>(dlsym(module, "attune_solver_interface"));
  ModuleEntry entry;
  entry.register_solvers = reinterpret_cast<decltype(entry.register_solvers)>(dlsym(module, "attune_register"));
  entry.register_ops = reinterpret_cast<decltype(entry.register_ops)>(dlsym(module, "attune_register_ops"));
  if (!version || !entry.register_solvers)
    entry.error = "not a solver module: " + file;
  else if (version() != kSolverInterface)
    entry.error = "the module belongs to another build of Attune, rebuild it: " + file;
  return entry;
}

void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry) {
  if (host == HostProcess::program) set_load_variables(specs);
  const auto folders = module_folders(host, registry.notices_);
  bool any = specs.empty();
  for (const ModuleSpec& spec : specs) {
    const std::string file_name = fmt::format("attune_solver_{}.so", spec.name);
    const fs::path file = find_module(file_name, folders);
    any = any || !file.empty();
    registry.module_ = file.string();
    std::string reason = file.empty() ? "the module " + file_name + " is not installed" : std::string();
    if (const auto why = file.empty() ? std::nullopt : why_not_trusted(file, code_file())) {
      reason = fmt::format("the module is not used, {}", *why);
      registry.notices_.push_back(fmt::format("the solver {} is excluded, {}", spec.solver_id, *why));
    }
    registry.add_unavailable(std::string(spec.solver_id), std::string(spec.title), reason);
    if (reason.empty() && host == HostProcess::program) registry.open_module(registry.entries_.back());
    registry.module_.clear();
  }
  if (!any) registry.notices_.push_back(none_found(folders));
  registry.add_registered();
  static_cast<void>(ops());  // Opens the op modules.
  for (const std::string& notice : op_module_notices()) registry.notices_.push_back(notice);
  for (const OpModule& module : op_modules()) {
    registry.module_ = module.file;
    module.entry.register_solvers(registry);
    registry.module_.clear();
  }
}

void Registry::open_module(SolverEntry& entry) {
  // An entry without a reason and without a solver is opened once, whatever the result.
  const size_t num_entries = entries_.size();
  std::string reason = register_module(entry.module, *this);
  ATTUNE_CHECK(entries_.size() == num_entries, "the module must register the solver that the build names: '{}'",
               entry.module);
  if (reason.empty() && entry.solver == nullptr) reason = "the module does not register its solver: " + entry.module;
  entry.unavailable = std::move(reason);
}

}  // namespace attune
