// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "ops/family.h"

namespace attune {

/// The folder of a pipeline's run (docs/ci.md): its artefacts, from which the next call goes on if the run did not end.
/// One run at a time uses it.
class RunFolder {
 public:
  /// Names of files in the folder.
  static constexpr const char *kResults = "results.json", *kBefore = "before.json", *kAfter = "after.json",
                              *kSummary = "report.md", *kPage = "report.html", *kTests = "junit.xml", *kLog = "log.txt";

  /// Checks a folder that need not exist; writes nothing. `inputs`: what a run goes by; only a run with equal ones is
  /// gone on with. Throws invalid_input if the folder holds other files than those of a run, an unfinished run with
  /// other inputs, or is in the way of the configuration folder.
  RunFolder(std::filesystem::path folder, std::filesystem::path config_dir, const nlohmann::ordered_json& inputs);

  /// Whether an earlier call of this run did not come to its end.
  bool is_resumed() const noexcept { return is_resumed_; }
  /// Makes the folder, and keeps the tables of the families as they are, unless an earlier call of the run did. What is
  /// left of a finished run is removed. Throws io.
  void begin(std::span<const FamilySpec* const> families);

  std::filesystem::path file(const char* name) const { return folder_ / name; }
  const std::filesystem::path& config_dir() const noexcept { return config_dir_; }
  /// The tables as they were when the run began, laid out as the configuration folder.
  std::filesystem::path old_tables() const { return folder_ / "before"; }
  /// Copies a family's tables and its list of shapes as they are now. Throws io.
  void keep_tables(const FamilySpec& family) const;

  /// Returns an empty object if there is no such file. Throws invalid_input if it is no JSON object.
  nlohmann::ordered_json read(const char* name) const;
  void write(const char* name, const nlohmann::ordered_json& document) const;

 private:
  void write_ending(const char* ending) const;

  std::filesystem::path folder_, config_dir_;
  std::string inputs_;  ///< As JSON.
  bool is_resumed_ = false;
};

/// The words of `ending` in results.json. begun: the tables are not kept yet.
namespace run_ending {
inline constexpr const char *begun = "begun", *running = "running", *interrupted = "interrupted", *done = "done";
}

}  // namespace attune
