// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "ops/family.h"
#include "pipeline/run/journal_extract.h"

namespace attune {

/// The folder of a pipeline's run (docs/ci_reference.md): its artefacts, from which the next call goes on if the run
/// did not end. One run at a time uses it: begin() takes a lock, which the system frees when a run is killed.
class RunFolder {
 public:
  /// Names of files in the folder.
  static constexpr const char *kResults = "results.json", *kBefore = "before.json", *kAfter = "after.json",
                              *kSummary = "report.md", *kPage = "report.html", *kTests = "junit.xml", *kLog = "log.txt",
                              *kMeasured = "measured.jsonl", *kBegan = "began.json", *kDiff = "diff.md",
                              *kJournal = "journal.jsonl";

  /// Checks a folder that need not exist; writes nothing. `inputs`: the run's settings; `devices`: for each family a
  /// text that identifies the device on which it is measured. Only a run with equal ones is resumed: samples of two
  /// devices prove nothing together. Throws invalid_input if the folder holds files of no run, or an unfinished run
  /// with other inputs or of another device. It also throws if an artefact cannot be written because its place is
  /// taken, or if the folder and the configuration folder lie in each other.
  RunFolder(std::filesystem::path folder, std::filesystem::path config_dir, const nlohmann::ordered_json& inputs,
            const nlohmann::ordered_json& devices);

  /// Whether an earlier call of this run did not finish.
  bool is_resumed() const noexcept { return is_resumed_; }
  /// Makes the folder and locks it for the life of this object. Keeps copies of the families' tables, unless an earlier
  /// call of the run did. Removes the remains of a finished run. `journal_entry`: the newest one now. `choose`: keeps
  /// the lists of chosen shapes of a run that begins. Throws timeout if another run has the lock, what the constructor
  /// throws if the folder has changed since, and io.
  void begin(std::span<const FamilySpec* const> families, int64_t journal_entry,
             const std::function<void()>& choose = {});
  /// The newest entry of the journal (Stamp::id) when the run began: later entries may be the run's own. If the journal
  /// has been replaced by a shorter one since, its newest entry when the run was resumed. Requires: begin().
  int64_t journal_entry() const;
  /// Whether the folder was removed since begin(). Then nothing more is written there, because the old tables are gone,
  /// too.
  bool is_gone() const;
  /// The processes of the run's calls, this one included. Requires: begin().
  std::vector<JournalWriter> callers() const;

  /// A family's list of the chosen shapes. It stays as it was when the run began, because tuning changes which shapes
  /// are stale.
  std::filesystem::path chosen_list(const FamilySpec& family) const;
  void keep_chosen(const FamilySpec& family, const std::string& rows) const;

  std::filesystem::path file(const char* name) const { return folder_ / name; }
  const std::filesystem::path& config_dir() const noexcept { return config_dir_; }
  /// The tables as they were when the run began, laid out as the configuration folder.
  std::filesystem::path old_tables() const;
  /// Copies a family's tables and its list of shapes as they are now. Throws io.
  void keep_tables(const FamilySpec& family) const;

  /// Returns an empty object if there is no such file. Throws invalid_input if it is no JSON object.
  nlohmann::ordered_json read(const char* name) const;
  void write(const char* name, const nlohmann::ordered_json& document) const;

 private:
  void look();
  void check_devices() const;
  /// Writes where the run began, with this call; `newest_entry`: of the journal as it is now.
  void write_began(nlohmann::ordered_json began, int64_t newest_entry) const;
  void write_ending(const char* ending) const;

  std::filesystem::path folder_, config_dir_;
  std::string inputs_, devices_;  ///< As JSON.
  bool is_resumed_ = false;
  std::optional<FileLock> lock_;
};

/// The words of `ending` in results.json. begun: the tables are not kept yet.
namespace run_ending {
inline constexpr const char *begun = "begun", *running = "running", *interrupted = "interrupted", *done = "done";
}

}  // namespace attune
