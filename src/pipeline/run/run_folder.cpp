// SPDX-License-Identifier: MIT
#include "pipeline/run/run_folder.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/untuned_table.h"
#include "pipeline/run/family_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string shown_path(const fs::path& path) { return shown(path.string(), 500); }

/// Copies a file to the same place below another folder; one that is not there is no error.
void copy_below(const fs::path& file, const fs::path& from, const fs::path& to) {
  std::error_code missing;
  if (!fs::is_regular_file(file, missing)) return;
  const fs::path copy = to / file.lexically_relative(from);
  fs::create_directories(copy.parent_path(), missing);
  write_file_atomically(copy, read_file(file));
}

void copy_tables(const FamilySpec& family, const fs::path& from, const fs::path& to) {
  for (const fs::path& file : table_files_in(family, from)) copy_below(file, from, to);
}

/// Whether nothing is there that a run would not have made.
bool is_free(const fs::path& folder) {
  std::error_code missing;
  return !fs::exists(folder, missing) || (fs::is_directory(folder, missing) && fs::is_empty(folder, missing));
}

}  // namespace

RunFolder::RunFolder(fs::path folder, fs::path config_dir, const ordered_json& inputs)
    : folder_(std::move(folder)), config_dir_(std::move(config_dir)), inputs_(inputs.dump()) {
  std::error_code missing;
  for (const fs::path& own : {folder_, folder_ / "configs", folder_ / "before"}) {
    if (fs::equivalent(own, config_dir_, missing))
      fail(ErrorCode::invalid_input, "the results would overwrite the configuration folder, name another with -o: '{}'",
           shown_path(folder_));
  }
  check_output_folder(folder_);
  if (is_free(folder_)) return;
  if (!fs::exists(file(kResults), missing))
    fail(ErrorCode::invalid_input,
         "the folder for the results holds other files and no results.json, name another with -o: '{}'",
         shown_path(folder_));
  const ordered_json last = read(kResults);
  const std::string ending = last.value("ending", "");
  is_resumed_ = ending == run_ending::running || ending == run_ending::interrupted;
  if (is_resumed_ && last.value("inputs", ordered_json()) != inputs)
    fail(ErrorCode::invalid_input,
         "the folder holds an unfinished run with other inputs: give those, remove it or name another with -o: '{}'",
         shown_path(folder_));
}

void RunFolder::begin(std::span<const FamilySpec* const> families) {
  if (is_resumed_) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  write_ending(run_ending::begun);
  for (const char* name : {kBefore, kAfter, kSummary, kPage, kTests, kLog}) fs::remove(file(name), failed);
  for (const fs::path& own : {folder_ / "configs", old_tables()}) fs::remove_all(own, failed);
  for (const FamilySpec* family : families) copy_tables(*family, config_dir_, old_tables());
  write_ending(run_ending::running);
}

void RunFolder::keep_tables(const FamilySpec& family) const {
  const fs::path copies = folder_ / "configs";
  copy_tables(family, config_dir_, copies);
  copy_below(config_dir_ / untuned_file_name(family), config_dir_, copies);
}

ordered_json RunFolder::read(const char* name) const {
  std::error_code missing;
  if (!fs::exists(file(name), missing)) return ordered_json::object();
  ordered_json document = ordered_json::parse(read_file(file(name)), nullptr, false);
  if (!document.is_object())
    fail(ErrorCode::invalid_input, "the file of a run is no JSON object, remove the folder: '{}'",
         shown_path(file(name)));
  return document;
}

void RunFolder::write(const char* name, const ordered_json& document) const {
  write_file_atomically(file(name), document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void RunFolder::write_ending(const char* ending) const {
  write(kResults, {{"version", 1}, {"ending", ending}, {"inputs", ordered_json::parse(inputs_)}});
}

}  // namespace attune
