// SPDX-License-Identifier: MIT
#include "fleet/slurm/batch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr double kMinTimeS = 300;  // The signal comes 120 s before the end.
constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@+=-";

bool is_safe(std::string_view text) { return text.find_first_not_of(kSafe) == std::string_view::npos; }

/// A value of an option of Slurm, which has its own quotes and patterns.
const std::string& checked(const std::string& value, std::string_view flag) {
  if (!is_safe(value) || value.starts_with('-'))
    fail(ErrorCode::invalid_input, "{} must consist of letters, digits and _ . / , : @ + = -, got '{}'", flag,
         shown(value));
  return value;
}

/// A word of the shell.
std::string quoted(const std::string& word) {
  const auto is_control = [](char one) { return static_cast<unsigned char>(one) < 32 || one == 127; };
  if (std::ranges::any_of(word, is_control))
    fail(ErrorCode::invalid_input, "a batch script cannot hold line ends and control characters: '{}'", shown(word));
  if (!word.empty() && is_safe(word)) return word;
  std::string text = "'";
  for (const char one : word) text += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return text + "'";
}

}  // namespace

std::string batch_script(const SlurmSubmission& submission, const AgentArray& array) {
  if (!(submission.time_s >= kMinTimeS) || submission.time_s > 365 * 86400.0)
    fail(ErrorCode::invalid_input, "--time must be between 5 minutes and a year, got {}",
         format_duration(submission.time_s));
  const std::string name = fmt::format("attune-{}-{}", submission.session, array.kind);
  std::string script = "#!/bin/sh\n";
  const auto option = [&](std::string_view text) { script += fmt::format("#SBATCH --{}\n", text); };
  option("job-name=" + name);
  option("comment=" + submission.mark);
  option(fmt::format("array=0-{}", array.num_agents - 1));
  option(fmt::format("time={}", static_cast<int64_t>(std::ceil(submission.time_s / 60))));
  option("nodes=1");
  option("ntasks=1");
  option(fmt::format("cpus-per-task={}", array.num_cores));
  if (array.has_gpu) option("gres=gpu:1");
  if (array.is_alone) option("exclusive");
  if (!submission.partition.empty()) option("partition=" + checked(submission.partition, "--partition"));
  if (!submission.account.empty()) option("account=" + checked(submission.account, "--account"));
  option("requeue");
  option("open-mode=append");
  option("signal=B:TERM@120");
  option("export=ALL");
  const std::string folder = submission.logs.empty() ? "" : checked(submission.logs, "--logs") + "/";
  option(fmt::format("output={}{}-%A_%a.log", folder, name));
  std::vector<std::string> steps;
  for (const FleetStep step : array.steps) steps.emplace_back(attune::name(step));
  // A shell in between would not pass signals on.
  script += fmt::format("exec {} fleet run --session {} --steps {}", quoted(submission.program.string()),
                        submission.session, join(steps, ","));
  for (const std::string& flag : submission.flags) script += " " + quoted(flag);
  return script + "\n";
}

std::string slurm_mark(std::string_view store, int64_t session) {
  return fmt::format("attune:{}:{}", hash128(store).hex().substr(0, 8), session);
}

}  // namespace attune
