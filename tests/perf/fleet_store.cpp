// SPDX-License-Identifier: MIT
// How fast a fleet's store loads jobs and gives them out: attune_fleet_store [--jobs N] [--claims N] [--processes N]
// STORE, an empty one (`sqlite:FILE`, `mariadb://…`). Prints one line a measurement. Exit status 1 if a job was given
// out twice, or loading again added some.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "store/fleet/fleet_store.h"

namespace attune {
namespace {

struct Bench {
  std::string store;
  int64_t num_jobs = 1'000'000, num_claims = 20'000, num_processes = 16;
};

bool is_right = true;

double timed(const char* what, size_t count, double began_s) {
  const double seconds = steady_clock().now_s() - began_s;
  std::printf("%-34s %9zu in %7.2f s  %9.0f a second\n", what, count, seconds, static_cast<double>(count) / seconds);
  std::fflush(stdout);
  return steady_clock().now_s();
}

/// 5 jobs a configuration: two solvers with two steps each, and a contest.
int64_t load(const Bench& bench) {
  constexpr int64_t kJobsEach = 5;
  const auto store = open_fleet_store(bench.store);
  std::vector<FleetConfiguration> all;
  for (int64_t i = 1; i <= bench.num_jobs / kJobsEach; ++i) {
    const std::string key = fmt::format("conv n={} c=3", i);
    all.push_back(
        {.id = hash128(key).hex(), .op = "conv", .key = key, .source = "benchmark", .added_at = "", .tags = {"t"}});
  }
  double began_s = steady_clock().now_s();
  const size_t num_configurations = store->add_configurations(all);
  timed("configurations added", num_configurations, began_s);
  store->set_solvers({{"a.conv", "1", "conv", true, "A"}, {"b.conv", "2", "conv", false, "B"}});
  const int64_t session =
      store->begin_session({.fingerprint = "f", .device_json = "{}", .versions = {}, .variables = {}}, "bench");
  const JobLoad jobs{.session = session,
                     .tag = "t",
                     .steps = {FleetStep::perf_compile, FleetStep::perf_eval},
                     .only_applicable = false,
                     .reason = "bench",
                     .solvers = {}};
  began_s = steady_clock().now_s();
  const size_t num_jobs = store->load_jobs(jobs);
  began_s = timed("jobs loaded", num_jobs, began_s);
  const size_t num_again = store->load_jobs(jobs);
  timed("jobs loaded again", num_again, began_s);
  is_right = is_right && num_again == 0;
  return session;
}

/// Claims until `count` jobs are taken; writes their ids.
void claim_jobs(const Bench& bench, int64_t session, size_t batch, size_t count, int output) {
  const auto store = open_fleet_store(bench.store);
  JobQueue& queue = store->queue();
  const ClaimFilter filter{
      .session = session, .steps = {FleetStep::perf_compile}, .agent = fmt::format("bench:{}", ::getpid())};
  for (size_t taken = 0; taken < count;) {
    const auto jobs = queue.claim(filter, std::min(batch, count - taken));
    if (jobs.empty()) return;
    taken += jobs.size();
    std::vector<int64_t> ids;
    for (const ClaimedJob& job : jobs) ids.push_back(job.id);
    if (::write(output, ids.data(), ids.size() * sizeof(int64_t)) < 0) ::_exit(1);
  }
}

void measure_claims(const Bench& bench, int64_t session, size_t batch, size_t count, std::set<int64_t>& seen) {
  int pipe[2];
  if (::pipe(pipe) != 0) fail(ErrorCode::io, "no pipe");
  const double began_s = steady_clock().now_s();
  for (int64_t i = 0; i < bench.num_processes; ++i) {
    if (::fork() != 0) continue;
    try {
      ::close(pipe[0]);
      claim_jobs(bench, session, batch, count / static_cast<size_t>(bench.num_processes), pipe[1]);
      ::_exit(0);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
  }
  ::close(pipe[1]);
  size_t num_claims = 0, num_twice = 0;
  int64_t id = 0;
  while (::read(pipe[0], &id, sizeof(id)) == sizeof(id)) {
    ++num_claims;
    num_twice += seen.insert(id).second ? 0 : 1;
  }
  ::close(pipe[0]);
  int status = 0;
  while (::wait(&status) > 0) is_right = is_right && status == 0;
  is_right = is_right && num_twice == 0;
  timed(fmt::format("claims of {} by {} processes", batch, bench.num_processes).c_str(), num_claims, began_s);
  if (num_twice > 0) std::printf("%zu jobs were given out twice\n", num_twice);
}

int run(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    int64_t* const value = argument == "--jobs"        ? &bench.num_jobs
                           : argument == "--claims"    ? &bench.num_claims
                           : argument == "--processes" ? &bench.num_processes
                                                       : nullptr;
    if (value == nullptr)
      bench.store = argument;
    else
      *value = i + 1 < argc ? parse_int(argv[++i]).value_or(1) : 1;
  }
  if (bench.store.empty()) fail(ErrorCode::invalid_input, "name an empty store, as in sqlite:/tmp/bench.db");
  const int64_t session = load(bench);
  std::set<int64_t> seen;
  measure_claims(bench, session, 1, static_cast<size_t>(bench.num_claims), seen);
  measure_claims(bench, session, 32, static_cast<size_t>(bench.num_claims) * 8, seen);
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  try {
    return attune::run(argc, argv);
  } catch (const attune::Error& error) {
    std::fprintf(stderr, "attune_fleet_store: %s\n", error.what());
    return 2;
  }
}
