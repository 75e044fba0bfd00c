// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace attune {

/// Constants of the procedure; docs/measurement.md derives the defaults. One struct per phase.
struct RaceOptions {
  uint32_t batch = 16;  ///< Maximum number of candidates that join in one round.
  uint32_t crowd = 64;  ///< With more than this alive, candidates are dropped from round `first_crowded` on.
  uint32_t first = 5, first_crowded = 3;
  double z = 4.0;             ///< Bound, in standard errors of a median (1.25 σ/√n).
  double prior_sigma = 0.04;  ///< Found by experiment on a host (docs/measurement.md); 0.01 on a GPU.
  double prior_weight = 5;
  uint32_t min_rounds = 6, max_rounds = 24;
  uint32_t max_finalists = 8;
};
struct FinalsOptions {
  std::vector<uint32_t> looks = {8, 16, 32, 64};  ///< Clean pairs per comparison; at most 2·look rounds are run.
  double level = 0.0160;                          ///< Pocock, two-sided; the one-sided tests use half of it.
  double margin = 0.010;                          ///< ln-ratio by which a finalist must be slower to be dropped.
  double max_clock_shift = 0.05, min_clean_share = 0.60;
};
struct ConfirmOptions {
  std::vector<uint32_t> looks = {16, 32, 64, 128, 256};
  double z = 2.485;
  double noisy_gain = 0.02;    ///< Gain that a noisy Decision must prove instead of min_gain.
  uint32_t narrow_after = 64;  ///< After this look only the winner, the baseline and two others are measured.
  double delay_s = 5.0;        ///< Seconds between the start of the finals and the start of the confirmation.
  uint32_t publish_clean = 21;
};
struct ContestOptions {
  RaceOptions race;
  FinalsOptions finals;
  ConfirmOptions confirm;
  double min_gain = 0.005;
  uint64_t seed = 0;
  uint32_t max_pairs = 0;  ///< Value of `--iters`: looks beyond it are not taken. 0: no cap.
};

}  // namespace attune
