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

/// One timed turn of a real kernel without the kernel's time: ln(time / median of that kernel's clean times).
struct NoiseSample {
  float log_ratio = 0, clock = 1;
  bool dirty = false;
};
/// Samples by condition, in the order of recording.
using RecordedNoise = std::map<Condition, std::vector<NoiseSample>>;

/// Reads sections `[condition]` of `ratio clock dirty` lines, one per sample; lines that begin with `#` are comments.
/// Throws invalid_input with file and line.
RecordedNoise read_noise(const std::filesystem::path& file);

/// Simulates candidates with planted times and the recorded noise. Each sample uses the recording's next one, so
/// effects that last for many samples (drift, bursts, a low clock) are kept. Noise specific to one kernel is lost: each
/// candidate gets the mixture.
class RecordedWorld {
 public:
  RecordedWorld(std::map<Slot, double> times_us, const std::vector<NoiseSample>& noise, uint64_t seed);
  Sample sample(Slot slot);
  void skip();  ///< Simulates a pause: jumps to another place of the recording.
  uint64_t num_samples() const noexcept { return num_samples_; }

 private:
  std::map<Slot, double> times_us_;
  const std::vector<NoiseSample>& noise_;
  Random random_;
  size_t at_;
  uint64_t num_samples_ = 0;
};

}  // namespace attune::experiments
