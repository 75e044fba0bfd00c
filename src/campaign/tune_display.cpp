// SPDX-License-Identifier: MIT
#include "campaign/tune_display.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/line_output.h"
#include "base/text.h"
#include "campaign/interrupt.h"
#include "report/json_output.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "report/time_report.h"

namespace attune {

TuneDisplay::TuneDisplay(const TuneOptions& options, const TuneInputs& inputs, const std::string& device_flags,
                         const RunProgress& progress)
    : options_(options),
      device_flags_(device_flags),
      display_(
          [&progress] {
            return ProgressLine{progress.num_ended(), progress.num_shapes, progress.counts(), progress.doing,
                                progress.remarks()};
          },
          LiveLine::is_terminal(), steady_clock(), options.on_progress) {
  for (size_t place = 0; place < inputs.items.size(); ++place)
    places_.emplace(inputs.items[place].problem.key(), place);
}

void TuneDisplay::print_in_order(const Problem& problem, std::string line) {
  const auto found = places_.find(problem.key());
  if (found == places_.end()) return;
  waiting_.emplace(found->second, std::move(line));
  places_.erase(found);
  while (!waiting_.empty() && waiting_.begin()->first == next_place_) {
    print_first();
    ++next_place_;
  }
}

void TuneDisplay::print_first() {
  const std::string line = std::move(waiting_.extract(waiting_.begin()).mapped());
  if (line.empty()) return;
  if (!std::exchange(header_printed_, true)) display_.print_line(result_header(decisions_.front().problem.op()), true);
  display_.print_line(line, true);
}

void TuneDisplay::flush() {
  while (!waiting_.empty()) print_first();
}

void TuneDisplay::finished(const TuneResult& result) {
  num_kept_ += result.ending == Ending::kept;
  if (result.ending == Ending::cut) ++cut_[result.reason];
  num_reused_ += result.ending == Ending::reused;
  if (result.decision) {
    decisions_.push_back(*result.decision);
  } else if (options_.verbose || (result.ending != Ending::kept && result.ending != Ending::cut)) {
    say(fmt::format("{}: {}: {}", short_shape(result.problem), name(result.ending), result.reason));
  }
  if (options_.verbose) print_details(result);
  note_refused_kernel(result);
  if (!options_.json) print_in_order(result.problem, result.decision ? result_line(*result.decision) : "");
  display_.redraw();
}

/// Says once in a run that a kernel was not loaded: the driver that refuses one may refuse all.
void TuneDisplay::note_refused_kernel(const TuneResult& result) {
  const auto refused =
      std::ranges::find_if(result.failures, [](const auto& one) { return one.second.status == Status::load_failed; });
  if (refused == result.failures.end() || std::exchange(is_refusal_told_, true)) return;
  note(fmt::format("{} does not load, others that do not are only counted: {}", refused->first.name(),
                   refused->second.detail));
}

void TuneDisplay::device_lost(const DeviceInfo& device, const std::string& why) {
  lost_.emplace(device.id, why);
  note(fmt::format("{} was lost, the other devices take its shapes: {}", device.id, why));
}

void TuneDisplay::worker_lost(const DeviceInfo& device, const std::string& why) {
  note(fmt::format("a worker of {} was lost, the device's others take its shapes: {}", device.id, why));
}

void TuneDisplay::note_replaced(const std::vector<Decision>& published) {
  display_.hide();
  if (!published.empty() && !options_.json)
    print_line(stdout, "published with the layout that all rows of a weight share:");
  for (const Decision& one : published) {
    const auto own = std::find_if(decisions_.begin(), decisions_.end(),
                                  [&](const Decision& decision) { return decision.problem == one.problem; });
    if (own == decisions_.end()) continue;
    if (!options_.json)
      print_line(stdout, fmt::format("{}; alone {:.1f} µs with {}", result_line(one), own->comparison.us,
                                     short_candidate(own->winner)));
    *own = one;
  }
}

void TuneDisplay::note_cut_shapes() {
  display_.hide();
  for (const auto& [reason, count] : cut_) {
    say(fmt::format("{} not decided, run again to continue: {}", counted(count, "shape"), reason));
  }
}

void TuneDisplay::print_details(const TuneResult& result) {
  say(fmt::format("  {}, {} failed, {}", counted(result.num_candidates, "candidate"), result.failures.size(),
                  format_duration(result.seconds)));
  for (const std::string& remark : result.remarks) say("  " + remark);
  for (const auto& [candidate, outcome] : result.failures) {
    say(fmt::format("  {}: {}; {}", name(outcome.status), outcome.detail,
                    repeat_command(result.problem, candidate, device_flags_)));
  }
}

void print_results_json(const std::vector<TuneResult>& results, const TuneInputs& inputs,
                        const Environment& environment, const std::vector<Recovery>& recoveries, const TimeUse& time,
                        const std::vector<Decision>& replaced, const std::map<std::string, std::string>& lost) {
  const DeviceInfo& device = environment.device();
  nlohmann::ordered_json recoveries_ms = nlohmann::ordered_json::array(), restorations_ms = recoveries_ms;
  for (const Recovery& one : recoveries) {
    recoveries_ms.push_back(one.worker.count());
    restorations_ms.push_back(one.everything.count());
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array(), skipped = nlohmann::ordered_json::array();
  for (const TuneResult& result : results) {
    nlohmann::ordered_json failures = nlohmann::ordered_json::array();
    for (const auto& [candidate, outcome] : result.failures) {
      failures.push_back({{"candidate", candidate.name()},
                          {"status", name(outcome.status)},
                          {"detail", outcome.detail},
                          {"repeat", repeat_command(result.problem, candidate, environment.flags)}});
    }
    nlohmann::ordered_json object = {{"problem", result.problem.key()},     {"ending", name(result.ending)},
                                     {"decided", is_decided(result)},       {"seconds", result.seconds},
                                     {"candidates", result.num_candidates}, {"failed", failures},
                                     {"time", time_json(result.time)}};
    if (!result.reason.empty()) object["reason"] = result.reason;
    if (!result.remarks.empty()) object["remarks"] = result.remarks;
    if (result.decision)
      object["decision"] = nlohmann::ordered_json::parse(decision_json(*result.decision, environment.flags));
    for (const Decision& published : replaced) {
      if (published.problem != result.problem) continue;
      object["published"] = {
          {"candidate", published.winner.name()}, {"us", published.comparison.us}, {"speedup", nullptr}};
      if (const double ratio = published.over_default().ratio; ratio > 0) object["published"]["speedup"] = ratio;
    }
    list.push_back(std::move(object));
  }
  for (const SkippedShape& shape : inputs.skipped)
    skipped.push_back({{"shape", shape.shape}, {"reason", shape.reason}});
  nlohmann::ordered_json all = {{"ending", is_interrupted() ? "interrupted" : "done"},
                                {"device", {{"id", device.id}, {"key", device.key()}, {"model", device.model}}},
                                {"results", list},
                                {"skipped", skipped},
                                {"recoveries_ms", recoveries_ms},
                                {"restorations_ms", restorations_ms},
                                {"time", time_json(time)},
                                {"table", inputs.table.string()}};
  if (!lost.empty()) all["lost_devices"] = lost;
  print_json(all);
}

void print_interrupted_json() { print_json({{"ending", "interrupted"}, {"results", nlohmann::ordered_json::array()}}); }

void print_comparison(const std::vector<Decision>& decisions, const TuneInputs& inputs) {
  if (decisions.empty()) return;
  std::printf("\nbefore and after, measured interleaved:\n");
  for (const Decision& decision : decisions) {
    const auto item = std::find_if(inputs.items.begin(), inputs.items.end(),
                                   [&](const WorkItem& one) { return one.problem == decision.problem; });
    const Candidate& before =
        item != inputs.items.end() && item->incumbent ? item->incumbent->candidate : decision.baseline;
    if (before == decision.baseline && !decision.has_default()) {
      std::printf("%-34s no default → %10.1f µs  %s\n", short_shape(decision.problem).c_str(), decision.comparison.us,
                  short_candidate(decision.winner).c_str());
      continue;
    }
    const auto measured = std::find_if(decision.finalists.begin(), decision.finalists.end(),
                                       [&](const Finalist& one) { return one.candidate == before; });
    if (before != decision.baseline && measured == decision.finalists.end()) {
      std::printf("%-34s failed now → %10.1f µs  %s → %s\n", short_shape(decision.problem).c_str(),
                  decision.comparison.us, short_candidate(before).c_str(), short_candidate(decision.winner).c_str());
      continue;
    }
    const double before_us = before == decision.baseline ? decision.baseline_us : measured->comparison.us;
    std::printf("%-34s %10.1f µs → %10.1f µs  %6.3f×  %s → %s\n", short_shape(decision.problem).c_str(), before_us,
                decision.comparison.us, before_us / decision.comparison.us, short_candidate(before).c_str(),
                short_candidate(decision.winner).c_str());
  }
}

void print_summary(const TuneOptions& options, const TuneInputs& inputs, const TuneDisplay& display,
                   const std::filesystem::path& journal, const WorkersOfRun& workers) {
  const Summary summary = summarise(display.decisions());
  std::string where;
  for (const auto& [label, file] : {std::pair("table", inputs.table), std::pair("results", inputs.yaml),
                                    std::pair("candidates", std::filesystem::path(options.profile_file))}) {
    if (!file.empty() && std::filesystem::exists(file)) where += fmt::format("{} {}, ", label, file.string());
  }
  where += "journal " + journal.string();
  if (display.num_kept() > 0) {
    print_line(stdout, counted(display.num_kept(), "shape") + " with a row already (--all tunes them again)");
  }
  if (display.num_reused() > 0) {
    print_line(stdout, counted(display.num_reused(), "shape") +
                           " tuned before, taken from the journal (--all tunes them again)");
  }
  for (const std::string& sentence : result_legend(display.decisions())) print_line(stdout, sentence);
  if (const std::string sentence = time_sentence(display.time(), workers); !sentence.empty())
    print_line(stdout, sentence);
  print_line(stdout, summary_text(summary) + "; " + where);
}

}  // namespace attune
