// SPDX-License-Identifier: MIT
#include "compile/compiler_failure.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kLines = 3;
constexpr size_t kCharacters = 400;

/// Phrases of a log that show a failure other than a faulty source, and its report.
struct Reason {
  std::span<const std::string_view> phrases;
  Status status;
  std::string_view what;
};
constexpr std::array<std::string_view, 2> kDisk = {"No space left on device", "Disk quota exceeded"};
constexpr std::array<std::string_view, 6> kMemory = {
    "out of memory",  "memory exhausted", "Cannot allocate memory",
    "std::bad_alloc", "bad alloc",        "Killed signal terminated program"};
constexpr std::array<std::string_view, 3> kCrash = {"internal compiler error", "PLEASE submit a bug report",
                                                    "signal terminated program"};
constexpr std::array<Reason, 3> kReasons = {
    {{kDisk, Status::compile_failed, "ran out of disk space, free some or set TMPDIR to another folder"},
     {kMemory, Status::out_of_memory, "ran out of memory"},
     {kCrash, Status::crashed, "crashed"}}};
constexpr std::array<std::string_view, 4> kMachine = {"Resource temporarily unavailable", "Too many open files",
                                                      "Input/output error", "MemoryError"};
constexpr std::array<std::string_view, 1> kError = {"error"};
constexpr Reason kRefused = {kError, Status::compile_failed, "rejected the source"};

/// Position of the first of the phrases; npos when none occurs.
size_t find_any(std::string_view log, std::span<const std::string_view> phrases) {
  size_t first = std::string_view::npos;
  for (const std::string_view phrase : phrases) first = std::min(first, log.find(phrase));
  return first;
}

/// An error with a line number before it: `kernel.c:3:5: error: …`, not a driver's own `collect2: error: …`.
bool has_source_error(std::string_view log) {
  for (size_t at = log.find(": error: "); at != std::string_view::npos; at = log.find(": error: ", at + 1)) {
    const size_t before = log.substr(0, at).find_last_not_of("0123456789");
    if (before != std::string_view::npos && before + 1 < at && log[before] == ':') return true;
  }
  return false;
}

const Reason& reason_in(std::string_view log) {
  // A faulty source may contain any of the phrases, in a string or a comment that the compiler quotes.
  if (has_source_error(log)) return kRefused;
  for (const Reason& reason : kReasons) {
    if (find_any(log, reason.phrases) != std::string_view::npos) return reason;
  }
  return kRefused;
}

/// The first line that names the reason and the lines after it, joined to one line that any table can hold.
std::string first_lines(std::string_view log, const Reason& reason) {
  std::vector<std::string> lines;
  const size_t named = find_any(log, reason.phrases);
  const size_t before = named == std::string_view::npos ? named : log.rfind('\n', named);
  for (const std::string_view line : split(before == std::string_view::npos ? log : log.substr(before), '\n')) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
    if (lines.size() == kLines) break;
  }
  return shown(join(lines, " / "), kCharacters);
}

}  // namespace

Outcome compiler_failure(const WaitStatus& status, std::string_view log, std::string_view toolchain) {
  const bool is_lost = status.end == WaitStatus::End::lost;
  // A lost process that failed has logged the reason. Without a log, the caller examines its output.
  if (is_lost && trim(log).empty()) return {};
  if ((status.end != WaitStatus::End::exited && !is_lost) || status.ok()) return outcome_of(status, toolchain);
  const Reason& reason = reason_in(log);
  Outcome outcome;
  outcome.status = reason.status;
  const std::string lines = first_lines(log, reason);
  outcome.detail = lines.empty() ? fmt::format("{} {} and wrote nothing", toolchain, status.describe())
                                 : fmt::format("{} {}: {}", toolchain, reason.what, lines);
  return outcome;
}

bool blames_machine(std::string_view log) {
  const auto has = [&](const auto& phrases) { return find_any(log, phrases) != std::string_view::npos; };
  return has(kMachine) || std::ranges::any_of(kReasons, [&](const Reason& reason) { return has(reason.phrases); });
}

bool is_rejection(const WaitStatus& status, std::string_view log) {
  const bool has_exited = status.end == WaitStatus::End::exited && !status.ok();
  return has_exited && has_source_error(log) && !blames_machine(log);
}

}  // namespace attune
