// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "campaign/devices/open_devices.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "report/entry_line.h"
#include "report/evidence_file.h"
#include "report/output_files.h"
#include "report/result_json.h"
#include "report/result_table.h"

namespace attune {
namespace {

struct JournalOptions {
  std::string journal, csv, problem, prefix, device;
  std::vector<std::string> statuses;
  int64_t after = 0, run = 0;
  size_t limit = 0;
  bool json = false;
};

constexpr auto kPollInterval = std::chrono::milliseconds(250);

Query query_of(const JournalOptions& options) {
  Query query;
  if (!options.problem.empty()) query.problem = parse_problem(options.problem, {});
  if (!options.device.empty()) query.device = options.device;
  if (options.run > 0) query.run = options.run;
  query.problem_prefix = options.prefix;
  query.statuses = options.statuses;
  query.after = options.after;
  return query;
}

/// Why a text is no status of an entry; empty if it is one.
std::string refuse_status(const std::string& text) {
  const bool is_ending = text == "done" || text == "failed" || text == "interrupted";
  if (is_ending || parse_status(text) || parse_verdict(text)) return {};
  return fmt::format("'{}' is no outcome, verdict or ending", shown(text));
}

void print(const std::string& line) { print_line(stdout, line); }
void print_object(const std::string& json) { std::printf("%s\n", json.c_str()); }

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

/// Refuses a run that the journal does not have: its number is given when it begins, so it cannot be waited for.
void check_run(const Journal& journal, int64_t run) {
  if (run == 0) return;
  bool is_there = false;
  journal.scan({.run = run, .limit = 1, .runs = true}, [&](const Entry&, const Stamp&) { is_there = true; });
  if (is_there) return;
  fail(ErrorCode::invalid_input,
       "the journal has no such run; `attune journal show` lists the runs of decisions, and `attune journal follow` "
       "without --run shows a run as it begins: {}",
       run);
}

/// Prints the newest decisions, the newest last, and how many there are.
int run_show_newest(const JournalOptions& options, const Journal& journal,
                    const std::function<void(const Decision&, const Stamp&)>& show) {
  Query query = query_of(options);
  query.started = query.records = query.pardons = false;
  const Query all = query;
  query.newest_first = true;
  query.limit = options.limit;
  std::vector<std::pair<Decision, Stamp>> newest;
  const size_t num_damaged = journal.scan(
      query, [&](const Entry& entry, const Stamp& stamp) { newest.emplace_back(std::get<Decision>(entry), stamp); });
  for (auto one = newest.rbegin(); one != newest.rend(); ++one) show(one->first, one->second);
  const auto file = journal_file(options.journal);
  if (!options.json)
    print(fmt::format("{} of {}; {}", newest.size(),
                      counted(static_cast<size_t>(journal.count(all).decisions), "decision"), file.string()));
  note_damaged(num_damaged, file);
  return 0;
}

int run_show(const JournalOptions& options) {
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
  // A command that repeats a decision uses this machine's name of the device.
  const auto devices = list_devices();
  const auto show = [&](const Decision& decision, const Stamp& stamp) {
    if (options.json)
      print_object(with_stamp(decision_json(decision, device_flags(devices, decision.device)), stamp));
    else
      print(fmt::format("{}  {}", short_stamp(stamp), result_line(decision)));
  };
  if (!options.json) print(fmt::format("{}  {}", stamp_header(), result_header()));
  if (options.limit > 0) return run_show_newest(options, *journal, show);
  size_t num_records = 0, num_decisions = 0;
  CandidateCount candidates;
  const size_t num_damaged = journal->scan(query_of(options), [&](const Entry& entry, const Stamp& stamp) {
    candidates.add(entry);
    num_records += std::holds_alternative<Record>(entry);
    if (const auto* decision = std::get_if<Decision>(&entry)) {
      ++num_decisions;
      show(*decision, stamp);
    }
  });
  if (!options.json)
    print(fmt::format("{}, {} of {}; {}", counted(num_decisions, "decision"), counted(num_records, "record"),
                      counted(candidates.value(), "candidate"), file.string()));
  note_damaged(num_damaged, file);
  return 0;
}

/// Prints entries as they are written, until the run that was asked for ends, or for ever.
int run_follow(const JournalOptions& options) {
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
  Query query = query_of(options);
  query.runs = true;
  for (bool goes_on = true; goes_on;) {
    if (!journal->is_in_place())
      fail(ErrorCode::database, "the journal was removed or replaced, follow the one that is there now: '{}'",
           file.string());
    journal->scan(query, [&](const Entry& entry, const Stamp& stamp) {
      if (options.json)
        print_object(entry_line_json(entry, stamp));
      else
        print(entry_line(entry, stamp));
      query.after = stamp.id;
      if (query.run && std::holds_alternative<RunEnd>(entry)) goes_on = false;
    });
    std::fflush(stdout);
    if (goes_on) std::this_thread::sleep_for(kPollInterval);
  }
  return 0;
}

int run_export(const JournalOptions& options) {
  if (options.csv.empty()) fail(ErrorCode::invalid_input, "give an output file: attune journal export --csv all.csv");
  const auto file = journal_file(options.journal);
  const OutputFile output{"--csv", options.csv};
  check_distinct_outputs(std::span(&output, 1), {"--journal", file});
  check_evidence_output(options.csv);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
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

void add_journal_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<JournalOptions>();
  command.require_subcommand(1);
  command.add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
  auto* show = command.add_subcommand("show", "List the decisions, and count the records behind them");
  auto* follow = command.add_subcommand("follow", "Print entries as they are written, those that are there first");
  auto* write = command.add_subcommand("export", "Write every record as CSV");
  auto* vacuum = command.add_subcommand("vacuum", "Delete entries that newer ones supersede, and free the space");
  write->add_option("--csv", options->csv, "File to write");
  show->add_flag("--json", options->json, "One JSON object per line, for each decision");
  show->add_option("--limit", options->limit, "Only so many, the newest")->check(natural_number_error);
  follow->add_flag("--json", options->json, "One JSON object per line, for each entry");
  for (auto* action : {show, follow, write, vacuum}) {
    action->fallthrough();
    if (action == vacuum) continue;
    action->add_option("--problem", options->problem, "Only this problem (its full key)");
    action->add_option("--prefix", options->prefix, "Only problems whose key begins so: \"gemm_a16w16 m=1 \"");
    action->add_option("--device", options->device,
                       "Only this device key, as `journal show --json` prints it: x86-64-v4+bf16+amx/2");
    action
        ->add_option(
            "--run", options->run,
            "Only this run: its number, which `show` and `follow` print in the column `run`; `follow` then ends "
            "when the run does")
        ->check(positive_number_error);
    action
        ->add_option("--status", options->statuses,
                     "Only entries of this outcome (ok, crashed …), verdict (faster, tie …) or ending; may be repeated")
        ->check(refuse_status);
    action->add_option("--after", options->after, "Only entries with a larger id")->check(natural_number_error);
  }
  show->callback([options, &chosen] { chosen = [options] { return run_show(*options); }; });
  follow->callback([options, &chosen] { chosen = [options] { return run_follow(*options); }; });
  write->callback([options, &chosen] { chosen = [options] { return run_export(*options); }; });
  vacuum->callback([options, &chosen] { chosen = [options] { return run_vacuum(*options); }; });
}

}  // namespace

Command journal_command() {
  return {CommandGroup::maintenance, "journal", "Show, follow or export the measurements, or free their space",
          add_journal_flags};
}

}  // namespace attune
