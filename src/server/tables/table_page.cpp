// SPDX-License-Identifier: MIT
#include "server/tables/table_page.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace attune {
namespace {

using Place = std::pair<std::string_view, std::string_view>;  // Problem, device.

struct PlaceHash {
  size_t operator()(const Place& place) const noexcept {
    const std::hash<std::string_view> hash;
    return hash(place.first) * 31 + hash(place.second);
  }
};

constexpr std::array<std::string_view, kNumRowAgreements> kNames = {"same", "other", "undecided", "unpublished"};

/// Takes lines one by one, and keeps those of the page.
class PageLines {
 public:
  explicit PageLines(const TableQuery& query) : query_(query), text_(to_lower(query.text)) {}

  /// One of `row` and `decision` may be null.
  void add(const RowSummary* row, const ResultRow* decision, RowAgreement agreement) {
    ++page_.counts[static_cast<size_t>(agreement)];
    if (query_.agreement && *query_.agreement != agreement) return;
    if (!text_.empty() && !(row != nullptr && is_in(*row)) && !(decision != nullptr && is_in(*decision))) return;
    const size_t at = page_.num_found++;
    if (at < query_.after || page_.lines.size() == query_.limit) return;
    page_.lines.push_back({row == nullptr ? std::nullopt : std::optional(*row),
                           decision == nullptr ? std::nullopt : std::optional(*decision), agreement});
  }
  TablePage take() { return std::move(page_); }

 private:
  bool has_text(const std::string& where) const { return to_lower(where).find(text_) != std::string::npos; }
  bool is_in(const RowSummary& row) const {
    return has_text(row.problem) || has_text(row.kernel) || has_text(row.device) || has_text(row.place);
  }
  bool is_in(const ResultRow& row) const {
    return has_text(row.problem) || has_text(row.winner) || has_text(row.device);
  }

  const TableQuery& query_;
  const std::string text_;
  TablePage page_;
};

}  // namespace

std::string_view name(RowAgreement agreement) noexcept { return kNames[static_cast<size_t>(agreement)]; }

std::optional<RowAgreement> parse_row_agreement(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RowAgreement>(found - kNames.begin());
}

TablePage table_page(const RowSummaries& rows, const ResultIndex& results, const TableQuery& query) {
  std::unordered_map<Place, const ResultRow*, PlaceHash> newest;
  newest.reserve(results.size());
  for (const ResultRow& one : results.rows()) newest[{one.problem, one.device}] = &one;  // Ordered by id.
  std::unordered_set<Place, PlaceHash> published;
  PageLines lines(query);
  for (const RowSummary& row : rows.rows) {
    const Place place(row.problem, row.device);
    if (row.is_taken) published.insert(place);
    const auto decision = newest.find(place);
    if (decision == newest.end())
      lines.add(&row, nullptr, RowAgreement::undecided);
    else
      lines.add(&row, decision->second,
                row.kernel == decision->second->winner ? RowAgreement::same : RowAgreement::other);
  }
  for (auto one = results.rows().rbegin(); one != results.rows().rend(); ++one) {
    const Place place(one->problem, one->device);
    if (newest.at(place) == &*one && !published.contains(place)) lines.add(nullptr, &*one, RowAgreement::unpublished);
  }
  return lines.take();
}

}  // namespace attune
