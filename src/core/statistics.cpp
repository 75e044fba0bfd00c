// SPDX-License-Identifier: MIT
#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace attune {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// With fewer differences the test cannot reach the levels in use, whatever their signs.
constexpr size_t kMinSignedRank = 6;

/// Regularised incomplete beta function I_x(a, b) for x below (a + 1) / (a + b + 2), by its continued fraction
/// (Lentz's method; Abramowitz and Stegun 26.5.8).
double beta_fraction(double a, double b, double x) {
  constexpr int kMaxTerms = 500;
  constexpr double kTiny = 1e-300, kPrecision = 1e-14;
  const auto kept_off_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / kept_off_zero(1 - (a + b) * x / (a + 1)), sum = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double last = 1;
    for (const double term : {even, odd}) {
      d = 1 / kept_off_zero(1 + term * d);
      c = kept_off_zero(1 + term / c);
      last = c * d;
      sum *= last;
    }
    if (std::abs(last - 1) < kPrecision) break;
  }
  // std::lgamma() writes a global, the sign, and several devices' threads decide at once.
  int sign = 1;
  const auto log_gamma = [&](double value) { return ::lgamma_r(value, &sign); };
  const double log_front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(log_front) * sum / a;
}

/// Probability that Student's t exceeds `t` > 0.
double student_t_tail(double t, double degrees) {
  const double a = degrees / 2, b = 0.5, x = degrees / (degrees + t * t);
  const double both = x < (a + 1) / (a + b + 2) ? beta_fraction(a, b, x) : 1 - beta_fraction(b, a, 1 - x);
  return both / 2;
}

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

double hodges_lehmann(std::span<const double> values) {
  std::vector<double> means;
  means.reserve(values.size() * (values.size() + 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i; j < values.size(); ++j) means.push_back(std::midpoint(values[i], values[j]));
  }
  return median(std::move(means));
}

double student_t_upper(double p, double degrees) {
  constexpr double kNearlyNormal = 1e6;  // beyond it the two differ in the seventh digit
  const auto tail = [&](double t) { return degrees > kNearlyNormal ? 1 - normal_cdf(t) : student_t_tail(t, degrees); };
  double low = 0, high = 1;
  while (tail(high) > p && high < 1e12) high *= 2;
  for (int i = 0; i < 100 && high - low > 1e-12 * high; ++i) {
    const double middle = std::midpoint(low, high);
    (tail(middle) > p ? low : high) = middle;
  }
  return high;
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
