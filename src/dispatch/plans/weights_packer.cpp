// SPDX-License-Identifier: MIT
#include "dispatch/plans/weights_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/error.h"
#include "dispatch/table/key_problem.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Throws invalid_input for a key that is no problem of its op, unavailable for an op that this build does not compute.
Problem normalised(const KeyCodes& codes, const Key& key, int64_t m, const DeviceInfo& device) {
  const Problem asked = problem_to_compute(codes, codes.with_m(key, m));
  const Op* op = find_op(codes.family().op);
  if (op == nullptr) fail(ErrorCode::unavailable, "this build does not compute {}", codes.family().op);
  Problem problem = op->normalise(asked, device);
  if (!codes.is_packed(key)) fail(ErrorCode::invalid_input, "the op has no packed weights: {}", codes.family().op);
  return problem;
}

}  // namespace

/// Collects the layouts of usable rows, the layout with most rows first.
std::vector<WeightsPacker::Choice> WeightsPacker::choices_of_rows(PlanMaker& maker, const KeyCodes& codes,
                                                                  const RowIndex& rows, const Key& key) {
  std::vector<Choice> choices;
  for (const std::string& layout : rows.layouts()) {
    const GroupKey group = codes.group_key(key, KeyCodes::layout_code(layout));
    Choice choice;
    choice.layout = layout;
    for (uint32_t number = rows.next(group, 0); number != 0; number = rows.next(group, rows.row(number).m)) {
      const RowIndex::Row& row = rows.row(number);
      if (rows.find(group.with_m(row.m)) != number) continue;  // A group whose hash collides with this one.
      const auto solver =
          maker.who_serves(normalised(codes, key, row.m, maker.device()), rows.kernel_name(row), layout);
      if (!solver) continue;
      choice.solver = *solver;
      choice.m = row.m;
      ++choice.num_rows;
      choice.us += double{row.us};
    }
    if (choice.num_rows > 0) choices.push_back(std::move(choice));
  }
  std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::tuple(b.num_rows, a.us, a.layout) < std::tuple(a.num_rows, b.us, b.layout);
  });
  if (choices.size() > LayoutSet::kMax) choices.resize(LayoutSet::kMax);
  return choices;
}

/// Returns the first layout of the default configs (baselines first, `plain` last) that some solver reads at every
/// probed M; else the first.
WeightsPacker::Choice WeightsPacker::choice_without_rows(PlanMaker& maker, const KeyCodes& codes, const Key& key) {
  // oneDNN's layout may depend on whether M is small, medium or large.
  constexpr std::array<int64_t, 3> kProbed = {1, 64, 2048};
  std::vector<Choice> choices;
  for (const auto& [solver, layout] : maker.default_layouts(normalised(codes, key, kProbed[0], maker.device())))
    choices.push_back({layout, solver, kProbed[0], 0, 0});
  if (choices.empty())
    fail(ErrorCode::unavailable, "no solver on this machine supports packed weights: {}",
         normalised(codes, key, kProbed[0], maker.device()).key());
  for (const Choice& choice : choices) {
    const bool always = std::all_of(kProbed.begin(), kProbed.end(), [&](int64_t m) {
      return maker.reads(normalised(codes, key, m, maker.device()), choice.layout);
    });
    if (always) return choice;
  }
  return choices.front();
}

const LayoutSet& WeightsPacker::set_of(std::vector<std::string> names) {
  auto& set = sets_[names];
  if (!set) {
    LayoutSet fresh;
    std::string all = "held:";
    for (const std::string& name : names) {
      fresh.codes.push_back(KeyCodes::layout_code(name));
      all += name + ' ';
    }
    fresh.code = KeyCodes::layout_code(all);
    fresh.names = std::move(names);
    set = std::make_unique<const LayoutSet>(std::move(fresh));
  }
  return *set;
}

WeightsPacker::PackingChoice WeightsPacker::choose(PlanMaker& maker, const KeyCodes& codes, const RowIndex& rows,
                                                   const Key& key, const PackOptions& options) {
  std::vector<Choice> choices = choices_of_rows(maker, codes, rows, key);
  if (choices.empty()) choices.push_back(choice_without_rows(maker, codes, key));
  if (options.packing == Packing::one_layout) choices.resize(1);

  PackingChoice chosen;
  std::vector<std::string> names;
  uint64_t total = 0, min_bytes = 0;
  for (const Choice& choice : choices) {
    WeightPacking packing =
        maker.packing(normalised(codes, key, choice.m, maker.device()), choice.layout, choice.solver);
    if (min_bytes == 0 || packing.bytes < min_bytes) min_bytes = packing.bytes;
    if (options.max_bytes != 0 && packing.bytes > options.max_bytes - total) continue;
    total += packing.bytes;
    names.push_back(choice.layout);
    chosen.packings.push_back(std::move(packing));
  }
  if (chosen.packings.empty()) {
    fail(ErrorCode::unavailable, "packed weights need more than max_bytes, use plain ones: {} of {}", min_bytes,
         options.max_bytes);
  }
  chosen.layouts = &set_of(std::move(names));
  const Problem any_m = normalised(codes, key, 1, maker.device());
  const auto specs = op_of(any_m).tensors(any_m);
  for (const size_t operand : packed_operands(specs)) chosen.plain_bytes.push_back(specs[operand].bytes());
  return chosen;
}

}  // namespace attune
