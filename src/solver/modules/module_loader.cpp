// SPDX-License-Identifier: MIT
#include "solver/modules/module_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/trusted_path.h"
#include "solver/modules/library_settings.h"
#include "solver/modules/module_file.h"
#include "solver/modules/op_modules.h"
#include "solver/threads/new_threads.h"

extern char** environ;

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Kind of device of every module. Solvers of other kinds are linked in and open their drivers on demand.
constexpr const char* kModuleDevices = "host";

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

/// Hides settings that no result states while the modules' libraries are loaded, which is when OpenMP and OpenBLAS read
/// theirs. Before any other thread starts.
class HiddenSettings {
 public:
  HiddenSettings() {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text(*entry);
      const std::string name = text.substr(0, text.find('='));
      if (is_unrecorded_setting(name) && name.size() < text.size()) hidden_.emplace(name, text.substr(name.size() + 1));
    }
    for (const auto& [name, value] : hidden_) unsetenv(name.c_str());
  }
  ~HiddenSettings() {
    for (const auto& [name, value] : hidden_) setenv(name.c_str(), value.c_str(), 1);
  }
  void keep_hidden() noexcept { hidden_.clear(); }
  HiddenSettings(const HiddenSettings&) = delete;
  HiddenSettings& operator=(const HiddenSettings&) = delete;

 private:
  std::map<std::string, std::string> hidden_;
};

/// Opens one module and calls its registration; returns the reason for a failure.
std::string register_module(const std::string& file, Registry& registry) {
  const ModuleEntry module = open_module_file(file);
  return module.error.empty() ? why_failed(file, [&] { module.register_solvers(registry); }) : module.error;
}

/// Whether the address space has room for what a library maps when it is loaded.
bool has_room_for_library() {
  constexpr size_t kBytes = size_t{192} << 20;  // OpenBLAS 0.3.29: 36 MiB of code and 128 MiB to work in.
  void* const room =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room != MAP_FAILED && ::munmap(room, kBytes) == 0;
}

/// Why a library that starts threads must not be opened; empty: it may.
std::string why_no_threads() {
  const size_t cores = std::max<size_t>(1, process_cores().size());
  if (!can_start_threads(cores - 1))
    return fmt::format(
        "its library starts {} threads, which the system refuses: raise the limit of processes (ulimit -u, pids.max)",
        cores - 1);
  if (!has_room_for_library())
    return "its library waits without end where it gets no memory, and 192 MiB are not free: raise the limit of the "
           "address space (ulimit -v)";
  return {};
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
  if (!op_modules().empty())
    return fmt::format(
        "only op and device modules found in {}: of this build's own ops only slow portable loops are available, "
        "install its "
        "solver modules there too",
        named);
  return fmt::format(
      "no solver modules found in {}: only slow portable loops are available, install the modules or name their "
      "folder with ATTUNE_MODULES",
      named);
}

}  // namespace

void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry) {
  std::optional<HiddenSettings> hidden;
  if (host != HostProcess::application) {
    hidden.emplace();
    set_load_variables(specs);
  }
  const auto folders = module_folders(host, registry.notices_);
  bool any = specs.empty();
  for (const ModuleSpec& spec : specs) {
    const std::string file_name = fmt::format("attune_solver_{}.so", spec.name);
    const fs::path file = find_module(file_name, folders);
    any = any || !file.empty();
    registry.module_ = file.string();
    if (spec.starts_threads) registry.thread_starters_.push_back(registry.module_);
    std::string reason = file.empty() ? "the module " + file_name + " is not installed" : std::string();
    if (const auto why = file.empty() ? std::nullopt : why_not_trusted(file, code_file())) {
      reason = fmt::format("the module is not used, {}", *why);
      registry.notices_.push_back(fmt::format("the solver {} is excluded, {}", fmt::join(spec.solver_ids, ", "), *why));
    }
    for (const std::string_view id : spec.solver_ids) {
      registry.add_unavailable(std::string(id), std::string(spec.title), reason);
      registry.entries_.back().device_kind = kModuleDevices;
    }
    if (reason.empty() && host == HostProcess::program) registry.open_module(registry.module_);
    registry.module_.clear();
  }
  // A worker opens its modules later.
  if (host == HostProcess::worker) hidden->keep_hidden();
  registry.add_registered();
  static_cast<void>(ops());  // Opens the op modules.
  if (!any) registry.notices_.push_back(none_found(folders));
  for (const std::string& notice : op_module_notices()) registry.notices_.push_back(notice);
  for (const OpModule& module : op_modules()) {
    registry.module_ = module.file;
    const std::string why = why_failed(module.file, [&] { module.entry.register_solvers(registry); });
    if (!why.empty()) registry.notices_.push_back("the solvers of an op or device module are excluded, " + why);
    registry.module_.clear();
  }
}

void Registry::open_module(const std::string& file) {
  const bool starts_threads = std::ranges::find(thread_starters_, file) != thread_starters_.end();
  std::string reason = starts_threads ? why_no_threads() : std::string();
  is_opening_ = true;
  if (reason.empty()) reason = register_module(file, *this);
  is_opening_ = false;
  // An entry without a reason and without a solver is opened once, whatever the result.
  for (SolverEntry& entry : entries_) {
    if (entry.module != file) continue;
    entry.unavailable = reason;
    if (!reason.empty()) entry.solver = nullptr;
    if (entry.solver == nullptr && reason.empty())
      entry.unavailable = "the module does not register the solver that the build names: " + file;
  }
}

}  // namespace attune
