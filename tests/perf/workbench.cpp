// SPDX-License-Identifier: MIT
#include "workbench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/locations.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "formats/csv/shape_list.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "report/result_table.h"

namespace attune::experiments {
namespace {

class Narrator final : public TuneObserver {
 public:
  explicit Narrator(size_t num_problems) : num_problems_(num_problems) {}
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult& result) override {
    const std::string text = result.decision ? fmt::format("{} {:.3f}×", short_candidate(result.decision->winner),
                                                           result.decision->comparison.ratio)
                                             : result.reason;
    fmt::print(stderr, "  {}/{} {}: {}, {:.1f} s\n", ++num_done_, num_problems_, short_shape(result.problem), text,
               result.seconds);
  }

 private:
  size_t num_problems_, num_done_ = 0;
};

}  // namespace

Workbench::Workbench(const Settings& settings, const Registry& solvers)
    : device(open_device(settings.device)),
      executor(std::make_unique<LocalExecutor>(*device, solvers)),
      kernels(std::make_unique<Kernels>(solvers, device->info(), cache_location().path)) {
  if (settings.beside.empty()) return;
  const auto shared = std::make_shared<SharedDevice>();
  executor = std::make_unique<SharingExecutor>(std::move(executor), shared);
  neighbour = std::make_unique<PreparingNeighbour>(settings.beside, settings.device, shared);
}

OpenAnswer open_problem(Executor& executor, ProblemId id, const Problem& problem, const Protocol& protocol) {
  auto opened = open(executor, {id, problem, protocol});
  if (!opened.refused.empty()) fail(ErrorCode::unavailable, "{}", opened.refused);
  return opened;
}

TunerOptions race_options(const Settings& settings) {
  TunerOptions options;
  if (const DeviceKind* const kind = find_device_kind(settings.device)) {
    static_cast<ContestConstants&>(options.contest) = kind->contest;
    options.protocol.timing = kind->timing;
    options.compiles_beside_measuring = kind->compiles_beside_measuring;
  }
  options.contest.seed = options.strategy.seed = options.protocol.seed = settings.seed;
  if (settings.max_trials.front() > 0) options.strategy.max_trials = settings.max_trials.front();
  options.libraries = settings.libraries;
  options.contest.min_gain = options.protocol.min_gain;
  options.retune = true;
  return options;
}

TunerOptions exhaustive_options(const Settings& settings, uint32_t iters) {
  TunerOptions options = race_options(settings);
  options.exhaustive = true;
  options.iters = iters;
  options.protocol.procedure = fmt::format("exhaustive/1 {}+{}", options.warmup, iters);
  options.strategy.name = "exhaustive";
  options.strategy.max_trials = 1'000'000;
  return options;
}

std::vector<WorkItem> items_of(std::span<const std::string_view> problems, const Settings& settings,
                               const DeviceInfo& device) {
  std::vector<WorkItem> items;
  for (size_t i = settings.part; i < problems.size(); i += settings.num_parts) {
    auto problem = Problem::parse(problems[i]);
    if (settings.packed) problem = problem.with("bpreshuffle", "1");
    items.emplace_back().problem = op_of(problem).normalise(problem, device);
  }
  return items;
}

std::vector<WorkItem> shipped_items(const Settings& settings, const DeviceInfo& device, size_t max_count) {
  const ShapeList list = read_shapes(settings.shapes);
  const size_t step = max_count == 0 ? 1 : std::max<size_t>(1, list.shapes.size() / max_count);
  std::vector<std::string> texts;
  for (size_t i = 0; i < list.shapes.size() && (max_count == 0 || texts.size() < max_count); i += step)
    texts.push_back(list.shapes[i].problem.key());
  return items_of(std::vector<std::string_view>(texts.begin(), texts.end()), settings, device);
}

std::vector<TuneResult> tune(Workbench& bench, const std::vector<WorkItem>& items, const TunerOptions& options,
                             Journal& journal) {
  Narrator narrator(items.size());
  const std::atomic<bool> interrupted = false;
  auto results =
      Tuner(*bench.executor, journal, options, steady_clock(), bench.kernels.get()).run(items, narrator, interrupted);
  for (const TuneResult& result : results) {
    if (!result.decision) {
      fail(ErrorCode::unavailable, "an experiment wants every shape decided: {}: {}", result.problem.key(),
           result.reason);
    }
  }
  return results;
}

LoadMeter::LoadMeter(double quiet_wait_s) {
  const pid_t own = getpid();
  const Quiet quiet = wait_until_quiet(QuietOptions{.wait_s = quiet_wait_s}, {&own, 1});
  if (!quiet.quiet && quiet_wait_s > 0)
    fmt::print(stderr, "  others use {:.0f} % of the processors\n", 100 * quiet.share);
  before_ = read_cpu_times({&own, 1});
}

double LoadMeter::others_share() const {
  const pid_t own = getpid();
  return attune::others_share(before_, read_cpu_times({&own, 1}));
}

Frequency frequency(size_t count, size_t of) {
  if (of == 0) return {};
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(count) / n, spread = kZ * kZ / n;
  const double centre = (share + spread / 2) / (1 + spread);
  const double half = kZ * std::sqrt(share * (1 - share) / n + spread / n / 4) / (1 + spread);
  return {share, std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace attune::experiments
