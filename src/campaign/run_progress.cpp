// SPDX-License-Identifier: MIT
#include "campaign/run_progress.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "process/process_stat.h"
#include "report/result_json.h"

namespace attune {
namespace {

constexpr double kEveryS = 0.5;

constexpr const char* kFolder = "runs";

/// Returns the start time of a process in ticks since the machine's start; 0: no such process. Number and start time
/// together identify a process.
int64_t started_ticks(int64_t pid) {
  const auto stat = process_stat(static_cast<pid_t>(pid));
  return stat.empty() ? 0 : stat[kStartTicks];
}

/// Returns the id of this boot of this machine: machines share home folders, but not process numbers.
std::string boot() {
  try {
    return std::string(trim(read_file("/proc/sys/kernel/random/boot_id")));
  } catch (const Error&) {
    return "unknown";
  }
}

nlohmann::ordered_json json_of(const RunProgress& progress) {
  return {{"device", progress.device},         {"shapes", progress.num_shapes},     {"decided", progress.num_decided},
          {"given_up", progress.num_given_up}, {"left", progress.num_left},         {"doing", progress.doing},
          {"elapsed_s", progress.elapsed_s},   {"best_ratio", progress.best_ratio}, {"best_shape", progress.best_shape},
          {"failures", progress.failures},     {"table", progress.table},           {"journal", progress.journal}};
}

/// The content of a run's file: its progress, and the facts by which readers know that its process still runs.
nlohmann::ordered_json file_json(const RunProgress& progress) {
  nlohmann::ordered_json json = json_of(progress);
  json["boot"] = boot();
  json["pid"] = ::getpid();
  json["started_ticks"] = started_ticks(::getpid());
  json["budget_s"] = progress.budget_s;
  json["known"] = progress.num_known;
  json["earlier"] = progress.num_earlier;
  return json;
}

/// Throws nlohmann's errors for a file that is not ours.
std::optional<RunningRun> run_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  RunningRun run;
  if (json.at("boot").get<std::string>() != boot()) fail(ErrorCode::unavailable, "the run is on another machine");
  run.pid = json.at("pid").get<int64_t>();
  const int64_t started = started_ticks(run.pid);
  if (started == 0 || started != json.at("started_ticks").get<int64_t>()) return std::nullopt;
  RunProgress& progress = run.progress;
  progress.num_shapes = json.at("shapes").get<size_t>();
  progress.num_decided = json.at("decided").get<size_t>();
  progress.num_given_up = json.at("given_up").get<size_t>();
  progress.num_left = json.at("left").get<size_t>();
  progress.num_known = json.value("known", size_t{0});  // An older program's file has none.
  progress.num_earlier = json.value("earlier", size_t{0});
  progress.doing = json.at("doing").get<std::string>();
  progress.elapsed_s = json.at("elapsed_s").get<double>();
  progress.budget_s = json.at("budget_s").get<double>();
  progress.best_ratio = json.at("best_ratio").get<double>();
  progress.best_shape = json.at("best_shape").get<std::string>();
  progress.failures = json.at("failures").get<std::map<std::string, size_t>>();
  progress.device = json.at("device").get<std::string>();
  progress.table = json.at("table").get<std::string>();
  progress.journal = json.at("journal").get<std::string>();
  return run;
}

}  // namespace

std::string RunProgress::counts() const {
  std::string text = counted_of(num_decided, num_shapes, "shape") + " decided";
  if (num_given_up > 0) text += fmt::format(", {} given up", num_given_up);
  if (num_left > 0) text += fmt::format(", {} left for the next run", num_left);
  return text;
}

std::optional<double> RunProgress::left_s() const {
  const size_t num_ended_now = num_ended() - num_earlier;
  if (num_ended_now == 0 || num_ended() >= num_shapes) return std::nullopt;
  const size_t num_waiting = num_shapes - num_ended(),
               num_known_waiting = std::min(num_waiting, num_known - std::min(num_known, num_earlier));
  if (num_waiting == num_known_waiting) return std::nullopt;
  const double left =
      elapsed_s / static_cast<double>(num_ended_now) * static_cast<double>(num_waiting - num_known_waiting);
  return budget_s > 0 ? std::min(left, std::max(0.0, budget_s - elapsed_s)) : left;
}

double RunProgress::shapes_a_minute() const {
  return elapsed_s > 0 ? 60 * static_cast<double>(num_decided - num_earlier) / elapsed_s : 0;
}

std::string RunProgress::remarks() const {
  std::vector<std::string> parts;
  if (const auto left = left_s()) {
    parts.push_back(fmt::format("{:.1f} decided a minute", shapes_a_minute()));
    parts.push_back("about " + format_duration(*left) + " left");
  }
  if (best_ratio > 1) parts.push_back(fmt::format("best {:.2f}× ({})", best_ratio, best_shape));
  std::vector<std::string> failed;
  for (const auto& [status, count] : failures) failed.push_back(fmt::format("{} {}", count, status));
  if (!failed.empty()) parts.push_back("failed: " + join(failed, ", "));
  return join(parts, ", ");
}

ProgressFile::ProgressFile(const std::filesystem::path& state) {
  if (state.empty()) return;
  try {
    make_private_folder(state / kFolder);
    file_ = state / kFolder / fmt::format("{}-{}.json", boot().substr(0, 8), ::getpid());
  } catch (const Error&) {
    file_.clear();
  }
}

ProgressFile::~ProgressFile() {
  std::error_code ignored;
  if (!file_.empty()) std::filesystem::remove(file_, ignored);
}

void ProgressFile::write(const RunProgress& progress) {
  if (file_.empty() || progress.elapsed_s - written_s_ < kEveryS) return;
  written_s_ = progress.elapsed_s;
  try {
    write_file_atomically(file_,
                          file_json(progress).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const Error&) {
    file_.clear();
  }
}

std::string run_json(const RunningRun& run) {
  nlohmann::ordered_json json = {{"pid", run.pid}};
  json.update(json_of(run.progress));
  json["shapes_a_minute"] = run.progress.shapes_a_minute();
  if (const auto left = run.progress.left_s()) json["left_s"] = *left;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<RunningRun> running_runs(const std::filesystem::path& state) {
  std::vector<RunningRun> runs;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(state / kFolder, none)) {
    if (entry.path().extension() != ".json") continue;
    std::error_code ignored;
    try {
      if (auto run = run_from(read_file(entry.path())))
        runs.push_back(std::move(*run));
      else
        std::filesystem::remove(entry.path(), ignored);
    } catch (const std::exception&) {
      // Just removed, of another machine, or not ours.
    }
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return runs;
}

}  // namespace attune
