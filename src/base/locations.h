// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace attune {

/// A path, and the variable or rule that set it: `ATTUNE_HOME`, `XDG_STATE_HOME`, `default` …
struct Location {
  std::string name;  ///< `journal`
  std::filesystem::path path;
  std::string set_by;
};

/// The file that contains this code (the program, or the library that an application links), and its folder.
std::filesystem::path code_file();
std::filesystem::path code_folder();

/// Tables: $ATTUNE_CONFIG_DIR; else the installed share/attune/configs beside the code's folder, or one folder further
/// up (lib/x86_64-linux-gnu); else `configs` of the source tree of this build.
Location config_location();
/// State: $ATTUNE_HOME; else $XDG_STATE_HOME/attune; else ~/.local/state/attune. XDG folders that are not absolute are
/// ignored, as their specification demands.
Location home_location();
/// The journal that `--journal` names, else the user's. Throws invalid_input when the user's can be nowhere.
std::filesystem::path journal_file(const std::string& option);
/// Like journal_file(); throws not_found when there is no such file.
std::filesystem::path existing_journal(const std::string& option);
Location journal_location();   ///< journal.db in the state folder.
Location captures_location();  ///< $ATTUNE_CAPTURE_DIR; else captures/ in the state folder.
Location overlay_location();
Location cache_location();   ///< Kernels: $ATTUNE_CACHE; else $XDG_CACHE_HOME/attune; else ~/.cache/attune.
Location merged_location();  ///< Merged tables: merged/ in the folder of kernels.
/// Kernels that `PREBUILD_KERNELS=1 cmake --install` compiled: lib/attune/kernels of the installation. Need not exist.
Location installed_kernels_location();
std::vector<Location> all_locations();
/// Path of a location, or empty where there is no home folder: a library must not stop its application for that.
std::filesystem::path path_if_any(Location (&location)());
/// Returns the absolute form of a path that a variable or an option gives, so that it stays the same when the process
/// changes its folder. Empty stays empty; a relative path stays as it is where the current folder is gone.
std::filesystem::path fixed_path(const std::filesystem::path& path);

/// Throws invalid_input, naming the variable that leads to a folder and what to set, when this user may not look into
/// it.
void check_access(const Location& folder);
/// Throws invalid_input, naming the faulty variable and what to set, when the state folder is impossible: below
/// something that is not a folder, in a home folder that does not exist, or where this user may not look.
void check_home_location();
void check_cache_location();  ///< Like check_home_location(), for the folder of kernels.
/// Throws invalid_input when captured shapes would be in a home folder that does not exist.
void check_captures_location();

}  // namespace attune
