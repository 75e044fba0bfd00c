// SPDX-License-Identifier: MIT
#include "core/device/instruction_sets.h"

#include <algorithm>
#include <array>

namespace attune {
namespace {

/// Names by psABI level less one.
constexpr std::array<std::string_view, 4> kLevels = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

}  // namespace

InstructionSets::InstructionSets(int level, std::initializer_list<InstructionSet> extensions) noexcept : level_(level) {
  if (level >= 3) add(InstructionSet::avx2);
  if (level >= 4) add(InstructionSet::avx512);
  for (const InstructionSet set : extensions) add(set);
}

InstructionSets InstructionSets::of(std::string_view gfx) noexcept {
  size_t end = std::min(gfx.find('+'), gfx.size());
  const auto level = std::find(kLevels.begin(), kLevels.end(), gfx.substr(0, end));
  if (level == kLevels.end()) return {};
  InstructionSets sets(static_cast<int>(level - kLevels.begin()) + 1);
  while (end < gfx.size()) {
    const size_t begin = end;
    end = std::min(gfx.find('+', begin + 1), gfx.size());
    sets.add_suffix(gfx.substr(begin, end - begin));
  }
  return sets;
}

void InstructionSets::add_suffix(std::string_view name) noexcept {
  using enum InstructionSet;
  if (name == suffix(avx512_bf16)) {
    add(avx512_bf16);
    add(avx512_vnni);
  } else if (name == suffix(avx512_vnni)) {
    add(has(avx512) ? avx512_vnni : avx_vnni);
  } else if (name == suffix(amx_bf16)) {
    for (const InstructionSet set : {amx_bf16, amx_int8, avx512_fp16}) add(set);
  }
}

std::string InstructionSets::gfx() const {
  using enum InstructionSet;
  std::string name(kLevels.at(static_cast<size_t>(level_ - 1)));
  if (has(avx512_bf16))
    name += suffix(avx512_bf16);
  else if (has(avx512_vnni) || has(avx_vnni))
    name += suffix(avx512_vnni);
  if (has(amx_bf16)) name += suffix(amx_bf16);
  return name;
}

std::string_view InstructionSets::suffix(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::avx512_bf16:
      return "+bf16";
    case InstructionSet::avx_vnni:
    case InstructionSet::avx512_vnni:
      return "+vnni";
    case InstructionSet::amx_bf16:
      return "+amx";
    default:
      return {};
  }
}

}  // namespace attune
