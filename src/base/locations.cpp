// SPDX-License-Identifier: MIT
#include "base/locations.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "base/variable.h"

namespace attune {
namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = variable_or_null(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

/// $own; else $xdg/attune; else ~/<otherwise>/attune.
Location private_folder(const char* name, const char* own, const char* xdg, const char* default_value) {
  if (const auto folder = variable(own)) return {name, *folder, own};
  if (const auto folder = variable(xdg); folder && std::filesystem::path(*folder).is_absolute())
    return {name, std::filesystem::path(*folder) / "attune", xdg};
  if (const auto home = variable("HOME"))
    return {name, std::filesystem::path(*home) / default_value / "attune", "default"};
  fail(ErrorCode::invalid_input,
       "there is no home folder, set HOME, or ATTUNE_HOME to a folder for state and ATTUNE_CACHE to one for kernels");
}

Location inside(const Location& folder, const char* name, const char* entry) {
  return {name, folder.path / entry, folder.set_by};
}

/// Missing folders below a location are created on demand; Attune never creates the user's home folder.
bool is_in_missing_home(const Location& location) {
  std::error_code ignored;
  return location.set_by == "default" && !std::filesystem::exists(variable("HOME").value_or(""), ignored);
}

[[noreturn]] void fail_missing_home(std::string_view instead) {
  fail(ErrorCode::invalid_input, "the folder that HOME names does not exist, create it or set {}: '{}'", instead,
       variable("HOME").value_or(""));
}

/// Returns what to set in place of HOME: a variable for each location that is below it.
std::string variables_instead() {
  const bool home = home_location().set_by == "default", cache = cache_location().set_by == "default";
  if (home && cache) return "ATTUNE_HOME to a folder for state and ATTUNE_CACHE to one for kernels";
  return home ? "ATTUNE_HOME to a folder for state" : "ATTUNE_CACHE to a folder for kernels";
}

void check(const Location& location) {
  if (is_in_missing_home(location)) fail_missing_home(variables_instead());
  const bool of_user = location.set_by == "default";
  std::error_code ignored;
  auto nearest = std::filesystem::absolute(location.path);
  while (!std::filesystem::exists(nearest, ignored) && nearest.has_relative_path()) nearest = nearest.parent_path();
  if (!std::filesystem::is_directory(nearest, ignored))
    fail(ErrorCode::invalid_input, "{} must name a folder, but this is a file: '{}'",
         of_user ? "HOME" : location.set_by, nearest.string());
}

}  // namespace

std::filesystem::path code_file() {
  std::error_code ignored;
  Dl_info info{};
  link_map* object = nullptr;
  const bool found = ::dladdr1(reinterpret_cast<const void*>(&code_file), &info, reinterpret_cast<void**>(&object),
                               RTLD_DL_LINKMAP) != 0;
  // The program itself has no name in this list, and its argv[0] does not tell its path.
  const bool is_program = !found || object == nullptr || object->l_name == nullptr || *object->l_name == '\0';
  if (is_program) return std::filesystem::read_symlink("/proc/self/exe", ignored);
  return std::filesystem::canonical(object->l_name, ignored);
}

std::filesystem::path code_folder() { return code_file().parent_path(); }

Location config_location() {
  if (const auto folder = variable("ATTUNE_CONFIG_DIR")) return {"configs", *folder, "ATTUNE_CONFIG_DIR"};
  // prefix/bin, prefix/lib or prefix/lib/x86_64-linux-gnu when installed; build/<preset> in a source tree.
  const auto above = code_folder().parent_path(), further = above.parent_path();
  std::error_code ignored;
  for (const auto& [candidate, label] :
       {std::pair(above / "share/attune/configs", "installation"),
        std::pair(further / "share/attune/configs", "installation"), std::pair(further / "configs", "source tree")}) {
    if (std::filesystem::is_directory(candidate, ignored)) return {"configs", candidate, label};
  }
  return {"configs", above / "share/attune/configs", "installation"};
}

Location home_location() { return private_folder("home", "ATTUNE_HOME", "XDG_STATE_HOME", ".local/state"); }
Location journal_location() { return inside(home_location(), "journal", "journal.db"); }
Location captures_location() {
  if (const auto folder = variable("ATTUNE_CAPTURE_DIR")) return {"captures", *folder, "ATTUNE_CAPTURE_DIR"};
  return inside(home_location(), "captures", "captures");
}
Location overlay_location() { return inside(home_location(), "overlay", "overlay"); }
Location cache_location() { return private_folder("kernels", "ATTUNE_CACHE", "XDG_CACHE_HOME", ".cache"); }

std::vector<Location> all_locations() {
  return {config_location(),   home_location(),    journal_location(),
          captures_location(), overlay_location(), cache_location()};
}

void check_home_location() { check(home_location()); }
void check_cache_location() { check(cache_location()); }
void check_captures_location() {
  if (path_if_any(captures_location).empty())
    fail(ErrorCode::invalid_input, "there is no home folder, set HOME, or ATTUNE_CAPTURE_DIR to a folder");
  if (is_in_missing_home(captures_location())) fail_missing_home("ATTUNE_CAPTURE_DIR to a folder");
}

std::filesystem::path path_if_any(Location (&location)()) noexcept {
  try {
    return location().path;
  } catch (const Error&) {
    return {};
  }
}

std::filesystem::path journal_file(const std::string& option) {
  if (!option.empty()) return option;
  check_home_location();
  return journal_location().path;
}

std::filesystem::path existing_journal(const std::string& option) {
  const auto file = journal_file(option);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file)))
    fail(ErrorCode::not_found, "there is no such journal, check the path: '{}'", file.string());
  return file;
}

}  // namespace attune
