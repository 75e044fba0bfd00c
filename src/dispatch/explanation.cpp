// SPDX-License-Identifier: MIT
// Dispatcher::explain(): describes a lookup in lines for a person.
#include <fmt/format.h>

#include <limits>

#include "dispatch/dispatch_state.h"

namespace attune {
namespace {

/// A problem in one layout of its weights.
struct LayoutKey {
  HalfKey half;
  std::string remark;  ///< ` host.k16.v1` for weights packed ahead; else empty.
};

std::vector<LayoutKey> layout_keys(const KeyCodes& codes, const RowIndex& rows, const GemmKey& key) {
  if ((key.flags & GemmKey::bpreshuffle) == 0) return {{codes.half(key), ""}};
  std::vector<LayoutKey> layouts;
  for (const std::string& layout : rows.layouts())
    layouts.push_back({codes.half(codes.codes(key), KeyCodes::layout_code(layout)), " " + layout});
  return layouts;
}

std::string line_of(Match match, int64_t m, std::string_view what) {
  return fmt::format("{:<14} m={}{}\n", name(match), m, what);
}

std::string steps_text(const RowIndex& rows, const LookupSteps& steps, const std::vector<LayoutKey>& layouts) {
  std::string text;
  for (const auto& step : steps) {
    bool is_met = false;
    for (const LayoutKey& layout : layouts) {
      const uint32_t number = rows.find(layout.half.with_m(step.m));
      if (number == 0) continue;
      is_met = true;
      const RowIndex::Row& row = rows.row(number);
      text +=
          line_of(step.match, step.m, fmt::format("{}: {} {}", layout.remark, rows.where(row), rows.kernel_name(row)));
    }
    if (!is_met) text += line_of(step.match, step.m, ": no row");
  }
  return text;
}

/// Describes the predictions of one layout, including those with too large a bound, which are marked as such.
std::string predictions_text(const RowIndex& rows, const LayoutKey& layout, int64_t m, double max_regret) {
  std::string text;
  if (max_regret <= 0) return text;
  for (const auto& one : rows.predict(layout.half, m, std::numeric_limits<double>::max())) {
    const RowIndex::Row& row = rows.row(one.number);
    text += line_of(Match::predicted, row.m,
                    fmt::format("{}: {} {}, at most {:.0f} % slower than the best{}", layout.remark, rows.where(row),
                                rows.kernel_name(row), 100 * one.regret,
                                double{one.regret} <= max_regret ? "" : ", above the limit"));
  }
  return text;
}

}  // namespace

std::string Dispatcher::State::explain(const GemmKey& key) {
  const std::lock_guard lock(making_);
  const auto op = static_cast<size_t>(key.op);
  if (op >= kNumOps) return "unknown op number\n";
  const KeyCodes& own = codes[op];
  if (!own.fits(key)) return "the op does not support this batch, bias or order of operands\n";
  const RowIndex& rows = *now.load()->tables[op].rows;
  const std::vector<LayoutKey> layouts = layout_keys(own, rows, key);
  std::string text = steps_text(rows, LookupSteps(own.pads_m(), key.m, key.n), layouts);
  for (const LayoutKey& layout : layouts) text += predictions_text(rows, layout, key.m, options.max_regret);
  if ((key.flags & GemmKey::bpreshuffle) != 0)
    return text + "packed weights  use the rows of the layouts that they hold\n";
  const CachedAnswer* served = now.load()->served.find(hash_of({key}));
  if (served == nullptr) return text + "not called yet\n";
  if (served->has_left) return text + "served by       an evicted plan, made again at the next call\n";
  const Hit& hit = served->hit;
  if (hit.plan == nullptr && served->was_served && !hit.is_stand_in)
    return text + "served by       a plan that is made at each call, it exceeds the limit of all plans\n";
  if (hit.plan == nullptr && !hit.is_stand_in) {
    const auto refused = refusals_.find({served->hash.high, served->hash.low});
    return text +
           fmt::format("served by       nothing{}\n", refused == refusals_.end() ? "" : ": " + refused->second.why);
  }
  return text + fmt::format("served by       {}{}{}\n", hit.row == 0 ? "the untuned config" : name(hit.match),
                            hit.is_stand_in ? ", untuned until its kernel is compiled" : "",
                            hit.drifted ? ", compiled by another compiler" : "");
}

}  // namespace attune
