// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "store/journal.h"

namespace attune {

/// Entries of a journal, and what a journal returns; base class of fixtures.
struct JournalValues {
  inline static const Problem kProblem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
  inline static const Problem kOther = Problem::parse("gemm_a16w16 m=2 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
  inline static const Versions kVersions = {{"fake.gemm", "1+2.6"}, {"kernel.linux", "6.1"}};

  static Candidate candidate(const std::string& config) { return {"fake.gemm", "1+2.6", Config::parse(config)}; }

  static Protocol protocol() {
    Protocol value;
    value.seed = std::numeric_limits<uint64_t>::max();
    value.min_gain = 0.1 + 0.2;
    value.timing = Timing::events;
    return value;
  }

  static Started started(const std::string& config, const Problem& problem = kProblem) {
    return {problem, "g/2", candidate(config), kVersions, "here"};
  }

  static Record record(const std::string& config, double us = 1.0 / 3) {
    Record value{kProblem, "g/2", candidate(config), kVersions, protocol(), Stage::screen, true, {}};
    value.outcome.detail = "one \"sentence\"\nand a line";
    value.outcome.errors = {1e-300, 0.1, 5e-324};
    value.outcome.measurement = Measurement{
        {{1.1f, 0.97f, 3, true}, {2.2f, 1, 4, false}}, true, us, us / 7, 1ull << 63, 5, Timing::graph, 7, 8};
    value.fingerprint = "here";
    value.binaries = {{"recipe", "gcc-12.2.0", "sha"}};
    value.deadlines = {60000, 2000};
    value.metadata = {{{"registers", "40"}, {"spills", "0"}}};
    value.device_id = "g:1";
    return value;
  }

  static Decision decision(const std::string& winner, const Versions& versions = kVersions) {
    Decision value;
    value.problem = kProblem;
    value.device = "g/2";
    value.protocol = protocol();
    value.winner = candidate(winner);
    value.baseline = candidate("");
    value.versions = versions;
    value.finalists = {{candidate(winner),
                        1.5,
                        1.1,
                        1.05,
                        1.15,
                        21,
                        {},
                        {{"recipe", "gcc-12.2.0", "sha"}},
                        true,
                        {{{"registers", "40"}, {"spills", "0"}}},
                        std::nullopt,
                        4096}};
    value.tied = {candidate("a=1")};
    value.verdict = Verdict::tie;
    value.noisy = true;
    value.reason = "too few pairs";
    value.comparison = {.us = 0.1, .interval = {1, 1e300}, .num_clean = 21};
    value.num_openings = 3;
    value.pause_cut = true;
    value.timing = Timing::graph;
    value.launches = 123456789012345;
    value.fingerprint = "here";
    value.num_candidates = 96;
    value.seconds = 4.0 / 3;
    value.strategy = "local";
    value.deadlines = {60000, 2000};
    value.incumbent = Incumbent{candidate("a=7"), 9.5, "row,of,the table"};
    value.dropped_bests = {{candidate("a=8"), 11.5, 4096}};
    value.best_default = BestDefault{candidate(""), 2.5, 1.25, true};
    value.device_id = "g:1";
    return value;
  }

  static std::vector<Entry> all(const Journal& journal, const Query& query = {}) {
    std::vector<Entry> entries;
    journal.scan(query, [&](const Entry& entry, const Stamp&) { entries.push_back(entry); });
    return entries;
  }

  static std::vector<Stamp> stamps(const Journal& journal, const Query& query = {}) {
    std::vector<Stamp> all;
    journal.scan(query, [&](const Entry&, const Stamp& stamp) { all.push_back(stamp); });
    return all;
  }

  static RunBegin run_begin() {
    return {{"attune", "tune", "-m", "4"}, "0.1.0", "node 7", 4711, "g/2", "here", "a device",
            {{"OMP_NUM_THREADS", "2"}},    12};
  }
};

}  // namespace attune
