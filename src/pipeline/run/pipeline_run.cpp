// SPDX-License-Identifier: MIT
#include "pipeline/run/pipeline_run.h"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/interrupt.h"
#include "pipeline/markdown/diff_markdown.h"
#include "pipeline/run/measured_shapes.h"
#include "pipeline/run/output_log.h"
#include "pipeline/run/run_report.h"
#include "pipeline/run/shape_json.h"
#include "report/journal_listing.h"
#include "store/journal.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

/// Adds a family's part to a file that has one for each, under `families`.
void store(const RunFolder& folder, const char* file, const FamilySpec& family, ordered_json part) {
  ordered_json document = folder.read(file);
  document["version"] = 1;
  document["families"][std::string(family.op)] = std::move(part);
  folder.write(file, document);
}

/// The part that a call before this one stored; null: none did.
ordered_json stored(const RunFolder& folder, const char* file, const FamilySpec& family) {
  const ordered_json document = folder.read(file);
  const auto families = document.find("families");
  if (families == document.end() || !families->is_object()) return nullptr;
  return families->value(std::string(family.op), ordered_json());
}

/// Throws io if the folder was removed: without the old tables there is nothing to compare.
void check_is_there(const RunFolder& folder) {
  if (folder.is_gone())
    fail(ErrorCode::io, "the folder of the results was removed while the run went on: '{}'",
         shown(folder.file("").parent_path().string(), 500));
}

/// One family's way through the steps.
class FamilySteps {
 public:
  /// The other arguments outlive this.
  FamilySteps(FamilyRun run, const RunFolder& folder, const ChangeOptions& change, const OutputLog& log,
              MeasuredShapes& measured)
      : run_(std::move(run)), folder_(folder), change_(change), log_(log), measured_(measured) {
    result_.family = run_.family;
    run_.tune.own_after = folder.journal_entry();
    if (run_.chosen_rows) run_.tune.input = folder.chosen_list(*run_.family).string();
  }

  FamilyResult take() {
    try {
      go();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      if (!is_interrupted()) fail_with(error.what(), error.code());
    } catch (const ordered_json::exception&) {  // Another program has written the file.
      fail_with("what an earlier call measured cannot be read, remove the folder of the run", ErrorCode::invalid_input);
    }
    if (!folder_.is_gone()) keep([&] { folder_.keep_tables(*run_.family); });
    if (result_.unwritten.empty()) result_.unwritten = measured_.why_unwritten();
    return std::move(result_);
  }

 private:
  void go() {
    std::error_code missing;
    if (run_.chosen_rows && !std::filesystem::exists(run_.tune.input, missing)) {
      say("no shape of its list is what --only asks for, nothing is tuned");
      result_.is_done = true;
      return;
    }
    validate();
    if (is_interrupted()) return;
    time();
    if (is_interrupted()) return;
    tune();
    check_is_there(folder_);
    show_difference();
    if (is_interrupted()) return;
    compare();
    result_.is_done = !is_interrupted() && result_.failure.empty();
  }

  void validate() {
    before_ = stored(folder_, RunFolder::kBefore, *run_.family);
    // Once the family is tuned, its tables are no longer the ones with which the run began.
    result_.num_findings = before_.is_null() ? validate_tables(*run_.family, folder_.config_dir()).size()
                                             : before_.value("num_findings", size_t{0});
    say(fmt::format("validate: {}", counted(result_.num_findings, "finding")));
  }

  void time() {
    if (before_.is_null()) {
      before_ = time_as_served(run_, folder_.old_tables(), measured_);
      if (is_interrupted()) return;
      before_["num_findings"] = result_.num_findings;
      keep([&] { store(folder_, RunFolder::kBefore, *run_.family, before_); });
    }
    result_.device = before_.value("device", "");
    result_.fingerprint = before_.value("fingerprint", "");
    say(fmt::format("before: {} timed", counted(before_["shapes"].size(), "shape")));
  }

  void tune() {
    say("tune: begins");
    run_.tune.on_progress = [this](const std::string& line) { log_.repeat(about_family("tune: " + line)); };
    const int status = run_campaigns(run_.tune);
    if (status != 0 && !is_interrupted()) return fail_with("no shape could be tuned, log.txt has the reasons", {});
    say(is_interrupted() ? "tune: interrupted" : "tune: done");
  }

  void show_difference() {
    const TableDiff rows = changed_rows(*run_.family, folder_.old_tables(), folder_.config_dir());
    result_.num_added = rows.added.size();
    result_.num_changed = rows.changed.size();
    result_.num_removed = rows.removed.size();
    result_.num_same = rows.num_same;
    result_.difference = diff_markdown(rows);
    say(fmt::format("table: {} added, {} changed, {} removed", result_.num_added, result_.num_changed,
                    result_.num_removed));
  }

