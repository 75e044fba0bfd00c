// SPDX-License-Identifier: MIT
#include "fleet/slurm/slurm.h"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/variable.h"
#include "process/run_command.h"
#include "process/temporary_folder.h"

extern char** environ;

namespace attune {
namespace {

constexpr Milliseconds kPatience{60'000};
constexpr uint64_t kMaxQueueBytes = 256u << 20;

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const size_t equals = text.find('='); equals != std::string_view::npos)
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

/// Variables with the store's password (store/fleet/store_address.h).
constexpr const char* kSecretVariables[] = {"ATTUNE_STORE_PASSWORD", "TUNA_DB_USER_PASSWORD"};

/// A text of Slurm or a site's wrapper without the passwords of this environment.
std::string without_secrets(std::string text) {
  for (const char* name : kSecretVariables) {
    const char* const secret = variable_or_null(name);
    if (secret == nullptr) continue;
    const std::string_view wanted(secret);
    for (size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 3))
      text.replace(at, wanted.size(), "***");
  }
  return text;
}

/// The last line that says something.
std::string last_line(const std::string& output) {
  std::string last;
  for (const std::string_view line : split(output, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

std::string run_slurm(std::string_view program, const std::vector<std::string>& arguments,
                      uint64_t max_bytes = 1 << 20) {
  const auto path = find_on_path(program);
  if (path.empty())
    fail(ErrorCode::unavailable, "Slurm's {} is not installed, install Debian's package slurm-client or slurm-wlm",
         program);
  ChildCommand command{.arguments = {path.string()}, .environment = own_environment()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  if (program != "sbatch") {  // Whose jobs get this environment.
    for (const char* name : kSecretVariables) command.environment.erase(name);
  }
  // Warnings of Slurm and of a site's wrapper go to standard error.
  const CommandResult result = run_command(std::move(command), kPatience, max_bytes, OutputStreams::apart);
  if (!result.status.ok()) {
    std::string said = last_line(trim(result.errors).empty() ? result.output : result.errors);
    if (said.empty()) said = result.status.describe();
    fail(ErrorCode::unavailable, "Slurm's {} failed, try it by hand: {}", program, shown(without_secrets(said), 400));
  }
  return result.output;
}

/// A job that ended before the signal is no error.
void run_scancel(std::vector<std::string> arguments, const std::vector<std::string>& jobs) {
  if (jobs.empty()) return;
  arguments.insert(arguments.begin(), "--quiet");
  arguments.insert(arguments.end(), jobs.begin(), jobs.end());
  run_slurm("scancel", arguments);
}

}  // namespace

int64_t submit_batch(const std::string& script) {
  const TemporaryFolder folder("batch");
  const auto file = folder.path() / "agents.sh";
  write_file_atomically(file, script, 0600);
  // No limit: the job inherits sbatch's limits.
  const std::string output = run_slurm("sbatch", {"--parsable", file.string()}, std::numeric_limits<uint64_t>::max());
  // `12` or `12;cluster`, perhaps after notes of the site.
  const std::string line = last_line(output);
  const auto id = parse_int(line.substr(0, line.find(';')));
  if (!id || *id <= 0) fail(ErrorCode::unavailable, "Slurm's sbatch printed no job's number: '{}'", shown(line));
  return *id;
}

std::vector<SlurmJob> slurm_jobs(std::string_view comment) {
  return parse_squeue(run_slurm("squeue", {"--me", "--json"}, kMaxQueueBytes), comment);
}

void cancel_job(int64_t id) { run_scancel({}, {std::to_string(id)}); }

DrainedJobs drain_jobs(std::string_view comment) {
  // A job may start, or be queued again, between a look and a command.
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{250};
  const auto deadline = steady_clock::now() + std::chrono::seconds(5);
  DrainedJobs drained;
  std::set<std::string> told, cancelled;  // A second TERM would end an agent that is about to give its jobs back.
  for (;;) {
    std::set<std::string> waiting;  // Arrays.
    std::vector<std::string> silent, running;
    bool may_return = false;
    for (const SlurmJob& job : slurm_jobs(comment)) {
      const std::string id = job.shown_id(), start = fmt::format("{} {}", id, job.num_restarts);
      bool is_new = false;
      switch (job.phase()) {
        case SlurmPhase::waiting:
          waiting.insert(std::to_string(job.id));
          is_new = cancelled.insert(start).second;
          break;
        case SlurmPhase::starting:
        case SlurmPhase::stopped:
          silent.push_back(id);
          is_new = cancelled.insert(start).second;
          break;
        case SlurmPhase::running:
          is_new = told.insert(start).second;
          if (is_new) running.push_back(id);
          break;
        case SlurmPhase::ending:
          may_return = may_return || !told.contains(start);
          break;
        case SlurmPhase::ended:
        case SlurmPhase::unknown:
          break;
      }
      if (is_new) drained.jobs.push_back(job);
    }
    if (!may_return && waiting.empty() && silent.empty() && running.empty()) break;
    // First, because they would start as soon as others end.
    run_scancel({"--state=PENDING"}, {waiting.begin(), waiting.end()});
    run_scancel({}, silent);
    // Without --batch the signal would not reach the batch script, which is the agent.
    run_scancel({"--batch", "--signal=TERM"}, running);
    if (steady_clock::now() + kPause >= deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  drained.num_told = told.size();
  drained.num_cancelled = cancelled.size();
  return drained;
}

}  // namespace attune
