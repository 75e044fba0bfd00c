// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/journal.h"

namespace attune {

/// A Decision in short, as a line of a list.
struct ResultRow {
  Stamp stamp;
  std::string problem, device, winner;  ///< Keys and the candidate's name.
  Verdict verdict = Verdict::baseline;
  Requirement require = Requirement::none;  ///< Under which it was decided.
  double us = 0, default_us = 0;            ///< `default_us` 0: there is no default.
  double ratio = 1, low = 1, high = 1;      ///< Speed of the winner over the default, and its 95 % interval.
  double seconds = 0;                       ///< That the problem took.
  uint64_t num_candidates = 0;
  bool is_noisy = false, is_incomplete = false;
};
ResultRow result_row(const Decision& decision, const Stamp& stamp);

/// By what results are ordered; at equal values by id.
enum class ResultOrder : uint8_t { id, ratio, us, seconds, problem };
/// Nothing for an unknown name; the names are `at`, `ratio`, `us`, `seconds`, `problem`.
std::optional<ResultOrder> parse_result_order(std::string_view name);

/// Which results, in which order.
struct ResultQuery {
  std::string text;    ///< In the problem, the winner or the device, without regard to case.
  std::string device;  ///< Its key.
  std::optional<Verdict> verdict;
  int64_t run = 0;  ///< 0: any.
  ResultOrder order = ResultOrder::id;
  bool is_ascending = false;
  int64_t after_id = 0;  ///< Begins behind the result of this id in the order; 0: at the first.
  size_t limit = 100;
};

struct ResultPage {
  std::vector<ResultRow> rows;
  size_t num_found = 0;  ///< Of all pages.
  bool is_last = true;
};

/// The results of a journal, about 400 bytes each; the newest kMaxRows are kept. A page of 100,000 takes some 20 ms.
/// Not thread-safe.
class ResultIndex {
 public:
  static constexpr size_t kMaxRows = 400'000;

  /// Rows come in ascending order of ids (`newest`) or, older than all, in descending order. An older one beyond
  /// kMaxRows is left out.
  void add_newest(ResultRow row);
  void add_oldest(ResultRow row);
  size_t size() const noexcept { return rows_.size(); }
  ResultPage page(const ResultQuery& query) const;
  /// All rows by id, which are never changed. Takes some 10 ns a row.
  std::vector<std::shared_ptr<const ResultRow>> rows() const { return {rows_.begin(), rows_.end()}; }

 private:
  std::deque<std::shared_ptr<const ResultRow>> rows_;  ///< By id.
};

}  // namespace attune
