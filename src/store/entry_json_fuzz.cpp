// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/entry_json.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace attune {
namespace {

/// One entry of each type with every member set, because no mutation would find the members from nothing.
std::string whole_entry(unsigned which) {
  const Problem problem = Problem::parse("gemm_a16w16 m=8 n=64 k=64 dtype=bf16 outdtype=bf16 bias=0");
  const Candidate candidate{"fake.gemm", "1", Config::parse("split_k=1;tile_m=64")};
  const Versions versions = {{"fake.gemm", "1"}, {"kernel.linux", "6.1"}};
  switch (which % 4) {
    case 0:
      return entry_to_json(Started{problem, "fake/4", candidate, versions});
    case 1: {
      Record record{problem, "fake/4", candidate, versions, {}, Stage::screen, true, {}};
      record.outcome.detail = "a detail";
      record.outcome.measurement.emplace().samples = {{1.5f, 0.9f, 3, true}, {2.5f, 1.0f, 4, false}};
      return entry_to_json(record);
    }
    case 2: {
      Decision decision{.problem = problem, .device = "fake/4", .winner = candidate, .baseline = candidate};
      decision.versions = versions;
      decision.finalists = {{candidate, 2.5, 1.25, 1.125, 1.5, 21}};
      decision.tied = {candidate};
      return entry_to_json(decision);
    }
    default:
      return entry_to_json(Pardon{"fake/4", candidate});
  }
}

}  // namespace
}  // namespace attune

/// Replaces inputs too short to be an entry by an entry.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 16) {
    const std::string entry = attune::whole_entry(seed);
    size = std::min(entry.size(), max_size);
    std::copy_n(entry.begin(), size, data);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

/// Any bytes are either an entry that is re-encoded unchanged, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  try {
    const Entry entry = entry_from_json({reinterpret_cast<const char*>(data), size});
    const std::string text = entry_to_json(entry);
    ATTUNE_CHECK(entry_to_json(entry_from_json(text)) == text, "an entry changed on its way");
  } catch (const Error&) {
    // Most inputs end here.
  }
  return 0;
}