  void compare() {
    const ordered_json after = stored(folder_, RunFolder::kAfter, *run_.family);
    if (after.is_array()) {
      for (const ordered_json& shape : after) result_.shapes.push_back(read_change(shape));
    } else {
      result_.shapes = compare_tables(run_, {folder_.old_tables(), folder_.config_dir()}, change_, measured_);
      if (is_interrupted()) return;
      ordered_json shapes = ordered_json::array();
      for (const ShapeChange& shape : result_.shapes) shapes.push_back(change_json(shape));
      keep([&] { store(folder_, RunFolder::kAfter, *run_.family, std::move(shapes)); });
    }
    say(fmt::format("after: {} compared", counted(result_.shapes.size(), "shape")));
  }

  /// Writes an artefact. A full disk keeps no family from being tuned and published.
  template <typename Write>
  void keep(const Write& write) {
    try {
      write();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io && !folder_.is_gone()) throw;
      say(fmt::format("not written: {}", error.what()));
      if (result_.unwritten.empty()) result_.unwritten = error.what();
    }
  }

  void fail_with(std::string sentence, std::optional<ErrorCode> code) {
    say("failed: " + sentence);
    result_.failure = std::move(sentence);
    result_.code = code;
  }

  std::string about_family(const std::string& what) const { return fmt::format("{}: {}", run_.family->op, what); }
  void say(const std::string& what) const { log_.say(about_family(what)); }

  FamilyRun run_;
  const RunFolder& folder_;
  const ChangeOptions& change_;
  const OutputLog& log_;
  MeasuredShapes& measured_;
  FamilyResult result_;
  ordered_json before_;  ///< The family's part of before.json; null: not timed yet.
};

/// The id of the newest entry of the user's journal, which need not exist yet.
int64_t newest_entry(const std::string& journal_option) {
  const std::filesystem::path file = journal_file(journal_option);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file))) return 0;
  return newest_entry_id(*open_sql_journal_read_only(file));
}

/// The document diff.md.
std::string differences_text(const RunResults& results) {
  std::string text = "# Tables\n";
  for (const FamilyResult& one : results.families) {
    if (!one.difference.empty())
      text += fmt::format("\n## {}: {}\n\n{}", one.family->op, one.family->default_file, one.difference);
  }
  return text;
}

/// Writes the results. Throws io, after all steps of the run.
void write_results(const RunFolder& folder, const RunResults& results, const ordered_json& inputs,
                   const std::filesystem::path& journal) {
  std::string unwritten;
  for (const FamilyResult& family : results.families) {
    if (unwritten.empty()) unwritten = family.unwritten;
  }
  try {
    check_is_there(folder);
    write_file_atomically(folder.file(RunFolder::kDiff), differences_text(results));
    write_report(folder, results, inputs, journal);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io && !folder.is_gone()) throw;
    if (unwritten.empty()) unwritten = error.what();
  }
  if (!unwritten.empty()) fail(ErrorCode::io, "what was tuned is published, the results are not whole: {}", unwritten);
}

}  // namespace

RunResults run_pipeline(const std::vector<FamilyRun>& families, RunFolder& folder, const ChangeOptions& change,
                        const ordered_json& inputs) {
  const InterruptHandler handler;
  std::vector<const FamilySpec*> all;
  for (const FamilyRun& run : families) all.push_back(run.family);
  folder.begin(all, newest_entry(families.front().tune.journal), [&] {
    for (const FamilyRun& run : families) {
      if (run.chosen_rows && !run.chosen_rows->empty()) folder.keep_chosen(*run.family, *run.chosen_rows);
    }
  });
  RunResults results;
  {
    const OutputLog log(folder.file(RunFolder::kLog));
    MeasuredShapes measured(folder.file(RunFolder::kMeasured));
    if (folder.is_resumed()) log.say("goes on with the run that an earlier call began");
    for (const FamilyRun& run : families) {
      if (is_interrupted() || folder.is_gone()) break;
      if (!run.reason_skipped.empty()) {
        log.say(fmt::format("{}: skipped: {}", run.family->op, run.reason_skipped));
        results.families.push_back({.family = run.family, .failure = run.reason_skipped});
        continue;
      }
      results.families.push_back(FamilySteps(run, folder, change, log, measured).take());
    }
  }
  // A signal that comes after this finds the run done.
  const int interrupt = is_interrupted() ? interrupt_status() : 0;
  results.ending = interrupt != 0 ? run_ending::interrupted : run_ending::done;
  judge_run(results, change, interrupt);
  write_results(folder, results, inputs, journal_file(families.front().tune.journal));
  std::error_code failed;
  if (interrupt == 0) std::filesystem::remove(folder.file(RunFolder::kMeasured), failed);  // after.json has all.
  return results;
}

}  // namespace attune
