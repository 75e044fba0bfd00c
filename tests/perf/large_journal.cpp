// SPDX-License-Identifier: MIT
// What a large journal costs, not a test: attune_large_journal TEMPLATE FILE [DECISIONS [RECORDS]] makes a journal of
// so many Decisions (100,000) of other sizes, each with the first RECORDS (2) of its Records and their announcements,
// from those of a tuning, and prints what its readers take. tests/perf/journal runs it; docs/performance/journal.md has
// the figures.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "core/statistics.h"
#include "store/journal.h"
#include "tuner/history/candidate_history.h"
#include "tuner/history/decision_recall.h"
#include "tuner/history/neighbours.h"

namespace {

using namespace attune;

/// The entries of one problem's tuning: those that are tried, and the Decision.
struct Tuning {
  std::vector<Entry> tried;
  Decision decision;
};

/// Reads what the newest tuning of each problem wrote, with at most so many records each.
std::vector<Tuning> read_tunings(const Journal& journal, size_t max_records) {
  std::vector<Tuning> tunings;
  journal.scan({.started = false, .records = false, .pardons = false}, [&](const Entry& entry, const Stamp&) {
    tunings.push_back({{}, std::get<Decision>(entry)});
  });
  if (tunings.empty())
    fail(ErrorCode::invalid_input, "the template has no Decision, tune a shape with --journal first");
  for (Tuning& tuning : tunings) {
    size_t num_records = 0;
    const Query query{.problem = tuning.decision.problem, .decisions = false, .pardons = false};
    journal.scan(query, [&](const Entry& entry, const Stamp&) {
      const bool is_record = std::holds_alternative<Record>(entry);
      if (num_records + (is_record ? 1 : 0) > max_records || num_records == max_records) return;
      num_records += is_record ? 1 : 0;
      tuning.tried.push_back(entry);
    });
  }
  return tunings;
}

/// The size of the journal's n-th problem: none comes twice, and none is one of a model.
Problem resized(const Problem& problem, size_t number) {
  return problem.with("m", std::to_string(1 + number % 512))
      .with("n", std::to_string(1016 + 64 * (number / 512 % 16)))
      .with("k", std::to_string(1016 + 64 * (number / 8192)));
}

std::vector<Entry> copies(const Tuning& tuning, size_t number) {
  std::vector<Entry> entries = tuning.tried;
  entries.emplace_back(tuning.decision);
  for (Entry& entry : entries) {
    std::visit(
        [&](auto& one) {
          if constexpr (requires { one.problem; }) one.problem = resized(one.problem, number);
        },
        entry);
  }
  return entries;
}

void make(Journal& journal, const std::vector<Tuning>& tunings, size_t num_decisions) {
  constexpr size_t kBatch = 1000;
  const Decision& any = tunings.front().decision;
  std::vector<Entry> batch;
  for (size_t number = 0; number < num_decisions; ++number) {
    if (number % kBatch == 0) {  // Ten batches are a run.
      if (number % (10 * kBatch) == 0)
        journal.begin_run(
            {{"attune", "tune"}, "0", "nowhere", 1, any.device, any.fingerprint, "a journal for figures", {}});
      journal.append(batch);
      batch.clear();
    }
    const auto more = copies(tunings[number % tunings.size()], number);
    batch.insert(batch.end(), more.begin(), more.end());
  }
  journal.append(batch);
}

/// Prints the median and the longest of some times of one question. `bar_ms`: 0 for none.
void measure(std::string_view question, double bar_ms, size_t num_times, const std::function<void(size_t)>& ask) {
  std::vector<double> times_ms;
  for (size_t i = 0; i < num_times; ++i) {
    const double began_s = steady_clock().now_s();
    ask(i);
    times_ms.push_back(1e3 * (steady_clock().now_s() - began_s));
  }
  const double longest = *std::max_element(times_ms.begin(), times_ms.end());
  const double middle = median(times_ms);
  const std::string bar = bar_ms > 0 ? fmt::format("{:g} ms", bar_ms) : "";
  const std::string_view met = bar_ms <= 0 ? "" : middle > bar_ms ? "missed" : "met";
  fmt::print("| {} | {} | {:.3f} ms | {:.3f} ms | {} |\n", question, num_times, middle, longest,
             bar.empty() ? "" : fmt::format("≤ {}: {}", bar, met));
  std::fflush(stdout);
}

void measure_counts(const Journal& journal) {
  constexpr double kBarMs = 300;
  constexpr size_t kTimes = 9;
  const Query decisions{.started = false, .records = false, .pardons = false};
  measure("`count()` of all entries", kBarMs, kTimes, [&](size_t) { journal.count({.runs = true}); });
  measure("`count()` of all Decisions", kBarMs, kTimes, [&](size_t) { journal.count(decisions); });
  Query query = decisions;
  query.statuses = {"tie"};
  measure("`count()` of the Decisions of one verdict", kBarMs, kTimes, [&](size_t) { journal.count(query); });
  query = decisions;
  query.problem_prefix = "gemm_a16w16 m=7 ";
  measure("`count()` of the Decisions of one prefix", kBarMs, kTimes, [&](size_t) { journal.count(query); });
  int64_t run = 0;
  journal.scan({.started = false, .records = false, .decisions = false, .pardons = false, .runs = true},
               [&](const Entry&, const Stamp& stamp) { run = stamp.id; });
  measure("`count()` of the newest run's entries", kBarMs, kTimes,
          [&](size_t) { journal.count({.run = run, .runs = true}); });
}

void measure_pages(const Journal& journal) {
  const Query query{.newest_first = true, .limit = 50, .started = false, .records = false, .pardons = false};
  measure("the newest 50 Decisions", 0, 9, [&](size_t) { journal.scan(query, [](const Entry&, const Stamp&) {}); });
  int64_t newest = 0;
  journal.scan({.newest_first = true, .limit = 1}, [&](const Entry&, const Stamp& stamp) { newest = stamp.id; });
  measure("a follower's look that finds nothing", 0, 1000,
          [&](size_t) { journal.scan({.after = newest, .runs = true}, [](const Entry&, const Stamp&) {}); });
}

/// What each problem of a run asks of the journal before its first candidate.
void measure_starts(Journal& journal, const std::vector<Tuning>& tunings, size_t num_decisions) {
  constexpr size_t kTimes = 1000, kNeighbours = 3;
  const Decision& any = tunings.front().decision;
  NeighbourIndex neighbours(any.fingerprint);
  measure("neighbours, once a run", 0, 1, [&](size_t) { neighbours.refresh(journal); });
  const auto problem_of = [&](size_t i) { return resized(any.problem, i * 7919 % num_decisions); };
  measure("neighbours, a problem's start", 1, kTimes, [&](size_t i) {
    neighbours.refresh(journal);
    neighbours.nearest(problem_of(i), kNeighbours);
  });
  measure("neighbours after one more Decision", 0, 20, [&](size_t i) {
    const auto more = copies(tunings.front(), num_decisions + i);
    journal.append(std::span(&more.back(), 1));
    neighbours.refresh(journal);
  });
  const auto place_of = [&](size_t i) {
    return CandidateHistory::Source{problem_of(i), any.device, any.fingerprint, any.protocol, {}};
  };
  measure("whether a problem is decided", 0, kTimes, [&](size_t i) {
    recall_decision(journal, place_of(i), any.versions, false, [](const Decision&) { return true; });
  });
  measure("a problem's earlier results", 0, kTimes, [&](size_t i) {
    CandidateHistory().recall(journal, place_of(i), [&](const std::string&) { return &any.versions; });
  });
  measure("all decided problems, when a budget ends", 0, 1,
          [&](size_t) { problems_with_decisions(journal, any.fingerprint); });
}

int run(const std::string& source, const std::string& file, size_t num_decisions, size_t num_records) {
  const auto tunings = read_tunings(*open_sql_journal_read_only(source), num_records);
  const auto journal = open_sql_journal(file);
  make(*journal, tunings, num_decisions);
  const auto counts = journal->count({.runs = true});
  fmt::print("{} Decisions, {} Records, {} announcements, {:.0f} MB\n\n", counts.decisions, counts.records,
             counts.started, static_cast<double>(std::filesystem::file_size(file)) / 1e6);
  fmt::print("| question | times | median | longest | bar |\n|---|---|---|---|---|\n");
  measure_counts(*journal);
  measure_pages(*journal);
  measure_starts(*journal, tunings, num_decisions);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, size_t otherwise) {
    return argc > at ? static_cast<size_t>(std::strtoull(argv[at], nullptr, 10)) : otherwise;
  };
  if (argc < 3 || argc > 5 || number(3, 1) == 0) {
    fmt::print(stderr, "usage: attune_large_journal TEMPLATE FILE [DECISIONS [RECORDS]]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], number(3, 100'000), number(4, 2));
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return exit_status(error.code());
  }
}
