// SPDX-License-Identifier: MIT
#include "preparing_neighbour.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/device_kind.h"
#include "measure/blocking_calls.h"
#include "ops/op.h"
#include "worker/worker_executor.h"

namespace attune::experiments {
namespace {

constexpr Milliseconds kLimit{20'000};
constexpr std::array<std::string_view, 2> kPrepared = {"gemm_a16w16 m=16 n=1536 k=7168 dtype=bf16",
                                                       "gemm_a16w16 m=512 n=4096 k=4096 dtype=bf16"};
/// For devices that compute with the host: the fake one.
constexpr std::array<std::string_view, 2> kPreparedAtHostSpeed = {"gemm_a16w16 m=16 n=64 k=64 dtype=fp32",
                                                                  "gemm_a16w16 m=32 n=16 k=64 dtype=fp32"};

/// Candidates of all solvers that list theirs, evenly spread.
std::vector<Candidate> candidates_of(const OpenAnswer& opened) {
  constexpr uint64_t kOfEach = 64;
  std::vector<Candidate> candidates;
  for (const Contender& one : opened.contenders) {
    const uint64_t step = std::max<uint64_t>(1, one.space.size() / kOfEach);
    for (uint64_t index = 0; index < one.space.size(); index += step)
      candidates.push_back({one.solver, one.version, one.space.at(one.space.canonical(index))});
  }
  return candidates;
}

/// Counts a latch down once, at the end of the scope at the latest.
class SingleCount {
 public:
  explicit SingleCount(std::latch& latch) : latch_(&latch) {}
  ~SingleCount() { count_down(); }
  SingleCount(const SingleCount&) = delete;
  SingleCount& operator=(const SingleCount&) = delete;
  void count_down() {
    if (std::latch* const latch = std::exchange(latch_, nullptr)) latch->count_down();
  }

 private:
  std::latch* latch_;
};

}  // namespace

PreparingNeighbour::PreparingNeighbour(const std::filesystem::path& program, const std::string& device,
                                       std::shared_ptr<SharedDevice> shared)
    : thread_([=, this] { prepare_until_the_end(program, device, shared); }) {
  is_up_.wait();
}

PreparingNeighbour::~PreparingNeighbour() {
  ends_ = true;
  thread_.join();
  fmt::print(stderr, "  a second worker prepared {} candidates meanwhile\n", num_admitted_.load());
}

void PreparingNeighbour::prepare_until_the_end(const std::filesystem::path& program, const std::string& device,
                                               std::shared_ptr<SharedDevice> shared) {
  const Tick ends = [this] { return ends_.load(); };
  SingleCount up(is_up_);
  try {
    WorkerOptions options = worker_options(device, nullptr);
    options.command = {program.string(), "worker"};
    options.shared = std::move(shared);
    options.stopped = ends;
    WorkerExecutor executor(std::move(options));
    up.count_down();
    const bool is_host_speed = device_kind(executor.device().kind).idle_worker_bytes == 0;
    const auto& problems = is_host_speed ? kPreparedAtHostSpeed : kPrepared;
    Slot slot = 0;
    for (ProblemId id = 1; !ends_; ++id) {
      const auto problem = Problem::parse(problems[id % problems.size()]);
      const auto opened = open(executor, {id, op_of(problem).normalise(problem, executor.device()), {}}, ends);
      if (!opened.refused.empty()) fail(ErrorCode::unavailable, "{}", opened.refused);
      for (const Candidate& candidate : candidates_of(opened)) {
        if (ends_) break;
        const auto admitted = admit(
            executor, {id, ++slot, {.candidate = candidate, .binaries = {}, .limits = {kLimit, kLimit}, .output = {}}},
            ends);
        num_admitted_ += admitted.verified.ok();
        executor.drop(slot);
      }
      executor.close(id);
    }
  } catch (const Error& error) {
    if (!ends_) fmt::print(stderr, "  the second worker ended: {}\n", error.what());
  }
}

void SharingExecutor::begin(Request request) {
  const bool samples = std::holds_alternative<request::Sample>(request);
  while (!user_.acquire(samples ? SharedDevice::Use::sample : SharedDevice::Use::prepare)) {
    pollfd entry{user_.descriptor(), POLLIN, 0};
    ::poll(&entry, 1, -1);
  }
  ForwardingExecutor::begin(std::move(request));
}

std::optional<Answer> SharingExecutor::take() {
  auto answer = ForwardingExecutor::take();
  if (answer) user_.release();
  return answer;
}

}  // namespace attune::experiments
