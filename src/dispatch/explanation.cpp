// SPDX-License-Identifier: MIT
// Dispatcher::explain(): describes a lookup in lines for a person.
#include <fmt/format.h>

#include "dispatch/plan_service.h"
#include "dispatch/table/lookup_trace.h"

namespace attune {
namespace {

/// A problem in the layouts of its weights: plain, or all that rows name if the weights are packed ahead.
struct LayoutKeys {
  std::vector<GroupKey> groups;
  std::vector<std::string> remarks;  ///< ` host.k16.v1` for weights packed ahead; else empty.
};

LayoutKeys layout_keys(const KeyCodes& codes, const RowIndex& rows, const Key& key) {
  if (!codes.is_packed(key)) return {{codes.group_key(key)}, {""}};
  LayoutKeys keys;
  for (const std::string& layout : rows.layouts()) {
    keys.groups.push_back(codes.group_key(key, KeyCodes::layout_code(layout)));
    keys.remarks.push_back(" " + layout);
  }
  return keys;
}

std::string step_text(const RowIndex& rows, const TracedStep& step, const LayoutKeys& keys) {
  std::string what = "no row";
  if (step.met.number != 0) {
    const RowIndex::Row& row = rows.row(step.met.number);
    what = fmt::format("{} {}", rows.where(row), rows.kernel_name(row));
  }
  if (step.met.match == Match::predicted)
    what += fmt::format(", at most {:.0f} % slower than the best{}", 100 * step.met.regret,
                        step.is_allowed ? "" : ", above the limit");
  const std::string layout = step.met.number != 0 ? keys.remarks[step.met.layout] : "";
  return fmt::format("{:<14} m={}{}: {}\n", name(step.met.match), step.m, layout, what);
}

/// What says a banned row of the step's key; empty without one.
std::string banned_text(const RowIndex& rows, const TracedStep& step, const LayoutKeys& keys, std::string_view device) {
  std::string text;
  for (const RowIndex::Row* row : banned_rows(rows, step, keys.groups)) {
    const Ban* ban = rows.bans()->find(rows.kernel_name(*row), device);
    if (ban == nullptr) continue;
    text += fmt::format("{:<14} m={}: {} {} {}\n", "not used", step.m, rows.where(*row), rows.kernel_name(*row),
                        ban_clause(*ban));
  }
  return text;
}

/// Returns `exact`, or which default config serves and until when.
std::string who_serves(const CachedAnswer& served) {
  const Hit& hit = served.hit;
  const std::string default_config =
      hit.plan == nullptr ? "nothing" : fmt::format("the default config {}", served.plan->default_config);
  if (!hit.is_stand_in) return hit.row == 0 ? default_config : std::string(name(hit.match));
  const std::string kernel = hit.row == 0 ? "its kernel" : fmt::format("the kernel of the {} row", name(hit.match));
  return fmt::format("{} until {} is compiled", default_config, kernel);
}

}  // namespace

std::string PlanService::explain(const Key& key) {
  const Lock lock(guard_);
  const KeyCodes& own = codes(key);
  const ThreadLimitedDevice& device = present();
  const Snapshot& tables = *device.now.load();
  const RowIndex& rows = rows_of(tables, key);
  const LayoutKeys keys = layout_keys(own, rows, key);
  std::string text;
  if (options_.require != Requirement::none)
    text = fmt::format("required        {}: other rows are not seen\n", attune::text(options_.require));
  for (const TracedStep& step :
       trace_lookup(rows, own.m_of(key), own.n_of(key), own.pads_m(), keys.groups, options_.max_regret))
    text += banned_text(rows, step, keys, device.info.key()) + step_text(rows, step, keys);
  if (own.is_packed(key)) return text + "packed weights  use the rows of the layouts that they hold\n";
  const CachedAnswer* served = tables.served.find(hash_of({key}));
  if (served == nullptr) return text + "not called yet\n";
  if (served->has_left) return text + "served by       an evicted plan, made again at the next call\n";
  const Hit& hit = served->hit;
  if (hit.plan == nullptr && served->was_served && !hit.is_stand_in)
    return text + "served by       a plan that is made at each call, because it exceeds the limit of all plans\n";
  if (hit.plan == nullptr && !hit.is_stand_in) {
    const auto refused = device.refusals.find(served->hash);
    return text + fmt::format("served by       nothing{}\n",
                              refused == device.refusals.end() ? "" : ": " + refused->second.why);
  }
  return text + fmt::format("served by       {}{}\n", who_serves(*served),
                            hit.drifted ? ", compiled by another compiler" : "");
}

}  // namespace attune
