// SPDX-License-Identifier: MIT
#include "fleet/slurm/squeue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::json;

constexpr size_t kMaxText = 4096;
constexpr std::array<std::string_view, 11> kMembers = {
    "array_job_id", "array_task_id", "array_task_string", "comment",      "job_id",   "job_state",
    "name",         "nodes",         "restart_cnt",       "state_reason", "user_name"};

const json* member(const json& job, const char* name) {
  const auto found = job.find(name);
  return found == job.end() ? nullptr : &*found;
}

/// Of a list, as of nodes, the first.
std::string text_of(const json& job, const char* name) {
  const json* value = member(job, name);
  if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
  return value != nullptr && value->is_string() ? value->get<std::string>().substr(0, kMaxText) : std::string();
}

/// Since Slurm 23.11 a list: a base state and flags.
std::string state_of(const json& job) {
  const json* value = member(job, "job_state");
  if (value == nullptr || !value->is_array()) return text_of(job, "job_state");
  std::string state;
  for (const json& one : *value) {
    if (one.is_string() && state.size() < kMaxText) state += (state.empty() ? "" : "+") + one.get<std::string>();
  }
  return state.substr(0, kMaxText);
}

/// Since Slurm 23.02 an object: `{"set": true, "infinite": false, "number": 7}`.
std::optional<int64_t> number_of(const json& job, const char* name) {
  const json* value = member(job, name);
  if (value != nullptr && value->is_object()) {
    const json* is_set = member(*value, "set");
    if (is_set != nullptr && is_set->is_boolean() && !is_set->get<bool>()) return std::nullopt;
    value = member(*value, "number");
  }
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (value->is_number_unsigned() && value->get<uint64_t>() > INT64_MAX) return std::nullopt;
  return value->get<int64_t>();
}

SlurmJob job_of(const json& one) {
  SlurmJob job;
  const int64_t array = number_of(one, "array_job_id").value_or(0);
  job.id = array > 0 ? array : number_of(one, "job_id").value_or(0);
  job.waiting_tasks = text_of(one, "array_task_string");
  if (array > 0 && job.waiting_tasks.empty()) job.task = number_of(one, "array_task_id");
  job.name = text_of(one, "name");
  job.user = text_of(one, "user_name");
  job.state = state_of(one);
  job.reason = text_of(one, "state_reason");
  if (job.reason == "None") job.reason.clear();
  job.node = text_of(one, "nodes");
  job.num_restarts = number_of(one, "restart_cnt").value_or(0);
  return job;
}

}  // namespace

SlurmPhase SlurmJob::phase() const {
  // A flag says more than the base state, and is alone in the older form: it comes first.
  static constexpr std::pair<std::string_view, SlurmPhase> kPhases[] = {
      {"COMPLETING", SlurmPhase::ending},    {"STAGE_OUT", SlurmPhase::ending},
      {"CONFIGURING", SlurmPhase::starting}, {"POWER_UP_NODE", SlurmPhase::starting},
      {"SUSPENDED", SlurmPhase::stopped},    {"STOPPED", SlurmPhase::stopped},
      {"PENDING", SlurmPhase::waiting},      {"REQUEUED", SlurmPhase::waiting},
      {"REQUEUE_HOLD", SlurmPhase::waiting}, {"REQUEUE_FED", SlurmPhase::waiting},
      {"SPECIAL_EXIT", SlurmPhase::waiting}, {"RESV_DEL_HOLD", SlurmPhase::waiting},
      {"RUNNING", SlurmPhase::running},      {"SIGNALING", SlurmPhase::running},
      {"RESIZING", SlurmPhase::running},     {"COMPLETED", SlurmPhase::ended},
      {"CANCELLED", SlurmPhase::ended},      {"FAILED", SlurmPhase::ended},
      {"TIMEOUT", SlurmPhase::ended},        {"NODE_FAIL", SlurmPhase::ended},
      {"PREEMPTED", SlurmPhase::ended},      {"BOOT_FAIL", SlurmPhase::ended},
      {"DEADLINE", SlurmPhase::ended},       {"OUT_OF_MEMORY", SlurmPhase::ended},
      {"REVOKED", SlurmPhase::ended},        {"LAUNCH_FAILED", SlurmPhase::ended},
      {"RECONFIG_FAIL", SlurmPhase::ended}};
  const auto states = split(state, '+');
  for (const auto& [word, phase] : kPhases) {
    if (std::ranges::find(states, word) != states.end()) return phase;
  }
  return SlurmPhase::unknown;
}

std::string SlurmJob::shown_id() const {
  if (!waiting_tasks.empty()) return fmt::format("{}_[{}]", id, shown(waiting_tasks));
  return task ? fmt::format("{}_{}", id, *task) : std::to_string(id);
}

std::vector<SlurmJob> parse_squeue(std::string_view text, std::string_view comment) {
  // Depth 1: the document's members; 3: a job's.
  const auto keep = [&](int depth, json::parse_event_t event, json& parsed) {
    if (event != json::parse_event_t::key) return depth < 8;
    if (!parsed.is_string()) return true;
    const std::string& name = parsed.get_ref<const std::string&>();
    if (depth == 1) return name == "jobs";
    return depth != 3 || std::ranges::find(kMembers, std::string_view(name)) != kMembers.end();
  };
  const json document = json::parse(text.begin(), text.end(), keep, false);
  const json* jobs = document.is_object() ? member(document, "jobs") : nullptr;
  if (jobs == nullptr || !jobs->is_array())
    fail(ErrorCode::unavailable, "Slurm's squeue printed no list of jobs, Slurm 22.05 or newer does: '{}'",
         shown(text));
  std::vector<SlurmJob> found;
  for (const json& one : *jobs) {
    if (!one.is_object() || text_of(one, "comment") != comment) continue;
    SlurmJob job = job_of(one);
    if (job.id > 0) found.push_back(std::move(job));
  }
  std::ranges::sort(found, {}, [](const SlurmJob& job) { return std::pair(job.id, job.task.value_or(INT64_MAX)); });
  return found;
}

}  // namespace attune
