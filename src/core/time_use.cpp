// SPDX-License-Identifier: MIT
#include "core/time_use.h"

#include <algorithm>

namespace attune {
namespace {

struct Words {
  std::string_view name, description;
};
constexpr std::array<Words, kNumActivities> kWords = {{{"wait", "waiting for the tuner"},
                                                       {"pause", "waiting to confirm"},
                                                       {"compile", "waiting for compilers"},
                                                       {"turn", "waiting for other workers"},
                                                       {"start", "starting workers"},
                                                       {"list", "listing candidates"},
                                                       {"fill", "writing operands"},
                                                       {"upload", "copying operands"},
                                                       {"reference", "computing references"},
                                                       {"spot_check", "checking references"},
                                                       {"load", "preparing candidates"},
                                                       {"verify", "verifying"},
                                                       {"recheck", "verifying again"},
                                                       {"first_run", "first runs"},
                                                       {"guard", "hashing shared operands"},
                                                       {"bandwidth", "measuring the bandwidth"},
                                                       {"sample", "sampling"},
                                                       {"release", "freeing memory"}}};

}  // namespace

std::string_view name(Activity activity) noexcept { return kWords[static_cast<size_t>(activity)].name; }
std::string_view description(Activity activity) noexcept { return kWords[static_cast<size_t>(activity)].description; }

double TimeUse::wall_s() const noexcept {
  double sum = 0;
  for (const Share& share : shares) sum += share.wall_s;
  return sum;
}

double TimeUse::busy_s() const noexcept {
  double sum = 0;
  for (const Share& share : shares) sum += share.busy_s;
  return sum;
}

double TimeUse::take_from_wait(Activity activity, double seconds) noexcept {
  double& waited_s = (*this)[Activity::wait].wall_s;
  const double taken_s = std::clamp(seconds, 0.0, std::max(waited_s, 0.0));
  waited_s -= taken_s;
  (*this)[activity].wall_s += taken_s;
  return taken_s;
}

TimeUse& TimeUse::operator+=(const TimeUse& other) noexcept {
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].wall_s += other.shares[i].wall_s;
    shares[i].busy_s += other.shares[i].busy_s;
  }
  return *this;
}

TimeUse& TimeUse::operator-=(const TimeUse& other) noexcept {
  for (size_t i = 0; i < shares.size(); ++i) {
    shares[i].wall_s -= other.shares[i].wall_s;
    shares[i].busy_s -= other.shares[i].busy_s;
  }
  return *this;
}

}  // namespace attune
