// SPDX-License-Identifier: MIT
#include "server/journal/problem_story.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "report/result_json.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
constexpr size_t kMaxSamples = 500, kMaxDetail = 2000, kMaxCandidates = 5000;

/// What came of a candidate, over all its records.
struct CandidateStory {
  Record last;       ///< The newest one, which says why the candidate left.
  size_t order = 0;  ///< In which the candidates were first seen.
  std::optional<Measurement> measurement;
  Errors errors;
  size_t num_records = 0;
};

/// How far a candidate came, in a word for people.
std::string_view ending(const CandidateStory& story, const std::string& winner) {
  if (story.last.candidate.name() == winner) return "won";
  if (!story.last.outcome.ok()) return "failed";
  if (story.last.stage == Stage::final) return "lost the final";
  if (story.last.dropped) return "slower in the race";
  return story.last.stage == Stage::screen ? "left the race" : "verified";
}

ordered_json candidate_json(const CandidateStory& story, const std::string& winner) {
  const Record& last = story.last;
  ordered_json object = {{"candidate", last.candidate.name()},
                         {"solver", last.candidate.solver},
                         {"device", last.device},
                         {"ending", ending(story, winner)},
                         {"stage", name(last.stage)},
                         {"status", name(last.outcome.status)},
                         {"detail", last.outcome.detail},
                         {"records", story.num_records},
                         {"err_ratio", story.errors.mismatch_ratio},
                         {"max_relative_error", story.errors.max_relative}};
  if (!story.measurement) return object;
  const Measurement& measured = *story.measurement;
  object["us"] = measured.median_us;
  object["spread_us"] = measured.spread_us;
  object["noisy"] = measured.noisy;
  object["timing"] = name(measured.timing);
  ordered_json samples = ordered_json::array();
  const size_t begin = measured.samples.size() - std::min(measured.samples.size(), kMaxSamples);
  for (size_t i = begin; i < measured.samples.size(); ++i)
    samples.push_back({measured.samples[i].us, measured.samples[i].round, measured.samples[i].dirty ? 1 : 0});
  object["samples"] = std::move(samples);
  object["num_samples"] = measured.samples.size();
  return object;
}

void add(CandidateStory& story, const Record& record) {
  if (record.outcome.measurement && !record.outcome.measurement->samples.empty())
    story.measurement = record.outcome.measurement;
  if (record.stage == Stage::verify) story.errors = record.outcome.errors;
  story.last = record;
  story.last.outcome.measurement.reset();
  // Of a message of megabytes a page shows the beginning; those of all candidates would not fit into the memory.
  story.last.outcome.detail = shown(story.last.outcome.detail, kMaxDetail);
  ++story.num_records;
}

}  // namespace

std::optional<ordered_json> problem_story(const Journal& journal, const Problem& problem,
                                          const std::optional<std::string>& device) {
  std::map<std::pair<std::string, std::string>, CandidateStory> stories;  // By device and candidate.
  ordered_json decisions = ordered_json::array();
  std::map<std::string, std::string> winners;  // By device, of its newest decision.
  size_t num_entries = 0;
  const Query query{.problem = problem, .device = device, .started = false, .pardons = false};
  const size_t num_damaged = journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
    ++num_entries;
    if (const auto* decision = std::get_if<Decision>(&entry)) {
      winners[decision->device] = decision->winner.name();
      ordered_json object = ordered_json::parse(decision_json(*decision, {}));
      object.erase("repeat");  // It needs the device, which may be another machine's.
      object["id"] = stamp.id;
      object["at_ms"] = stamp.at_ms;
      object["run"] = stamp.run;
      decisions.insert(decisions.begin(), std::move(object));
    }
    const auto* record = std::get_if<Record>(&entry);
    if (record == nullptr || stories.size() >= kMaxCandidates) return;
    const auto [story, is_new] = stories.try_emplace({record->device, record->candidate.name()});
    if (is_new) story->second.order = stories.size();
    add(story->second, *record);
  });
  if (num_entries == 0) return std::nullopt;
  std::vector<const CandidateStory*> ordered;
  for (const auto& [key, story] : stories) ordered.push_back(&story);
  std::ranges::sort(ordered, {}, &CandidateStory::order);
  ordered_json candidates = ordered_json::array();
  for (const CandidateStory* story : ordered) candidates.push_back(candidate_json(*story, winners[story->last.device]));
  return ordered_json{{"problem", problem.key()},
                      {"decisions", std::move(decisions)},
                      {"candidates", std::move(candidates)},
                      {"num_damaged", num_damaged}};
}

}  // namespace attune
