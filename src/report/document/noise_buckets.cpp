// SPDX-License-Identifier: MIT
#include "report/document/noise_buckets.h"

#include <algorithm>

namespace attune {
namespace {

void merge(ReportNoise& into, const ReportNoise& other) {
  into.num_samples += other.num_samples;
  into.num_dirty += other.num_dirty;
  into.num_measurements += other.num_measurements;
  into.num_noisy += other.num_noisy;
}

}  // namespace

void NoiseBuckets::add(int64_t at_ms, const Measurement& measured) {
  if (at_ms <= 0) return;
  if (pieces_.empty()) begin_ms_ = at_ms;
  const int64_t since_ms = std::max<int64_t>(0, at_ms - begin_ms_);
  while (since_ms / width_ms_ >= static_cast<int64_t>(kMaxPieces)) widen();
  const auto place = static_cast<size_t>(since_ms / width_ms_);
  if (place >= pieces_.size()) pieces_.resize(place + 1);
  ReportNoise& piece = pieces_[place];
  piece.num_samples += measured.samples.size();
  piece.num_dirty += static_cast<uint64_t>(
      std::count_if(measured.samples.begin(), measured.samples.end(), [](const Sample& one) { return one.dirty; }));
  ++piece.num_measurements;
  piece.num_noisy += measured.noisy ? 1 : 0;
}

void NoiseBuckets::widen() {
  width_ms_ *= 2;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (i % 2 == 1)
      merge(pieces_[i / 2], pieces_[i]);
    else
      pieces_[i / 2] = pieces_[i];
  }
  pieces_.resize((pieces_.size() + 1) / 2);
}

std::vector<ReportNoise> NoiseBuckets::pieces() const {
  std::vector<ReportNoise> all;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].num_measurements == 0) continue;
    all.push_back(pieces_[i]);
    all.back().begin_ms = begin_ms_ + static_cast<int64_t>(i) * width_ms_;
    all.back().width_ms = width_ms_;
  }
  return all;
}

}  // namespace attune
