// SPDX-License-Identifier: MIT
#include "solver/one_thread_config.h"

#include "ops/op.h"

namespace attune {

Config with_threads(const Config& config, int64_t threads) {
  auto values = config.values();
  for (auto& [name, value] : values) {
    if (name == "threads") value = threads;
  }
  return Config(std::move(values));
}

std::optional<Config> one_thread_config(const Solver& solver, const Problem& problem, const Config& default_config) {
  if (!default_config.has("threads") || default_config.integer("threads") <= 1) return std::nullopt;
  if (op_of(problem).work(problem).flops > solver.one_thread_flops()) return std::nullopt;
  return with_threads(default_config, 1);
}

}  // namespace attune
