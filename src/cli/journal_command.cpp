// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/problem_option.h"
#include "cli/flags/value_checks.h"
#include "device/devices.h"
#include "report/entry_line.h"
#include "report/evidence_file.h"
#include "report/journal_listing.h"
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
  return is_entry_status(text) ? std::string() : fmt::format("'{}' is no outcome, verdict or ending", shown(text));
}

void print(const std::string& line) { print_line(stdout, line); }
void print_object(const std::string& json) { std::printf("%s\n", json.c_str()); }

/// Prints the newest decisions, the newest last, and how many there are.
int run_show_newest(const JournalOptions& options, const Journal& journal,
                    const std::function<void(const Decision&, const Stamp&)>& show) {
  const NewestDecisions newest = newest_decisions(journal, query_of(options), options.limit);
  for (const auto& [decision, stamp] : newest.decisions) show(decision, stamp);
  const auto file = journal_file(options.journal);
  if (!options.json)
    print(fmt::format("{} of {}; {}", newest.decisions.size(),
                      counted(count_decisions(journal, query_of(options)), "decision"), file.string()));
  note_damaged(newest.num_damaged, file);
  return 0;
}

int run_show(const JournalOptions& options) {
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
  // A command that repeats a decision uses this machine's name of the device.
  DeviceLookup devices;
  const auto show = [&](const Decision& decision, const Stamp& stamp) {
    if (options.json)
      print_object(with_stamp(decision_json(decision, devices.flags(decision.device)), stamp));
    else
      print(fmt::format("{}  {}", short_stamp(stamp), result_line(decision)));
  };
  if (!options.json) print(fmt::format("{}  {}", stamp_header(), result_header()));
  if (options.limit > 0) return run_show_newest(options, *journal, show);
  EntryTally tally;
  const size_t num_damaged = journal->scan(query_of(options), [&](const Entry& entry, const Stamp& stamp) {
    tally.add(entry);
    if (const auto* decision = std::get_if<Decision>(&entry)) show(*decision, stamp);
  });
  if (!options.json)
    print(fmt::format("{}, {} of {}; {}", counted(tally.num_decisions(), "decision"),
                      counted(tally.num_records(), "record"), counted(tally.num_candidates(), "candidate"),
                      file.string()));
  note_damaged(num_damaged, file);
  return 0;
}

/// Prints entries as they are written, until the run that was asked for ends, or for ever.
int run_follow(const JournalOptions& options) {
  const auto file = journal_file(options.journal);
  const auto journal = open_sql_journal_read_only(file);
  check_run(*journal, options.run);
  Query query = query_of(options);
  query.runs = query.bans = true;
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
