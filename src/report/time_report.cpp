// SPDX-License-Identifier: MIT
#include "report/time_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kNamed = 4;

}  // namespace

nlohmann::ordered_json time_json(const TimeUse& time) {
  nlohmann::ordered_json activities = nlohmann::ordered_json::object();
  for (size_t i = 0; i < kNumActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    activities[std::string(name(activity))] = {{"wall_s", time[activity].wall_s}, {"busy_s", time[activity].busy_s}};
  }
  return {{"wall_s", time.wall_s()}, {"busy_s", time.busy_s()}, {"activities", std::move(activities)}};
}

std::string time_sentence(const TimeUse& time, const WorkersOfRun& workers) {
  const double wall_s = time.wall_s();
  if (!(wall_s > 0) || !(time.busy_s() > 0)) return "";
  std::vector<Activity> activities;
  for (size_t i = 0; i < kNumActivities; ++i) activities.push_back(static_cast<Activity>(i));
  std::ranges::stable_sort(activities, std::greater(), [&](Activity one) { return time[one].wall_s; });
  const auto percent = [&](double seconds) { return 100 * seconds / wall_s; };
  std::string shares;
  double other_s = wall_s;
  for (const Activity one : std::span(activities).first(kNamed)) {
    other_s -= time[one].wall_s;
    if (percent(time[one].wall_s) >= 0.5)
      shares += fmt::format("{:.0f} % {}, ", percent(time[one].wall_s), description(one));
  }
  const bool is_one = workers.num_devices == 1;
  const std::string_view who = workers.num_workers == workers.num_devices
                                   ? (is_one ? "The device was" : "The devices were")
                                   : (is_one ? "The workers kept the device" : "The workers kept the devices");
  return fmt::format("{} busy for {:.0f} % of {}: {}{:.0f} % other", who, percent(time.busy_s()),
                     format_duration(wall_s), shares, percent(std::max(other_s, 0.0)));
}

}  // namespace attune
