// SPDX-License-Identifier: MIT
#include "common_changes.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dispatchers.h"
#include "errors.h"
#include "gil.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// Dispatchers in the order in which they were opened: the host's first, then a rank's GPU, whatever its number is.
struct HeldDispatchers {
  std::mutex mutex;
  std::deque<CommonChanges> all;  ///< Empty: changes are not held.
};

/// Never destroyed: dispatchers are not, either.
HeldDispatchers& held = *new HeldDispatchers;

/// A child lacks the thread that may hold the mutex. That thread was not inside a dispatcher, for whose calls a fork()
/// waits, so that what `all` lists is held, or was released a moment ago, which may be done again. The mutex cannot be
/// held throughout the fork(): whoever holds it waits for a dispatcher, whose lock fork() has taken before.
const int child_has_no_holder = ::pthread_atfork(nullptr, nullptr, [] { new (&held.mutex) std::mutex; });

constexpr char kEnd = '\f';  // Of a dispatcher's part of a report.

void hold_changes() {
  const GilRelease others_run;
  Dispatcher& host = host_dispatcher();
  const std::lock_guard lock(held.mutex);
  if (held.all.empty()) held.all.emplace_back(host);
}

void release_changes() {
  const GilRelease others_run;
  const std::lock_guard lock(held.mutex);
  held.all.clear();
}

/// The digest of all states, whether there is news, and the text.
std::tuple<int64_t, bool, std::string> report_changes() {
  const GilRelease others_run;
  const std::lock_guard lock(held.mutex);
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;  // Odd, so that no state is lost.
  std::tuple<int64_t, bool, std::string> all{0, false, ""};
  uint64_t state = 0;
  for (CommonChanges& one : held.all) {
    const CommonReport report = one.report();
    state = (state + report.state + 1) * kFactor;
    std::get<1>(all) = std::get<1>(all) || report.has_news;
    std::get<2>(all) += report.text + kEnd;
  }
  std::get<0>(all) = static_cast<int64_t>(state);
  return all;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0, end = 0; (end = text.find(kEnd, at)) != std::string::npos; at = end + 1)
    parts.push_back(text.substr(at, end - at));
  return parts;
}

/// Whether anything changed, and what the ranks do not agree on.
std::tuple<bool, std::vector<std::string>> apply_changes(const std::vector<std::string>& reports) {
  const GilRelease others_run;
  const std::lock_guard lock(held.mutex);
  std::vector<std::vector<std::string>> ranks;
  for (const std::string& text : reports) ranks.push_back(parts_of(text));
  std::tuple<bool, std::vector<std::string>> all{false, {}};
  for (size_t i = 0; i < held.all.size(); ++i) {
    // A GPU that a rank has not opened yet serves no rows on the others.
    const bool have_all = std::all_of(ranks.begin(), ranks.end(), [&](const auto& parts) { return i < parts.size(); });
    if (!have_all) continue;
    std::vector<std::string> its;
    for (const auto& parts : ranks) its.push_back(parts[i]);
    CommonResult result = held.all[i].apply(its);
    std::get<0>(all) = std::get<0>(all) || result.changed;
    for (std::string& one : result.differences) std::get<1>(all).push_back(std::move(one));
  }
  return all;
}

}  // namespace

void hold_if_wanted(Dispatcher& dispatcher) {
  const std::lock_guard lock(held.mutex);
  if (!held.all.empty()) held.all.emplace_back(dispatcher);
}

void add_common_changes(nb::module_& module) {
  module.def("hold_changes", &hold_changes,
             "Has tables and kernels wait until apply_changes(); does nothing if they do.");
  module.def("release_changes", &release_changes, "What waits serves from now on.");
  module.def("report_changes", &report_changes, "Returns a digest of what serves, whether there is news, and a text.");
  module.def("apply_changes", &apply_changes, "reports"_a,
             "Takes the texts of all ranks, in their order; returns whether anything changed, and what differs.");
}

}  // namespace attune::python
