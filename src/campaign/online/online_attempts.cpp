// SPDX-License-Identifier: MIT
#include "campaign/online/online_attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attune/error.h"
#include "attune/version.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"

namespace attune {

OnlineAttempts::OnlineAttempts(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code missing;
  if (!std::filesystem::exists(file_, missing)) return;
  try {
    const auto document = CsvDocument::read(file_);
    const size_t problem = document.require_column("problem"), version = document.require_column("attune"),
                 begun = document.require_column("begun"), given_up = document.require_column("given_up");
    const auto waits = document.find_column("waits"), retry_at = document.find_column("retry_at");
    const auto number = [&](size_t row, std::optional<size_t> column) {
      return column ? parse_int(document.cell(row, *column)).value_or(0) : 0;
    };
    for (size_t row = 0; row < document.num_rows(); ++row) {
      if (document.cell(row, version) != kVersion) continue;
      attempts_[std::string(document.cell(row, problem))] = {parse_int(document.cell(row, begun)).value_or(0),
                                                             std::string(document.cell(row, given_up)),
                                                             number(row, waits), number(row, retry_at)};
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    attempts_.clear();
  }
}

std::string OnlineAttempts::given_up(const Problem& problem) const {
  const auto found = attempts_.find(problem.key());
  if (found == attempts_.end()) return {};
  if (!found->second.given_up.empty()) return found->second.given_up;
  if (found->second.num_starts < kMaxStarts) return {};
  return fmt::format("its tuning was started {} times, and the program was ended each time", found->second.num_starts);
}

bool OnlineAttempts::is_suspect(const Problem& problem) const {
  const auto found = attempts_.find(problem.key());
  return found != attempts_.end() && found->second.num_starts > 0;
}

void OnlineAttempts::begin(const Problem& problem) { ++attempts_[problem.key()].num_starts; }
void OnlineAttempts::done(const Problem& problem) { attempts_.erase(problem.key()); }

void OnlineAttempts::undone(const Problem& problem) {
  const auto found = attempts_.find(problem.key());
  if (found != attempts_.end() && --found->second.num_starts <= 0 && found->second.given_up.empty() &&
      found->second.num_waits == 0)
    attempts_.erase(found);
}

int64_t OnlineAttempts::wait_s(int64_t num_waits) noexcept {
  int64_t wait = kFirstWaitS;
  for (int64_t i = 1; i < num_waits && wait < kMaxWaitS; ++i) wait *= 2;
  return std::min(wait, kMaxWaitS);
}

int64_t OnlineAttempts::postpone(const Problem& problem, int64_t now_s) {
  Attempt& attempt = attempts_[problem.key()];
  attempt.num_starts = 0;  // Its tuning ended well.
  const int64_t wait = wait_s(++attempt.num_waits);
  attempt.retry_at_s = now_s + wait;
  return wait;
}

bool OnlineAttempts::is_waiting(const Problem& problem, int64_t now_s) const {
  const auto found = attempts_.find(problem.key());
  if (found == attempts_.end()) return false;
  const int64_t left = found->second.retry_at_s - now_s;
  return left > 0 && left <= wait_s(found->second.num_waits);
}

void OnlineAttempts::give_up(const Problem& problem, const std::string& reason) {
  // Shortened and on one line, because the reason contains libraries' messages.
  attempts_[problem.key()] = {.given_up = shown(reason, 500)};
}

std::vector<Problem> OnlineAttempts::forget_all() {
  std::vector<Problem> all;
  for (const auto& [key, attempt] : attempts_) {
    try {
      const Problem problem = Problem::parse(key);
      if (!given_up(problem).empty()) all.push_back(problem);
    } catch (const Error&) {
      // The file was edited by hand.
    }
  }
  attempts_.clear();
  return all;
}

void OnlineAttempts::save() const {
  std::string text = "problem,attune,begun,given_up,waits,retry_at\n";
  for (const auto& [key, attempt] : attempts_)
    text += fmt::format("{},{},{},{},{},{}\n", csv_cell(key), kVersion, attempt.num_starts, csv_cell(attempt.given_up),
                        attempt.num_waits, attempt.retry_at_s);
  write_file_atomically(file_, text, 0600);
}

}  // namespace attune
