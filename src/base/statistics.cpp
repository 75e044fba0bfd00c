// SPDX-License-Identifier: MIT
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attune {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// With fewer differences the test cannot reach the levels in use, whatever their signs.
constexpr size_t kMinSignedRank = 6;

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

double scaled_mad(std::span<const double> values) {
  const double center = median({values.begin(), values.end()});
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - center));
  return 1.4826 * median(std::move(distances));
}

double normal_cdf(double z) noexcept { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

SignedRank signed_rank(std::span<const double> values) {
  std::vector<double> x;
  std::copy_if(values.begin(), values.end(), std::back_inserter(x), [](double value) { return value != 0; });
  SignedRank result;
  result.n = x.size();
  if (x.empty()) return result;
  std::sort(x.begin(), x.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const auto n = static_cast<double>(x.size());
  double positive_ranks = 0;
  double variance = n * (n + 1) * (2 * n + 1) / 24;
  for (size_t begin = 0; begin < x.size();) {
    size_t end = begin + 1;
    while (end < x.size() && std::abs(x[end]) == std::abs(x[begin])) ++end;
    const auto num_tied = static_cast<double>(end - begin);
    const double mean_rank = static_cast<double>(begin + 1 + end) / 2;
    positive_ranks += mean_rank * static_cast<double>(std::count_if(x.begin() + static_cast<std::ptrdiff_t>(begin),
                                                                    x.begin() + static_cast<std::ptrdiff_t>(end),
                                                                    [](double value) { return value > 0; }));
    variance -= (num_tied * num_tied * num_tied - num_tied) / 48;
    begin = end;
  }
  const double above = positive_ranks - n * (n + 1) / 4;
  const double deviation = std::sqrt(variance);
  result.z = above / deviation;
  if (result.n >= kMinSignedRank) result.p_positive = 1 - normal_cdf((above - 0.5) / deviation);
  return result;
}

Interval median_interval(std::vector<double> values, double level) {
  if (values.empty()) return {kNaN, kNaN};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  // [x(k), x(n+1-k)] misses the median with probability 2 P(Bin(n, 1/2) < k); the largest k that still covers `level`
  // is used. The terms are computed from their logarithms, since 2^-n underflows a double beyond n = 1074.
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double below = std::exp(log_term);
  size_t k = 1;
  while (k < n / 2) {
    log_term += std::log(static_cast<double>(n - k + 1) / static_cast<double>(k));
    const double next = below + std::exp(log_term);
    if (2 * next > 1 - level) break;
    below = next;
    ++k;
  }
  return {values[k - 1], values[n - k]};
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return kNaN;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace attune
