// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

namespace attune {

/// Constants of the procedure; docs/search.md and docs/measurement.md list the defaults. One struct per phase.
struct RaceOptions {
  uint32_t batch = 16;  ///< Maximum number of candidates that join in one round.
  uint32_t crowd = 64;  ///< With more than this alive, candidates are dropped from round `first_crowded` on.
  uint32_t first = 5, first_crowded = 3;
  double z = 4.0;             ///< Bound, in standard errors of a median (1.25 σ/√n).
  double prior_sigma = 0.04;  ///< Found by experiment on a host (docs/search.md); 0.01 on a GPU.
  double prior_weight = 5;
  uint32_t min_rounds = 6, max_rounds = 24;
  uint32_t max_finalists = 8;
  double sample_share = 1;  ///< Launches of a sample, as a share of those from the finals on.
};
struct FinalsOptions {
  std::vector<uint32_t> looks = {8, 16, 32, 64};  ///< Clean pairs per comparison; at most 2·look rounds are run.
  double level = 0.0160;                          ///< Pocock, two-sided; the one-sided tests use half of it.
  double margin = 0.010;                          ///< ln-ratio by which a finalist must be slower to be dropped.
  double max_clock_shift = 0.05, min_clean_share = 0.60;
};
struct ConfirmOptions {
  uint32_t pairs = 24;                          ///< Clean pairs in an opening; at most twice as many rounds are run.
  uint32_t min_openings = 3, max_openings = 8;  ///< A look is taken after each from `min_openings` on.
  double z = 2.485;                             ///< Its one-sided level is that of each look.
  double noisy_gain = 0.02;                     ///< Gain that a noisy Decision must prove instead of min_gain.
  uint32_t mix = 4;                             ///< Least number of finalists in the rotation, if there are as many.
  double delay_s = 5.0;        ///< Seconds between the start of the finals and the start of the confirmation.
  uint32_t publish_pairs = 7;  ///< Clean samples in each of `min_openings` if the baseline won.
};
/// Options that depend on the variation of a device's times.
struct ContestConstants {
  RaceOptions race;
  FinalsOptions finals;
  ConfirmOptions confirm;
};
struct ContestOptions : ContestConstants {
  double min_gain = 0.005;
  uint64_t seed = 0;
  uint32_t max_pairs = 0;  ///< Value of `--iters`: looks beyond it are not taken. 0: no cap.
};

}  // namespace attune
