// SPDX-License-Identifier: MIT
#include "dispatch/missed_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dispatch/online/online_tuning.h"
#include "dispatch/table/key_problem.h"
#include "ops/op.h"

namespace attune {

bool MissedShapes::note(const KeyCodes& codes, const RowIndex& rows, const LookupRequest& request,
                        const CachedAnswer* before, const CachedAnswer& served) {
  const Hit& hit = served.hit;
  const bool is_first = before == nullptr || !before->was_served;
  const bool is_missed = hit.row == 0 && !served.was_missed;
  if (is_first) ++num_shapes_;
  if (is_missed) ++num_missed_;
  // A prediction's bound is no proof, so its shape is tuned too.
  const bool is_predicted = hit.match == Match::predicted && (is_first || !before->was_predicted);
  if (options_.online_tuning && (is_missed || is_predicted) && served.layouts == nullptr &&
      missed_.size() < OnlineTuning::kMaxShapes) {
    missed_.push_back(request);
    if (units_ == 0) units_ = request.units;
  }
  const bool was_missed = served.was_missed || is_missed;
  if (!is_missed && !(is_first && options_.log_hits)) return was_missed;
  const auto problem = problem_of(codes, served.key);
  if (!problem) return was_missed;
  if (hit.row == 0) {
    log_.say(fmt::format("no row of a table serves {}; its default kernel is {}", problem->key(),
                         served.plan->default_config));
  } else {
    const RowIndex::Row& row = rows.row(hit.row);
    const std::string until =
        hit.is_stand_in ? fmt::format("; until it is compiled, {} stands in", served.plan->default_config) : "";
    log_.say(fmt::format("{}: {} of {}: {}{}", problem->key(), name(hit.match), rows.where(row), rows.kernel_name(row),
                         until));
  }
  return was_missed;
}

void MissedShapes::add(const LookupRequest& request) {
  // One more than are tuned lets OnlineTuning say that there are more.
  if (added_.size() > OnlineTuning::kMaxShapes || std::ranges::find(added_, request.key) != added_.end()) return;
  added_.push_back(request.key);
  missed_.push_back(request);
  if (units_ == 0) units_ = request.units;
}

std::vector<Problem> MissedShapes::take(const FamilyCodes& codes, const ThreadLimitedDevice& tuned,
                                        const TableSnapshotStore& store) {
  std::vector<Problem> missed;
  for (const LookupRequest& request : std::exchange(missed_, {})) {
    const KeyCodes& own = codes.of(request.key.op());
    const FamilySpec& family = own.family();
    const auto problem = problem_of(own, request.key);
    const Op* known = find_op(family.op);
    if (!problem || known == nullptr) continue;
    if (request.units != tuned.units) {
      log_.say(fmt::format(
          "shapes that are called under another thread limit than the first that was missed, {}, are not tuned online",
          tuned.units));
      continue;
    }
    const RowIndex& rows = tuned.now.load()->rows(codes.place(own));
    const uint32_t number = rows.find(own.hash(request.key));
    const RowIndex::Row* row = number == 0 ? nullptr : &rows.row(number);
    if (store.are_explicit(codes.place(own)))
      log_.say(
          fmt::format("{} is not tuned online: its tables are given explicitly and replace all others", family.op));
    else if (row != nullptr && rows.files()[row->file].origin == Origin::variable)
      log_.say(fmt::format("{} is not tuned online: an unusable row has precedence over all others, {}", problem->key(),
                           rows.where(*row)));
    else
      missed.push_back(known->normalise(*problem, tuned.info));
  }
  return missed;
}

}  // namespace attune
