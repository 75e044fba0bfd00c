// SPDX-License-Identifier: MIT
#include "tables/capture_list.h"

#include <algorithm>

#include "tables/captured_sources.h"
#include "tables/row_status.h"

namespace attune {
namespace {

ShapeShare share_of(const CalledShape& shape, const TableLookup& lookup, const DeviceInfo& device) {
  ShapeShare share{shape, "", Match::fallback, {}, 0};
  const LookupResult found =
      lookup.find(as_looked_up(shape.problem, device), [](const Candidate&) { return std::optional<std::string>(); });
  if (!found.row) return share;
  share.row = place_of(*found.table, *found.row);
  share.match = found.match;
  share.us = found.row->us;
  if (share.us) share.total_us = static_cast<double>(shape.calls) * *share.us;
  return share;
}

}  // namespace

CaptureList capture_list(std::span<const CapturedShapes> captured, const TableSet& set, const DeviceInfo& device) {
  const TableLookup lookup(set, device);
  CaptureList list;
  for (const CapturedShapes& one : captured) {
    for (const CalledShape& shape : one.shapes) list.shapes.push_back(share_of(shape, lookup, device));
  }
  std::stable_sort(list.shapes.begin(), list.shapes.end(), [](const ShapeShare& one, const ShapeShare& other) {
    return std::pair(one.total_us, one.shape.calls) > std::pair(other.total_us, other.shape.calls);
  });
  for (const ShapeShare& one : list.shapes) {
    const auto calls = static_cast<double>(one.shape.calls);
    list.us += one.total_us;
    list.calls += calls;
    if (!one.row.empty()) continue;
    ++list.num_without_row;
    list.calls_without_row += calls;
  }
  return list;
}

}  // namespace attune
