// SPDX-License-Identifier: MIT
#include "pipeline/run/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
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

constexpr const char *kLocked = "run", *kChosen = "chosen", *kNew = "configs", *kOld = "before";

/// The files and folders that each run makes, except the ones that hold its progress.
constexpr const char* kMade[] = {RunFolder::kBefore,   RunFolder::kAfter, RunFolder::kSummary,
                                 RunFolder::kPage,     RunFolder::kTests, RunFolder::kLog,
                                 RunFolder::kMeasured, RunFolder::kDiff,  RunFolder::kJournal};
constexpr const char* kFolders[] = {kNew, kOld, kChosen};

std::string lock_name() { return fmt::format("{}.lock", kLocked); }

/// With links followed as far as the path is there.
fs::path whole(const fs::path& path) {
  std::error_code failed;
  const fs::path canonical = fs::weakly_canonical(fs::absolute(path), failed);
  return (failed ? fs::absolute(path) : canonical) / "";  // Whether it ends with a slash or not.
}

/// Whether a path is a folder itself, or below it.
bool is_in(const fs::path& path, const fs::path& folder) {
  const fs::path inner = whole(path).parent_path(), outer = whole(folder).parent_path();
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// Throws invalid_input unless a folder of copied tables can be written as it is.
void check_copies(const fs::path& folder) {
  std::error_code missing;
  if (!fs::exists(fs::symlink_status(folder, missing))) return;
  if (!fs::is_directory(folder, missing))
    fail(ErrorCode::invalid_input, "expected a folder of a run, remove what is in its place: '{}'", shown_path(folder));
  std::error_code unreadable;
  for (fs::recursive_directory_iterator one(folder, unreadable), end; !unreadable && one != end;
       one.increment(unreadable)) {
    if (one->path().extension() == ".csv") check_output(one->path());
  }
  if (unreadable)
    fail(ErrorCode::invalid_input, "a folder of a run cannot be read ({}), remove it: '{}'", unreadable.message(),
         shown_path(folder));
}

/// Throws invalid_input unless every artefact can be written, so that an obstacle is found before the work, not after
/// it.
void check_places(const fs::path& folder) {
  for (const char* name : kMade) check_output(folder / name);
  for (const std::string& name : {std::string(RunFolder::kResults), std::string(RunFolder::kBegan), lock_name()})
    check_output(folder / name);
  for (const char* name : kFolders) check_copies(folder / name);
}

/// Whether nothing is there, except the lock and the unfinished file of a call that was killed before it had written
/// anything else.
bool is_free(const fs::path& folder) {
  std::error_code missing;
  if (!fs::exists(folder, missing)) return true;
  if (!fs::is_directory(folder, missing)) return false;
  const auto is_begun = [](const fs::directory_entry& one) {
    const std::string name = one.path().filename().string();
    return name == lock_name() || is_temporary_name(name, RunFolder::kResults);
  };
  return std::ranges::all_of(fs::directory_iterator(folder, missing), is_begun);
}

void take(std::optional<FileLock>& lock, const fs::path& folder) {
  try {
    lock.emplace(folder / kLocked, FileLock::Use::alone, 0.0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    fail(ErrorCode::timeout,
         "another run writes its results there, wait for its end or name another folder with -o: '{}'",
         shown_path(folder));
  }
}

}  // namespace

RunFolder::RunFolder(fs::path folder, fs::path config_dir, const ordered_json& inputs, const ordered_json& devices)
    : folder_(std::move(folder)), config_dir_(std::move(config_dir)), inputs_(inputs.dump()), devices_(devices.dump()) {
  const bool is_overwritten =
      std::ranges::any_of(kFolders, [&](const char* own) { return is_in(config_dir_, folder_ / own); });
  if (is_overwritten || is_in(folder_, config_dir_))
    fail(ErrorCode::invalid_input,
         "the folder for the results and the configuration folder lie in each other, name another with -o: '{}'",
         shown_path(folder_));
  check_output_folder(folder_);
  look();
}

/// Whether the folder holds an unfinished run, or none.
void RunFolder::look() {
  std::error_code missing;
  if (!fs::exists(folder_, missing)) return;
  const bool is_new = is_free(folder_);
  if (!is_new && !fs::exists(file(kResults), missing))
    fail(ErrorCode::invalid_input,
         "the folder for the results holds other files and no results.json, name another with -o: '{}'",
         shown_path(folder_));
  check_places(folder_);
  if (is_new) return;
  const ordered_json last = read(kResults);
  const ordered_json ending = last.value("ending", ordered_json(""));
  if (!ending.is_string())
    fail(ErrorCode::invalid_input, "the file of a run does not say how it ended, remove the folder: '{}'",
         shown_path(file(kResults)));
  is_resumed_ = ending == run_ending::running || ending == run_ending::interrupted;
  if (is_resumed_ && last.value("inputs", ordered_json()).dump() != inputs_)
    fail(ErrorCode::invalid_input,
         "the folder holds an unfinished run with other inputs: give those, remove it or name another with -o: '{}'",
         shown_path(folder_));
  if (is_resumed_) check_devices();
}

/// Throws invalid_input if the unfinished run is of other devices.
void RunFolder::check_devices() const {
  const ordered_json then = read(kBegan).value("devices", ordered_json()), now = ordered_json::parse(devices_);
  if (then == now) return;
  for (const auto& [family, device] : now.items()) {
    const ordered_json earlier = then.is_object() ? then.value(family, ordered_json()) : ordered_json();
    if (earlier == device) continue;
    fail(ErrorCode::invalid_input,
         "the folder holds an unfinished run of another device, {} in place of {}: go on there, remove it or name "
         "another with -o: '{}'",
         earlier.is_string() ? shown(earlier.get<std::string>()) : "an unknown one", device.get<std::string>(),
         shown_path(folder_));
  }
}

void RunFolder::begin(std::span<const FamilySpec* const> families, int64_t journal_entry,
                      const std::function<void()>& choose) {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed)
    fail(ErrorCode::io, "cannot make the folder of results ({}), name another with -o: '{}'", failed.message(),
         shown_path(folder_));
  take(lock_, folder_);
  for (const char* name : kMade) remove_stale_temporaries(file(name));
  for (const char* name : {kResults, kBegan}) remove_stale_temporaries(file(name));
  look();
  if (is_resumed_) return write_began(read(kBegan), journal_entry);
  write_ending(run_ending::begun);
  for (const char* name : kMade) fs::remove(file(name), failed);
  for (const char* name : kFolders) fs::remove_all(folder_ / name, failed);
  for (const FamilySpec* family : families) copy_tables(*family, config_dir_, old_tables());
  if (choose) choose();
  write_began({{"version", 1}, {"journal_entry", journal_entry}, {"devices", ordered_json::parse(devices_)}},
              journal_entry);
  write_ending(run_ending::running);
}

