// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/problem_option.h"
#include "cli/quarantine/kernel_bans.h"
#include "device/devices.h"
#include "report/json_output.h"
#include "report/result_json.h"
#include "report/result_table.h"
#include "store/journal.h"

namespace attune {
namespace {

struct QuarantineOptions {
  std::string journal, problem, device, candidate, reason;
  bool json = false;
};

using Key = std::tuple<std::string, std::string, std::string>;  // Device, candidate, problem.

/// Returns the newest dangerous verdict on each candidate of each problem, unless it was pardoned since.
std::map<Key, Record> quarantined(const Journal& journal, const QuarantineOptions& options) {
  Query query{.started = false, .decisions = false};
  if (!options.problem.empty()) query.problem = parse_problem(options.problem, {});
  if (!options.device.empty()) query.device = options.device;
  std::map<Key, Record> found;
  journal.scan(query, [&](const Entry& entry, const Stamp&) {
    if (const auto* pardon = std::get_if<Pardon>(&entry)) {
      std::erase_if(found, [&](const auto& one) {
        return one.second.device == pardon->device && one.second.candidate == pardon->candidate;
      });
    }
    const auto* record = std::get_if<Record>(&entry);
    if (record == nullptr || record->stage != Stage::verify) return;
    if (!options.candidate.empty() && record->candidate.name() != options.candidate) return;
    const Key key{record->device, record->candidate.name(), record->problem.key()};
    if (is_dangerous(record->outcome.status))
      found.insert_or_assign(key, *record);
    else
      found.erase(key);
  });
  return found;
}

/// The candidates in quarantine by the journal; none if the user has no journal yet. Throws not_found for a named one
/// that is not there.
std::map<Key, Record> listed(const QuarantineOptions& options, const std::filesystem::path& file) {
  if (!options.journal.empty() || std::filesystem::exists(std::filesystem::symlink_status(file)))
    return quarantined(*open_sql_journal_read_only(file), options);
  if (!options.problem.empty()) static_cast<void>(parse_problem(options.problem, {}));
  print_line(stderr, fmt::format("note: no run has been recorded yet, so there is no journal: '{}'", file.string()));
  return {};
}

/// What is banned, or selects bans.
Ban ban_of(const QuarantineOptions& options) {
  const std::string problem = options.problem.empty() ? "" : parse_problem(options.problem, {}).key();
  return {options.candidate, options.device, problem, options.reason};
}

nlohmann::ordered_json ban_json(const ListedBan& one) {
  return {{"device", one.ban.device},
          {"problem", one.ban.problem},
          {"candidate", one.ban.candidate},
          {"status", "banned"},
          {"detail", one.ban.reason},
          {"by", one.by},
          {"at", one.at}};
}

void print_ban(const ListedBan& one) {
  print_line(stdout, fmt::format("{}  {}  {}", one.ban.device.empty() ? "every device" : one.ban.device,
                                 one.ban.problem.empty() ? "every problem" : one.ban.problem, one.ban.candidate));
  const std::string by = one.by.empty() ? "" : fmt::format(" (by {}, {})", one.by, one.at);
  print_line(stdout, fmt::format("  banned: {}{}", one.ban.reason, by));
}

int list(const QuarantineOptions& options) {
  const auto file = journal_file(options.journal);
  const auto found = listed(options, file);
  DeviceLookup devices;
  auto json = nlohmann::ordered_json::array();
  for (const auto& [key, record] : found) {
    const std::string repeat = repeat_command(record.problem, record.candidate, devices.flags(record.device));
    if (options.json) {
      json.push_back({{"device", record.device},
                      {"problem", record.problem.key()},
                      {"candidate", record.candidate.name()},
                      {"status", name(record.outcome.status)},
                      {"detail", record.outcome.detail},
                      {"repeat", repeat}});
    } else {
      print_line(stdout,
                 fmt::format("{}  {}  {}", record.device, short_shape(record.problem), record.candidate.name()));
      print_line(stdout, fmt::format("  {}: {}", name(record.outcome.status), record.outcome.detail));
      print_line(stdout, "  " + repeat);
    }
  }
  const auto bans = listed_bans(ban_of(options), file);
  if (options.json) {
    for (const ListedBan& one : bans) json.push_back(ban_json(one));
    print_json(json);
    return 0;
  }
  for (const ListedBan& one : bans) print_ban(one);
  const std::string banned = bans.empty() ? "" : fmt::format(", {}", counted(bans.size(), "ban"));
  print_line(stdout, fmt::format("{} in quarantine{}; {}", counted(found.size(), "candidate"), banned, file.string()));
  return 0;
}

int clear(const QuarantineOptions& options) {
  const auto file = existing_journal(options.journal);
  const auto journal = open_sql_journal(file);
  std::map<std::pair<std::string, std::string>, Entry> pardons;
  for (const auto& [key, record] : quarantined(*journal, options))
    pardons.emplace(std::pair{record.device, record.candidate.name()}, Pardon{record.device, record.candidate});
  std::vector<Entry> entries;
  for (const auto& [key, entry] : pardons) entries.push_back(entry);
  if (!entries.empty()) journal->append(entries);
  print_line(stdout, fmt::format("{} released from quarantine; the next run that needs one tries it again",
                                 counted(entries.size(), "candidate")));
  return 0;
}

int add(const QuarantineOptions& options) { return add_ban(ban_of(options), journal_file(options.journal)); }

int lift(const QuarantineOptions& options) { return lift_ban(ban_of(options), journal_file(options.journal)); }

void add_ban_flags(CLI::App& command, Action& chosen, const std::shared_ptr<QuarantineOptions>& options) {
  for (const auto& [name, help, run] :
       {std::tuple{"add", "Ban a kernel: the run time does not serve it, and no run tries it", &add},
        std::tuple{"remove", "Lift a ban", &lift}}) {
    auto* part = command.add_subcommand(name, help);
    part->add_option("candidate", options->candidate,
                     "Candidate by its full name, as tables and journals write it, or a solver's id: all of its "
                     "candidates, of every version")
        ->required();
    if (run == &add) part->add_option("--reason", options->reason, "Why, in one line")->required();
    part->add_option("--device", options->device, "Only on this device, as `quarantine list` names it: x86-64-v4/2");
    part->add_option("--problem", options->problem, "Only for this problem, such as \"gemm_a16w16 m=1 n=2 k=3\"");
    part->add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
    part->callback([&chosen, options, run = run] { chosen = [options, run] { return run(*options); }; });
  }
}

void add_quarantine_flags(CLI::App& command, Action& chosen) {
  command.require_subcommand(1);
  auto options = std::make_shared<QuarantineOptions>();
  add_ban_flags(command, chosen, options);
  for (const auto& [name, help, run] :
       {std::tuple{"list", "List the excluded candidates, why, and the command that reproduces each", &list},
        std::tuple{"clear", "Release candidates from quarantine: the next run tries them again", &clear}}) {
    auto* part = command.add_subcommand(name, help);
    part->add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
    part->add_option("--device", options->device, "Only this device, as the list names it: x86-64-v4/2");
    part->add_option("--candidate", options->candidate, "Only this candidate, by its full name");
    // A pardon applies to a candidate, whatever the problem.
    if (run == &list) part->add_option("--problem", options->problem, "Only this problem");
    if (run == &list) add_json_flag(*part, options->json);
    part->callback([&chosen, options, run = run] { chosen = [options, run] { return run(*options); }; });
  }
}

}  // namespace

Command quarantine_command() {
  return {CommandGroup::maintenance, "quarantine",
          "List or release candidates that crashed or hung, and are excluded until they change; ban kernels",
          add_quarantine_flags};
}

}  // namespace attune
