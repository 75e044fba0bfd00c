// SPDX-License-Identifier: MIT
#include "pipeline/run/pipeline_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/interrupt.h"
#include "pipeline/run/output_log.h"
#include "pipeline/run/run_report.h"
#include "pipeline/run/shape_json.h"

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

/// One family's way through the steps.
class FamilySteps {
 public:
  FamilySteps(const FamilyRun& run, const RunFolder& folder, const ChangeOptions& change, const OutputLog& log)
      : run_(run), folder_(folder), change_(change), log_(log) {
    result_.family = run.family;
  }

  FamilyResult take() {
    try {
      go();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      if (!is_interrupted()) fail_with(error.what(), error.code());
    }
    folder_.keep_tables(*run_.family);
    return std::move(result_);
  }

 private:
  void go() {
    validate();
    if (is_interrupted()) return;
    time();
    if (is_interrupted()) return;
    tune();
    show_difference();
    if (is_interrupted()) return;
    compare();
    result_.is_done = !is_interrupted() && result_.failure.empty();
  }

  void validate() {
    result_.num_findings = validate_tables(*run_.family, folder_.config_dir()).size();
    say(fmt::format("validate: {}", counted(result_.num_findings, "finding")));
  }

  void time() {
    ordered_json before = stored(folder_, RunFolder::kBefore, *run_.family);
    if (before.is_null()) {
      before = time_as_served(run_, folder_.old_tables());
      if (is_interrupted()) return;
      store(folder_, RunFolder::kBefore, *run_.family, before);
    }
    result_.device = before.value("device", "");
    say(fmt::format("before: {} timed", counted(before["shapes"].size(), "shape")));
  }

  void tune() {
    say("tune: begins");
    const int status = run_campaigns(run_.tune);
    if (status != 0 && !is_interrupted()) fail_with("no shape could be tuned, log.txt has the reasons", {});
    say(is_interrupted() ? "tune: interrupted" : "tune: done");
  }

  void show_difference() {
    const ordered_json rows = changed_rows(*run_.family, folder_.old_tables(), folder_.config_dir());
    result_.num_added = rows["added"].size();
    result_.num_changed = rows["changed"].size();
    result_.num_removed = rows["removed"].size();
    result_.num_same = rows["same"];
    say(fmt::format("table: {} added, {} changed, {} removed", result_.num_added, result_.num_changed,
                    result_.num_removed));
  }

  void compare() {
    const ordered_json after = stored(folder_, RunFolder::kAfter, *run_.family);
    if (after.is_array()) {
      for (const ordered_json& shape : after) result_.shapes.push_back(read_change(shape));
    } else {
      result_.shapes = compare_tables(run_, folder_.old_tables(), folder_.config_dir(), change_);
      if (is_interrupted()) return;
      ordered_json shapes = ordered_json::array();
      for (const ShapeChange& shape : result_.shapes) shapes.push_back(change_json(shape));
      store(folder_, RunFolder::kAfter, *run_.family, std::move(shapes));
    }
    say(fmt::format("after: {} compared", counted(result_.shapes.size(), "shape")));
  }

  void fail_with(std::string sentence, std::optional<ErrorCode> code) {
    say("failed: " + sentence);
    result_.failure = std::move(sentence);
    result_.code = code;
  }

  void say(const std::string& what) const { log_.say(fmt::format("{}: {}", run_.family->op, what)); }

  const FamilyRun& run_;
  const RunFolder& folder_;
  const ChangeOptions& change_;
  const OutputLog& log_;
  FamilyResult result_;
};

}  // namespace

RunResults run_pipeline(const std::vector<FamilyRun>& families, RunFolder& folder, const ChangeOptions& change,
                        const ordered_json& inputs) {
  const InterruptHandler handler;
  std::vector<const FamilySpec*> all;
  for (const FamilyRun& run : families) all.push_back(run.family);
  folder.begin(all);
  RunResults results;
  {
    const OutputLog log(folder.file(RunFolder::kLog));
    if (folder.is_resumed()) log.say("goes on with the run that an earlier call began");
    for (const FamilyRun& run : families) {
      if (is_interrupted()) break;
      results.families.push_back(FamilySteps(run, folder, change, log).take());
    }
  }
  results.ending = is_interrupted() ? run_ending::interrupted : run_ending::done;
  judge_run(results, change, is_interrupted() ? interrupt_status() : 0);
  write_report(folder, results, inputs, journal_file(families.front().tune.journal));
  return results;
}

}  // namespace attune
