// SPDX-License-Identifier: MIT
#include "cli/quarantine/kernel_bans.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/text.h"
#include "core/candidate.h"
#include "formats/csv/ban_file.h"
#include "formats/csv/csv_document.h"
#include "solver/registry.h"
#include "store/journal.h"
#include "store/journal_file.h"

namespace attune {
namespace {

constexpr size_t kMaxReasonBytes = 500;

std::filesystem::path ban_file() {
  check_home_location();
  return overlay_location().path / kBanFileName;
}

/// `user@host`.
std::string own_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return fmt::format("{}@{}", user == nullptr ? fmt::format("user {}", ::geteuid()) : user->pw_name, host_name());
}

/// Throws invalid_input unless a text could be the name of a kernel that was measured: another one would ban nothing.
void check_full_name(const std::string& text) {
  const Candidate candidate = Candidate::parse(text);
  const std::string_view version = std::string_view(candidate.version).substr(0, candidate.version.find('+'));
  if (parse_int(version).value_or(-1) >= 0 && !candidate.config.values().empty()) return;
  fail(ErrorCode::invalid_input,
       "a candidate's full name has the number of its version and parameters (fake.gemm@1:tile_m=16), and a solver's "
       "id alone ({}) stands for all of its candidates, give one of the two: '{}'",
       candidate.solver, shown(text));
}

void check_candidate(const std::string& candidate) {
  const size_t end_of_solver = candidate.find('@');
  if (end_of_solver != std::string::npos) check_full_name(candidate);
  const std::string solver = candidate.substr(0, end_of_solver);
  if (registry().find(solver) != nullptr) return;
  fail(ErrorCode::invalid_input,
       "no solver of this build has this id, give a candidate's full name (fake.gemm@1:tile_m=16) as tables and "
       "journals write it, or a solver's id (attune list solvers): '{}'",
       shown(candidate));
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char one) { return one < ' ' || one == 127; });
}

/// The device need not be of this machine.
void check_device(const std::string& device) {
  const size_t slash = device.rfind('/');
  const bool has_units =
      slash != std::string::npos && parse_int(std::string_view(device).substr(slash + 1)).value_or(0) > 0;
  if (device.empty() || (has_units && slash > 0 && is_one_line(device) && device.find(' ') == std::string::npos))
    return;
  fail(ErrorCode::invalid_input,
       "--device takes a device's architecture and units, as tables and journals name it "
       "(x86-64-v4/2): '{}'",
       shown(device));
}

void check_reason(const std::string& reason) {
  if (trim(reason).empty() || !is_one_line(reason) || reason.size() > kMaxReasonBytes)
    fail(ErrorCode::invalid_input, "a reason is one line of text of at most {} bytes: '{}'", kMaxReasonBytes,
         shown(reason));
  CsvDocument::parse("reason\n" + csv_cell(reason), "--reason");  // Text that no list could hold is refused.
}

std::string scope_text(const Ban& ban) {
  return fmt::format("{}{}{}", ban.candidate, ban.device.empty() ? " on every device" : " on " + ban.device,
                     ban.problem.empty() ? "" : " for " + ban.problem);
}

/// Refuses a file that is no journal before the list is changed. Null where none is there yet.
std::shared_ptr<const JournalFile> journal_of_bans(const std::filesystem::path& journal) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(journal))) return nullptr;
  return JournalFile::find(journal);
}

void append(const std::filesystem::path& journal, BanChange change) {
  const Entry entry = std::move(change);
  open_sql_journal(journal)->append({&entry, 1});
}

bool is_selected(const Ban& ban, const Ban& selected) {
  const auto fits = [](const std::string& wanted, const std::string& there) {
    return wanted.empty() || there.empty() || wanted == there;
  };
  return (selected.candidate.empty() || selected.candidate == ban.candidate) && fits(selected.device, ban.device) &&
         fits(selected.problem, ban.problem);
}

/// Adds the newest change that the journal has of each ban.
void add_evidence(std::vector<ListedBan>& bans, const std::filesystem::path& journal) {
  if (bans.empty() || !std::filesystem::exists(std::filesystem::symlink_status(journal))) return;
  const Query query{.started = false, .records = false, .decisions = false, .pardons = false, .bans = true};
  open_sql_journal_read_only(journal)->scan(query, [&](const Entry& entry, const Stamp& stamp) {
    const auto& change = std::get<BanChange>(entry);
    for (ListedBan& one : bans) {
      if (change.lifted || !one.ban.is_of_same(change.ban)) continue;
      one.by = change.by;
      one.at = utc_time_text(stamp.at_ms);
    }
  });
}

}  // namespace

std::vector<ListedBan> listed_bans(const Ban& selected, const std::filesystem::path& journal) {
  std::vector<std::string> notices;
  const auto bans = bans_of_user(notices);
  print_notes(notices);
  std::vector<ListedBan> listed;
  for (const Ban& ban : bans->all()) {
    if (is_selected(ban, selected)) listed.push_back({ban, "", ""});
  }
  add_evidence(listed, journal);
  return listed;
}

int add_ban(Ban ban, const std::filesystem::path& journal) {
  check_candidate(ban.candidate);
  check_device(ban.device);
  check_reason(ban.reason);
  ban.reason = trim(ban.reason);
  const auto file = ban_file();
  const auto existing = journal_of_bans(journal);
  // First the list, which is what holds: an entry of the journal alone would ban nothing.
  change_ban_file(file, [&](std::vector<Ban>& bans) {
    std::erase_if(bans, [&](const Ban& one) { return one.is_of_same(ban); });
    bans.push_back(ban);
  });
  append(journal, {ban, own_name(), false});
  print_line(stdout, fmt::format("banned {}: {}", scope_text(ban), ban.reason));
  print_line(stdout, fmt::format("applications take it from '{}' with their tables, within a second; the next run does "
                                 "not try it",
                                 file.string()));
  return 0;
}

int lift_ban(const Ban& ban, const std::filesystem::path& journal) {
  const auto existing = journal_of_bans(journal);
  Ban lifted;
  change_ban_file(ban_file(), [&](std::vector<Ban>& bans) {
    const auto found = std::find_if(bans.begin(), bans.end(), [&](const Ban& one) { return one.is_of_same(ban); });
    if (found == bans.end())
      fail(ErrorCode::not_found, "nothing is banned by this name, device and problem, see attune quarantine list: {}",
           scope_text(ban));
    lifted = *found;
    bans.erase(found);
  });
  append(journal, {lifted, own_name(), true});
  print_line(stdout, fmt::format("no longer banned: {}", scope_text(lifted)));
  return 0;
}

}  // namespace attune