void RunFolder::write_began(ordered_json began, int64_t newest_entry) const {
  ordered_json calls = ordered_json::array();
  if (is_resumed_) {
    for (const JournalWriter& one : callers()) calls.push_back({{"host", one.host}, {"pid", one.pid}});
  }
  calls.push_back({{"host", host_name()}, {"pid", ::getpid()}});
  began["calls"] = std::move(calls);
  if (is_resumed_) began["journal_entry"] = std::min(journal_entry(), newest_entry);
  write(kBegan, began);
}

bool RunFolder::is_gone() const {
  std::error_code unreadable;
  return !fs::exists(file(kBegan), unreadable);
}

fs::path RunFolder::old_tables() const { return folder_ / kOld; }

fs::path RunFolder::chosen_list(const FamilySpec& family) const {
  return folder_ / kChosen / untuned_file_name(family);
}

void RunFolder::keep_chosen(const FamilySpec& family, const std::string& rows) const {
  std::error_code failed;
  fs::create_directories(folder_ / kChosen, failed);
  write_file_atomically(chosen_list(family), rows);
}

int64_t RunFolder::journal_entry() const {
  const ordered_json began = read(kBegan);
  const auto entry = began.find("journal_entry");
  if (entry == began.end() || !entry->is_number_integer())
    fail(ErrorCode::invalid_input, "the file of a run does not say where it began, remove the folder: '{}'",
         shown_path(file(kBegan)));
  return entry->get<int64_t>();
}

std::vector<JournalWriter> RunFolder::callers() const {
  std::vector<JournalWriter> callers;
  const ordered_json began = read(kBegan);
  try {
    for (const ordered_json& one : began.value("calls", ordered_json::array()))
      callers.push_back({one.at("host").get<std::string>(), one.at("pid").get<int64_t>()});
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::invalid_input, "the file of a run does not say which calls it had, remove the folder: '{}'",
         shown_path(file(kBegan)));
  }
  return callers;
}

void RunFolder::keep_tables(const FamilySpec& family) const {
  const fs::path copies = folder_ / kNew;
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
