// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/open_devices.h"
#include "cli/command.h"
#include "cli/flags/problem_option.h"
#include "device/devices.h"
#include "report/evidence_file.h"
#include "report/result_json.h"
#include "report/result_table.h"

namespace attune {
namespace {

struct JournalOptions {
  std::string journal, csv, problem, device;
  bool json = false;
};

Query query_of(const JournalOptions& options) {
  Query query;
  if (!options.problem.empty()) query.problem = parse_problem(options.problem, {});
  if (!options.device.empty()) query.device = options.device;
  return query;
}

/// Counts unique candidates of problems, from both announcements and measurements, because compaction drops the former.
class CandidateCount {
 public:
  void add(const Entry& entry) {
    if (const auto* started = std::get_if<Started>(&entry)) add_one(*started);
    if (const auto* record = std::get_if<Record>(&entry)) add_one(*record);
  }
  size_t value() const noexcept { return seen_.size(); }

 private:
  template <typename Tried>
  void add_one(const Tried& tried) {
    seen_.insert(hash128(fmt::format("{}\n{}\n{}", tried.problem.key(), tried.device, tried.candidate.name())));
  }
  std::set<Hash128> seen_;
};

int run_show(const JournalOptions& options) {
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  // A command that repeats a decision uses this machine's name of the device.
  const auto devices = list_devices();
  size_t num_records = 0, num_decisions = 0;
  CandidateCount candidates;
  if (!options.json) std::printf("%s\n", result_header().c_str());
  const size_t num_damaged = journal->scan(query_of(options), [&](const Entry& entry, const Stamp&) {
    candidates.add(entry);
    num_records += std::holds_alternative<Record>(entry);
    if (const auto* decision = std::get_if<Decision>(&entry)) {
      ++num_decisions;
      if (options.json)
        std::printf("%s\n", decision_json(*decision, device_flags(devices, decision->device)).c_str());
      else
        std::printf("%s\n", result_line(*decision).c_str());
    }
  });
  if (!options.json)
    print_line(stdout,
               fmt::format("{}, {} of {}; {}", counted(num_decisions, "decision"), counted(num_records, "record"),
                           counted(candidates.value(), "candidate"), file.string()));
  note_damaged(num_damaged, file);
  return 0;
}

int run_export(const JournalOptions& options) {
  if (options.csv.empty()) fail(ErrorCode::invalid_input, "give an output file: attune journal export --csv all.csv");
  check_evidence_output(options.csv);
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  const auto [text, num_damaged] = records_csv(*journal, query_of(options));
  write_file_atomically(options.csv, text, 0600);  // As private as the journal.
  note_damaged(num_damaged, file);
  return 0;
}

int run_vacuum(const JournalOptions& options) {
  const auto file = existing_journal(options.journal);
  const auto journal = open_sql_journal(file);
  const auto before = std::filesystem::file_size(file);
  journal->compact();
  print_line(stdout, fmt::format("{}: {:.1f} → {:.1f} KiB", file.string(), static_cast<double>(before) / 1024,
                                 static_cast<double>(std::filesystem::file_size(file)) / 1024));
  return 0;
}

void add_journal_flags(CLI::App& verb, Action& chosen) {
  auto options = std::make_shared<JournalOptions>();
  verb.require_subcommand(0, 1);
  verb.callback([&verb] {
    if (verb.get_subcommands().empty())
      fail(ErrorCode::invalid_input, "give a subcommand of journal: show, export or vacuum");
  });
  verb.add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
  auto* show = verb.add_subcommand("show", "List the decisions, and count the records behind them");
  auto* write = verb.add_subcommand("export", "Write every record as CSV");
  auto* vacuum = verb.add_subcommand("vacuum", "Delete entries that newer ones supersede, and free the space");
  write->add_option("--csv", options->csv, "File to write");
  show->add_flag("--json", options->json, "One JSON object per line, for each decision");
  for (auto* action : {show, write, vacuum}) {
    action->fallthrough();
    if (action == vacuum) continue;
    action->add_option("--problem", options->problem, "Only this problem (its full key)");
    action->add_option("--device", options->device,
                       "Only this device key, as `journal show --json` prints it: x86-64-v4+bf16+amx/2");
  }
  show->callback([options, &chosen] { chosen = [options] { return run_show(*options); }; });
  write->callback([options, &chosen] { chosen = [options] { return run_export(*options); }; });
  vacuum->callback([options, &chosen] { chosen = [options] { return run_vacuum(*options); }; });
}

}  // namespace

Verb journal_verb() {
  return {VerbGroup::maintenance, "journal", "Show or export the measurements, or free their space", add_journal_flags};
}

}  // namespace attune
