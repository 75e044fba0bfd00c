// SPDX-License-Identifier: MIT
#include "server/journal/result_index.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "base/text.h"

namespace attune {
namespace {

/// What a query compares, made once for all rows.
class Filter {
 public:
  explicit Filter(const ResultQuery& query) : query_(query), text_(to_lower(query.text)) {}

  bool operator()(const ResultRow& row) const {
    return (query_.run == 0 || row.stamp.run == query_.run) && (!query_.verdict || row.verdict == *query_.verdict) &&
           (query_.device.empty() || row.device == query_.device) &&
           (text_.empty() || contains(row.problem) || contains(row.winner) || contains(row.device));
  }

 private:
  bool contains(const std::string& where) const {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::search(where.begin(), where.end(), text_.begin(), text_.end(),
                       [&](char one, char wanted) { return lower(one) == wanted; }) != where.end();
  }

  const ResultQuery& query_;
  std::string text_;
};

double number(const ResultRow& row, ResultOrder order) {
  switch (order) {
    case ResultOrder::ratio:
      return row.ratio;
    case ResultOrder::us:
      return row.us;
    case ResultOrder::seconds:
      return row.seconds;
    default:
      return 0;
  }
}

bool is_less(const ResultRow& one, const ResultRow& other, ResultOrder order) {
  if (order == ResultOrder::problem)
    return std::tie(one.problem, one.stamp.id) < std::tie(other.problem, other.stamp.id);
  return std::pair(number(one, order), one.stamp.id) < std::pair(number(other, order), other.stamp.id);
}

}  // namespace

ResultRow result_row(const Decision& decision, const Stamp& stamp) {
  const Comparison comparison = decision.over_default();
  return {.stamp = stamp,
          .problem = decision.problem.key(),
          .device = decision.device,
          .winner = decision.winner.name(),
          .verdict = decision.verdict,
          .require = decision.protocol.require,
          .us = comparison.us,
          .default_us = decision.default_us(),
          .ratio = comparison.ratio,
          .low = comparison.interval.low,
          .high = comparison.interval.high,
          .seconds = decision.seconds,
          .num_candidates = decision.num_candidates,
          .is_noisy = decision.noisy,
          .is_incomplete = decision.incomplete};
}

std::optional<ResultOrder> parse_result_order(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {"at", "ratio", "us", "seconds", "problem"};
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ResultOrder>(found - kNames.begin());
}

void ResultIndex::add_newest(ResultRow row) {
  if (rows_.size() == kMaxRows) rows_.pop_front();
  rows_.push_back(std::make_shared<const ResultRow>(std::move(row)));
}

void ResultIndex::add_oldest(ResultRow row) {
  if (rows_.size() < kMaxRows) rows_.push_front(std::make_shared<const ResultRow>(std::move(row)));
}

ResultPage ResultIndex::page(const ResultQuery& query) const {
  const auto first = [&](const ResultRow* one, const ResultRow* other) {
    return query.is_ascending ? is_less(*one, *other, query.order) : is_less(*other, *one, query.order);
  };
  const ResultRow* before = nullptr;
  if (query.after_id != 0) {
    const auto found =
        std::ranges::lower_bound(rows_, query.after_id, {}, [](const auto& row) { return row->stamp.id; });
    if (found == rows_.end() || (*found)->stamp.id != query.after_id) return {};
    before = found->get();
  }
  const Filter filter(query);
  ResultPage page;
  std::vector<const ResultRow*> found;
  for (const auto& row : rows_) {
    if (!filter(*row)) continue;
    ++page.num_found;
    if (before == nullptr || first(before, row.get())) found.push_back(row.get());
  }
  const size_t count = std::min(query.limit, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(), first);
  for (size_t i = 0; i < count; ++i) page.rows.push_back(*found[i]);
  page.is_last = count == found.size();
  return page;
}

}  // namespace attune
