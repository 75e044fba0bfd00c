// SPDX-License-Identifier: MIT
#include "fleet/slurm/slurm.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>

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
    fail(ErrorCode::invalid_input, "Slurm's {} is not installed, install Debian's package slurm-client or slurm-wlm",
         program);
  ChildCommand command{.arguments = {path.string()}, .environment = own_environment()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  if (program != "sbatch") {  // Whose jobs get this environment.
    for (const char* name : kSecretVariables) command.environment.erase(name);
  }
  const CommandResult result = run_command(std::move(command), kPatience, max_bytes);
  if (!result.status.ok())
    fail(
        ErrorCode::device, "{} failed, try it by hand: {}", program,
        trim(result.output).empty() ? result.status.describe() : shown(without_secrets(last_line(result.output)), 400));
  return result.output;
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
  if (!id || *id <= 0) fail(ErrorCode::device, "sbatch printed no job's number: '{}'", shown(line));
  return *id;
}

std::vector<SlurmJob> slurm_jobs(std::string_view comment) {
  return parse_squeue(run_slurm("squeue", {"--me", "--json"}, kMaxQueueBytes), comment);
}

void drain_jobs(const std::vector<SlurmJob>& jobs) {
  std::set<std::string> waiting, running;
  for (const SlurmJob& job : jobs) {
    if (job.is_waiting())
      waiting.insert(std::to_string(job.id));
    else if (job.is_running())
      running.insert(job.shown_id());
  }
  // First, because they would start as soon as others end.
  if (!waiting.empty()) {
    std::vector<std::string> arguments = {"--state=PENDING"};
    arguments.insert(arguments.end(), waiting.begin(), waiting.end());
    run_slurm("scancel", arguments);
  }
  if (running.empty()) return;
  // Without --batch the signal would not reach the batch script, which is the agent.
  std::vector<std::string> arguments = {"--batch", "--signal=TERM"};
  arguments.insert(arguments.end(), running.begin(), running.end());
  run_slurm("scancel", arguments);
}

}  // namespace attune
