// SPDX-License-Identifier: MIT
#pragma once
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "pipeline/change_verdict.h"

/// Pairs of samples with the noise of real kernels (tests/perf/data/host_noise.txt).
namespace attune {

struct RecordedSample {
  double log_ratio = 0;  ///< ln(time / the kernel's median).
  bool is_dirty = false;
};

/// Reads the samples of one condition, such as `quiet`; empty if the file has none.
inline std::vector<RecordedSample> recorded_samples(const std::filesystem::path& file, const std::string& condition) {
  std::vector<RecordedSample> samples;
  std::ifstream text(file);
  bool is_wanted = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('[')) is_wanted = line == "[" + condition + "]";
    int64_t ratio = 0, clock = 0, dirty = 0;
    if (is_wanted && std::istringstream(line) >> ratio >> clock >> dirty)
      samples.push_back({1e-4 * static_cast<double>(ratio), dirty != 0});
  }
  return samples;
}

/// The clean pairs of an opening in which the second kernel takes exp(−`speedup`) of the first one's time: a block of
/// the recording from a random place on, in which neighbours are the two kernels in random order. Ends after `pairs`
/// clean pairs, or twice as many.
inline std::vector<double> recorded_pairs(const std::vector<RecordedSample>& samples, double speedup, uint32_t pairs,
                                          Random& random) {
  std::vector<double> ratios;
  size_t at = random.below(samples.size());
  const auto next = [&]() -> const RecordedSample& { return samples[at++ % samples.size()]; };
  for (uint32_t round = 0; round < 2 * pairs && ratios.size() < pairs; ++round) {
    const RecordedSample &one = next(), &other = next();
    if (one.is_dirty || other.is_dirty) continue;
    const double noise = one.log_ratio - other.log_ratio;
    ratios.push_back(speedup + (random.below(2) == 0 ? noise : -noise));
  }
  return ratios;
}

/// Measures a shape as next_step() asks for it.
inline ChangeSamples recorded_change(const std::vector<RecordedSample>& samples, double speedup,
                                     const ChangeOptions& options, Random& random) {
  ChangeSamples change;
  for (auto step = next_step(change, options); step != ChangeStep::done; step = next_step(change, options)) {
    if (change.attempts.empty() || step == ChangeStep::second_attempt) change.attempts.emplace_back();
    change.attempts.back().push_back(recorded_pairs(samples, speedup, options.pairs, random));
  }
  return change;
}

}  // namespace attune
