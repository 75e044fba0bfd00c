// SPDX-License-Identifier: MIT
#include "base/locations.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cerrno>
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

/// A private folder: $own; else $xdg/attune; else ~/<in_home>/attune.
struct PrivateFolder {
  const char *name, *own, *xdg, *in_home;
  const char* remedy;  ///< Variable to set in place of HOME.
};
constexpr PrivateFolder kHome{"home", "ATTUNE_HOME", "XDG_STATE_HOME", ".local/state",
                              "ATTUNE_HOME to a folder for state"};
constexpr PrivateFolder kKernels{"kernels", "ATTUNE_CACHE", "XDG_CACHE_HOME", ".cache",
                                 "ATTUNE_CACHE to a folder for kernels"};
constexpr const char* kCapturesRemedy = "ATTUNE_CAPTURE_DIR to a folder";

/// Returns the location that a variable other than HOME states.
std::optional<Location> stated_location(const PrivateFolder& one) {
  if (const auto folder = variable(one.own)) return Location{one.name, *folder, one.own};
  if (const auto folder = variable(one.xdg); folder && std::filesystem::path(*folder).is_absolute())
    return Location{one.name, std::filesystem::path(*folder) / "attune", one.xdg};
  return std::nullopt;
}

/// Returns what to set in place of HOME: a variable for each folder that no variable states.
std::string variables_instead() {
  const bool home = !stated_location(kHome), kernels = !stated_location(kKernels);
  if (home && kernels) return fmt::format("{} and ATTUNE_CACHE to one for kernels", kHome.remedy);
  return home ? kHome.remedy : kKernels.remedy;
}

Location location_of(const PrivateFolder& one) {
  if (auto stated = stated_location(one)) return *std::move(stated);
  if (const auto home = variable("HOME"))
    return {one.name, std::filesystem::path(*home) / one.in_home / "attune", "default"};
  fail(ErrorCode::invalid_input, "there is no home folder, set HOME, or {}", variables_instead());
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

/// The variable that leads to a location, for a message.
std::string variable_of(const Location& location) { return location.set_by == "default" ? "HOME" : location.set_by; }

/// Returns what to set so that a location is elsewhere.
std::string remedy_of(const Location& location) {
  if (location.set_by == "ATTUNE_CAPTURE_DIR") return kCapturesRemedy;
  if (location.set_by == "default") return variables_instead();
  return location.name == kKernels.name ? kKernels.remedy : kHome.remedy;
}

void check(const Location& location) {
  if (is_in_missing_home(location)) fail_missing_home(variables_instead());
  check_access(location);
  std::error_code ignored;
  auto nearest = std::filesystem::absolute(location.path);
  while (!std::filesystem::exists(nearest, ignored) && nearest.has_relative_path()) nearest = nearest.parent_path();
  if (!std::filesystem::is_directory(nearest, ignored))
    fail(ErrorCode::invalid_input, "{} must name a folder, but this is a file: '{}'", variable_of(location),
         nearest.string());
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

Location home_location() { return location_of(kHome); }
Location journal_location() { return inside(home_location(), "journal", "journal.db"); }
Location captures_location() {
  if (const auto folder = variable("ATTUNE_CAPTURE_DIR")) return {"captures", *folder, "ATTUNE_CAPTURE_DIR"};
  return inside(home_location(), "captures", "captures");
}
Location overlay_location() { return inside(home_location(), "overlay", "overlay"); }
Location cache_location() { return location_of(kKernels); }
Location merged_location() { return inside(cache_location(), "merged", "merged"); }
Location installed_kernels_location() {
  // From bin or lib; from lib/x86_64-linux-gnu, where the library's folder is beside or below `attune`.
  const auto here = code_folder(), above = here.parent_path();
  std::error_code ignored;
  for (const auto& folder : {here / "attune/kernels", above / "attune/kernels"}) {
    if (std::filesystem::is_directory(folder, ignored)) return {"prebuilt", folder, "installation"};
  }
  return {"prebuilt", above / "lib/attune/kernels", "installation"};
}

std::vector<Location> all_locations() {
  return {config_location(),  home_location(),  journal_location(), captures_location(),
          overlay_location(), cache_location(), merged_location(),  installed_kernels_location()};
}

void check_home_location() { check(home_location()); }
void check_cache_location() { check(cache_location()); }
void check_captures_location() {
  if (path_if_any(captures_location).empty())
    fail(ErrorCode::invalid_input, "there is no home folder, set HOME, or {}", kCapturesRemedy);
  if (is_in_missing_home(captures_location())) fail_missing_home(kCapturesRemedy);
}
void check_access(const Location& location) {
  if (::faccessat(AT_FDCWD, location.path.c_str(), X_OK, AT_EACCESS) == 0 || errno != EACCES) return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(location.path, ignored)) return;
  fail(ErrorCode::invalid_input, "this user may not use the folder that {} leads to, set {}: '{}'",
       variable_of(location), remedy_of(location), location.path.string());
}

std::filesystem::path fixed_path(const std::filesystem::path& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute;
}

std::filesystem::path path_if_any(Location (&location)()) {
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
