// SPDX-License-Identifier: MIT
#include "solver/modules/module_file.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/library/separate_library.h"
#include "base/locations.h"
#include "base/variable.h"
#include "device/core_binding.h"
#include "solver/shared_library.h"

namespace attune {
namespace {

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
    if (host != HostProcess::application) fail(ErrorCode::invalid_input, "{}", sentence);
    notices.push_back(sentence);
  }
  return own_module_folders();
}

std::vector<fs::path> own_module_folders() {
  // Candidates: in a build; from bin; from lib; from lib/x86_64-linux-gnu.
  const auto here = code_folder(), above = here.parent_path();
  return {here / "modules", above / "lib/attune/modules", here / "attune/modules", above / "attune/modules"};
}

ModuleEntry open_module_file(const std::string& file) {
  // A FIFO would wait for a writer.
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {.error = "not a regular file: " + file};
  if (const auto why = why_truncated(file)) return {.error = *why};
  const UnboundThread loading;
  std::string why;
  void* const module = open_separately(file, why);
  if (module == nullptr)
    return {.error = fmt::format("the loader cannot open the module, install the library that it names or the module "
                                 "again: {}",
                                 why)};
  const auto version = reinterpret_cast<int (*)()>(dlsym(module, "attune_solver_interface"));
  ModuleEntry entry;
  entry.register_solvers = reinterpret_cast<decltype(entry.register_solvers)>(dlsym(module, "attune_register"));
  entry.register_ops = reinterpret_cast<decltype(entry.register_ops)>(dlsym(module, "attune_register_ops"));
  entry.register_devices = reinterpret_cast<decltype(entry.register_devices)>(dlsym(module, "attune_register_devices"));
  entry.register_compilers =
      reinterpret_cast<decltype(entry.register_compilers)>(dlsym(module, "attune_register_compilers"));
  if (!version || !entry.register_solvers)
    entry.error = "not a solver module: " + file;
  else if (version() != kSolverInterface)
    entry.error = "the module belongs to another build of Attune, rebuild it: " + file;
  return entry;
}

namespace {

/// What a module has registered so far. Entry points take functions without state.
struct ModuleParts {
  std::vector<const Op*> ops;
  std::vector<std::string> devices;
  std::vector<const Compiler*> compilers;
};
ModuleParts* registering = nullptr;

void add_op(const Op& op) {
  register_op(op);
  registering->ops.push_back(&op);
}
void add_device(const DeviceKind& kind) {
  register_device_kind(kind);
  registering->devices.emplace_back(kind.name);
}
void add_compiler(const Compiler& compiler) {
  register_compiler(compiler);
  registering->compilers.push_back(&compiler);
}

void withdraw(const ModuleParts& parts) noexcept {
  for (const Op* op : parts.ops) withdraw_op(*op);
  for (const std::string& kind : parts.devices) withdraw_device_kind(kind);
  for (const Compiler* compiler : parts.compilers) withdraw_compiler(*compiler);
}

}  // namespace

std::string register_parts(const std::string& file, const ModuleEntry& entry) {
  ModuleParts parts;
  registering = &parts;
  std::string why = why_failed(file, [&] {
    if (entry.register_ops != nullptr) entry.register_ops(&add_op);
    if (entry.register_devices != nullptr) entry.register_devices(&add_device);
    if (entry.register_compilers != nullptr) entry.register_compilers(&add_compiler);
  });
  registering = nullptr;
  if (!why.empty()) withdraw(parts);
  return why;
}

std::string why_failed(const std::string& file, const std::function<void()>& registration) {
  try {
    registration();
  } catch (const std::exception& error) {
    return fmt::format("{}: '{}'", error.what(), file);
  } catch (...) {
    return "an exception of unknown type: " + file;
  }
  return {};
}

}  // namespace attune
