// SPDX-License-Identifier: MIT
#include "search/sample_table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/statistics.h"

namespace attune {
namespace {

/// Calls visit(sample of a, sample of b) for each common round.
template <typename Visit>
void for_each_pair(std::span<const Sample> a, std::span<const Sample> b, const Visit& visit) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].round == b[j].round) {
      visit(a[i++], b[j++]);
    } else if (a[i].round < b[j].round) {
      ++i;
    } else {
      ++j;
    }
  }
}

bool before_round(const Sample& sample, uint32_t round) { return sample.round < round; }

}  // namespace

std::vector<double> usable_times(std::span<const Sample> samples) {
  std::vector<double> clean;
  std::vector<double> all;
  for (const auto& sample : samples) {
    all.push_back(sample.us);
    if (!sample.dirty) clean.push_back(sample.us);
  }
  return clean.size() >= SampleTable::kMinClean ? clean : all;
}

void SampleTable::add(Slot slot, uint32_t round, Sample sample) {
  auto& track = tracks_[slot];
  if (!std::isfinite(sample.us) || sample.us <= 0) {
    ++track.num_dropped;
    return;
  }
  ATTUNE_CHECK(track.samples.empty() || track.samples.back().round < round, "rounds of a slot ascend, got {}", round);
  sample.round = round;
  track.samples.push_back(sample);
}

void SampleTable::discard(Rounds rounds) {
  for (auto& [slot, track] : tracks_) {
    const auto removed = std::erase_if(track.samples, [&](const Sample& sample) {
      return sample.round >= rounds.first && sample.round <= rounds.last;
    });
    track.num_dropped += static_cast<uint32_t>(removed);
  }
}

std::span<const Sample> SampleTable::samples(Slot slot, Rounds rounds) const {
  const auto track = tracks_.find(slot);
  if (track == tracks_.end()) return {};
  const auto& all = track->second.samples;
  const auto first = std::lower_bound(all.begin(), all.end(), rounds.first, before_round);
  const auto end = std::find_if(first, all.end(), [&](const Sample& sample) { return sample.round > rounds.last; });
  return {first, end};
}

uint32_t SampleTable::num_dropped(Slot slot) const {
  const auto track = tracks_.find(slot);
  return track == tracks_.end() ? 0 : track->second.num_dropped;
}

uint32_t SampleTable::num_clean(Slot slot, Rounds rounds) const {
  const auto found = samples(slot, rounds);
  return static_cast<uint32_t>(
      std::count_if(found.begin(), found.end(), [](const Sample& sample) { return !sample.dirty; }));
}

double SampleTable::median_us(Slot slot, Rounds rounds) const {
  auto times = usable_times(samples(slot, rounds));
  return times.empty() ? std::numeric_limits<double>::infinity() : median(std::move(times));
}

std::vector<double> SampleTable::log_ratios(Slot a, Slot b, Rounds rounds) const {
  std::vector<double> clean;
  std::vector<double> all;
  for_each_pair(samples(a, rounds), samples(b, rounds), [&](const Sample& x, const Sample& y) {
    const double ratio = std::log(static_cast<double>(x.us) / static_cast<double>(y.us));
    all.push_back(ratio);
    if (!x.dirty && !y.dirty) clean.push_back(ratio);
  });
  return clean.size() >= kMinClean ? clean : all;
}

uint32_t SampleTable::num_clean_pairs(Slot a, Slot b, Rounds rounds) const {
  uint32_t count = 0;
  for_each_pair(samples(a, rounds), samples(b, rounds),
                [&](const Sample& x, const Sample& y) { count += !x.dirty && !y.dirty; });
  return count;
}

std::vector<std::vector<double>> SampleTable::log_ratios(Slot a, Slot b, std::span<const Rounds> openings) const {
  std::vector<std::vector<double>> groups;
  for (const Rounds& opening : openings) groups.push_back(log_ratios(a, b, opening));
  return groups;
}

uint32_t SampleTable::num_clean_pairs(Slot a, Slot b, std::span<const Rounds> openings) const {
  uint32_t count = 0;
  for (const Rounds& opening : openings) count += num_clean_pairs(a, b, opening);
  return count;
}

uint32_t SampleTable::num_clean(Slot slot, std::span<const Rounds> openings) const {
  uint32_t count = 0;
  for (const Rounds& opening : openings) count += num_clean(slot, opening);
  return count;
}

double SampleTable::median_us(Slot slot, std::span<const Rounds> openings) const {
  std::vector<double> medians;
  for (const Rounds& opening : openings) {
    if (const double us = median_us(slot, opening); std::isfinite(us)) medians.push_back(us);
  }
  return medians.empty() ? std::numeric_limits<double>::infinity() : geometric_mean(medians);
}

double SampleTable::clean_share(Rounds rounds) const {
  size_t num_samples = 0;
  size_t clean = 0;
  for (const auto& [slot, track] : tracks_) {
    num_samples += samples(slot, rounds).size();
    clean += num_clean(slot, rounds);
  }
  return num_samples == 0 ? 1.0 : static_cast<double>(clean) / static_cast<double>(num_samples);
}

double SampleTable::median_clock(Rounds rounds) const {
  std::vector<double> clocks;
  for (const auto& [slot, track] : tracks_) {
    for (const auto& sample : samples(slot, rounds)) {
      if (sample.clock > 0) clocks.push_back(sample.clock);
    }
  }
  return clocks.empty() ? 0 : median(std::move(clocks));
}

}  // namespace attune
