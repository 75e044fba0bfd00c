// SPDX-License-Identifier: MIT
// A linear layer, y = x * transpose(w) + bias, by the kernel that the tuned tables name.
#include <attune/dispatcher.h>
#include <attune/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <new>
#include <vector>

namespace {

/// Operands are aligned to 16 bytes; what std::vector allocates is on this platform.
using Floats = std::vector<float>;

Floats numbers(size_t count, unsigned seed) {
  Floats made(count);
  for (float& number : made) {
    seed = seed * 1664525U + 1013904223U;
    number = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0F;
  }
  return made;
}

/// The largest difference to a plain loop.
double worst(const attune::GemmKey& key, const Floats& x, const Floats& w, const Floats& bias, const Floats& y) {
  double most = 0;
  for (int64_t i = 0; i < key.m; ++i) {
    for (int64_t j = 0; j < key.n; ++j) {
      double sum = bias[static_cast<size_t>(j)];
      for (int64_t l = 0; l < key.k; ++l)
        sum += double{x[static_cast<size_t>(i * key.k + l)]} * w[static_cast<size_t>(j * key.k + l)];
      most = std::max(most, std::abs(sum - y[static_cast<size_t>(i * key.n + j)]));
    }
  }
  return most;
}

int run() {
  const attune::GemmKey key{.op = attune::OpId::gemm_a16w16,
                            .m = 4,
                            .n = 96,
                            .k = 64,
                            .in = attune::DType::fp32,
                            .out = attune::DType::fp32,
                            .flags = attune::GemmKey::bias};
  Floats x = numbers(static_cast<size_t>(key.m * key.k), 1), w = numbers(static_cast<size_t>(key.n * key.k), 2),
         bias = numbers(static_cast<size_t>(key.n), 3), y(static_cast<size_t>(key.m * key.n));
  attune::Dispatcher& dispatcher = attune::Dispatcher::global();
  const std::array<void*, 4> operands = {x.data(), w.data(), bias.data(), y.data()};
  for (int call = 0; call < 3; ++call) dispatcher.run(key, operands);

  const attune::Hit hit = dispatcher.choose(key);
  const double difference = worst(key, x, w, bias, y);
  std::printf("match: %s\n%s", attune::name(hit.match).data(), dispatcher.explain(key).c_str());
  std::printf("largest difference to a plain loop: %.3g\n", difference);
  return difference < 1e-4 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const attune::Error& error) {
    std::fprintf(stderr, "linear: %s\n", error.what());
    return 1;
  }
}
