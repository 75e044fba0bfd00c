// SPDX-License-Identifier: MIT
#include "ops/op.h"

#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "base/mutex.h"
#include "base/text.h"
#include "ops/schema.h"

namespace attune {

std::vector<const Op*> registered_ops();  // Generated.

namespace {

/// The ops of the process; never destroyed, because a process may end while its threads look problems up.
struct AllOps {
  Mutex mutex;
  std::vector<const Op*> ops ATTUNE_GUARDED_BY(mutex) = registered_ops();
  bool is_fixed ATTUNE_GUARDED_BY(mutex) = false;
};
AllOps& all_ops() {
  static AllOps& all = *new AllOps;
  return all;
}

constinit std::atomic<void (*)()> op_loader{nullptr};

std::span<const Op* const> fix_ops() {
  if (const auto load = op_loader.load()) load();
  AllOps& all = all_ops();
  const Lock lock(all.mutex);
  all.is_fixed = true;
  return all.ops;
}

}  // namespace

Problem Op::normalise(const Problem& problem, const DeviceInfo& device) const {
  return normalised(problem, family(), device);
}

Reference whole_reference(const Op& op, const Problem& problem, Path path, const HostTensors& tensors) {
  const auto count = static_cast<size_t>(op.tensors(problem).back().elements());
  const int64_t rows = op.output_rows(problem);
  Reference all{Reference::Numbers(count), Reference::Numbers(count)};
  op.reference(problem, path, tensors, part_of(all, {0, rows}, static_cast<int64_t>(count) / rows));
  return all;
}

ReferencePart part_of(Reference& reference, IndexRange rows, int64_t columns) {
  const auto first = static_cast<size_t>(rows.begin * columns), count = static_cast<size_t>(rows.size() * columns);
  return {rows,
          {0, columns},
          std::span(reference.values).subspan(first, count),
          std::span(reference.scales).subspan(first, count)};
}

std::span<const Op* const> ops() {
  static const std::span<const Op* const> all = fix_ops();
  return all;
}

void set_op_loader(void (*load)()) noexcept { op_loader = load; }

void register_op(const Op& op) {
  AllOps& all = all_ops();
  const Lock lock(all.mutex);
  if (all.is_fixed)
    fail(ErrorCode::invalid_input, "an op is registered before any other is used, '{}' comes too late", op.name());
  if (std::any_of(all.ops.begin(), all.ops.end(), [&](const Op* known) { return known->name() == op.name(); }))
    fail(ErrorCode::invalid_input, "an op of this name is there already, name it otherwise: '{}'", op.name());
  if (op.family().number != OpId::first_registered)
    fail(ErrorCode::invalid_input, "the family of a registered op has no number: '{}'", op.name());
  all.ops.push_back(&op);
}

void withdraw_op(const Op& op) noexcept {
  AllOps& all = all_ops();
  const Lock lock(all.mutex);
  if (!all.is_fixed) std::erase(all.ops, &op);
}

const Op* find_op(std::string_view name) {
  for (const Op* op : ops()) {
    if (op->name() == name) return op;
  }
  return nullptr;
}

const Op& op_of(const Problem& problem) {
  if (const Op* op = find_op(problem.op())) return *op;
  if (find_family(problem.op()))
    fail(ErrorCode::invalid_input, "this build reads the tables of the family but cannot tune it yet: '{}'",
         problem.op());
  std::vector<std::string> names;
  for (const Op* op : ops()) names.emplace_back(op->name());
  fail(ErrorCode::invalid_input, "unknown op, use one of {}: '{}'", join(names, ", "), problem.op());
}

}  // namespace attune
