// SPDX-License-Identifier: MIT
#include "solver/modules/op_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/locations.h"
#include "base/trusted_path.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// Never destroyed: the process may be ending while a thread asks.
struct OpModules {
  std::vector<OpModule> opened;
  std::vector<std::string> notices;
};
OpModules& all_op_modules() noexcept {
  alignas(OpModules) static std::byte memory[sizeof(OpModules)];
  static OpModules& all = *new (memory) OpModules;  // Allocates nothing.
  return all;
}

/// The files of op modules in a folder, in the order of their names; none for a folder that cannot be read, which
/// load_modules() reports.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_one = name.starts_with("attune_op_") || name.starts_with("attune_device_");
    if (is_one && name.ends_with(".so")) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void open_op_module(const std::string& file, OpModules& all) {
  if (const auto why = why_not_trusted(file, code_file())) {
    all.notices.push_back(fmt::format("an op or device module is excluded, {}", *why));
    return;
  }
  const ModuleEntry entry = open_module_file(file);
  if (!entry.error.empty() || (entry.register_ops == nullptr && entry.register_devices == nullptr)) {
    all.notices.push_back(fmt::format("an op or device module is excluded, {}",
                                      entry.error.empty() ? "it registers no op and no device: " + file : entry.error));
    return;
  }
  if (const std::string why = register_parts(file, entry); !why.empty())
    all.notices.push_back(fmt::format("an op or device module is excluded, {}", why));
  else
    all.opened.push_back({file, entry});
}

void open_all() noexcept {
  OpModules& all = all_op_modules();
  try {
    std::vector<std::string> of_the_solvers;  // load_modules() has these notices too.
    std::set<fs::path> names;
    for (const fs::path& folder : module_folders(HostProcess::application, of_the_solvers)) {
      for (const fs::path& file : files_in(folder)) {
        if (!names.insert(file.filename()).second) continue;
        open_op_module(file.string(), all);
      }
    }
  } catch (const std::exception& error) {
    // No memory: the ops of this build remain.
  }
}

}  // namespace

void load_op_modules() noexcept {
  static std::once_flag once;
  std::call_once(once, open_all);
}

std::span<const OpModule> op_modules() noexcept { return all_op_modules().opened; }
std::span<const std::string> op_module_notices() noexcept { return all_op_modules().notices; }

}  // namespace attune
