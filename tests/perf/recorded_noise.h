// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "base/random.h"
#include "busy_neighbour.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune::experiments {

/// One timed turn of a real kernel, less the kernel: ln(time / median of that kernel's clean times).
struct NoiseSample {
  float log_ratio = 0, clock = 1;
  bool dirty = false;
};
/// Samples in the order they were taken, by condition.
using RecordedNoise = std::map<Condition, std::vector<NoiseSample>>;

/// Sections `[condition]` of `ratio clock dirty` lines, one a sample; lines that begin with `#` are comments. Throws
/// invalid_input with file and line.
RecordedNoise read_noise(const std::filesystem::path& file);

/// Candidates with planted times and the recorded noise: every sample takes the recording's next one, so what lasts
/// for many samples (drift, bursts, a low clock) lasts here too. What only one kernel has does not survive: each
/// candidate gets the mixture.
class RecordedWorld {
 public:
  RecordedWorld(std::map<Slot, double> times_us, const std::vector<NoiseSample>& noise, uint64_t seed);
  Sample sample(Slot slot);
  void skip();  ///< Some seconds later: at another place of the recording.
  uint64_t num_samples() const noexcept { return num_samples_; }

 private:
  std::map<Slot, double> times_us_;
  const std::vector<NoiseSample>& noise_;
  Random random_;
  size_t at_;
  uint64_t num_samples_ = 0;
};

}  // namespace attune::experiments
