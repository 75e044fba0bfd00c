// SPDX-License-Identifier: MIT
#include "process/children.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "process/process_stat.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

}  // namespace

OwnedChildren& OwnedChildren::instance() {
  static OwnedChildren children;
  return children;
}

void OwnedChildren::add(pid_t pid) {
  const Lock lock(mutex_);
  pids_.push_back(pid);
}

void OwnedChildren::remove(pid_t pid) noexcept {
  const Lock lock(mutex_);
  // Erases one entry only: once reaped, the number may already be another child's, and then it is listed twice.
  if (const auto found = std::find(pids_.begin(), pids_.end(), pid); found != pids_.end()) pids_.erase(found);
}

bool OwnedChildren::contains(pid_t pid) const {
  const Lock lock(mutex_);
  return std::find(pids_.begin(), pids_.end(), pid) != pids_.end();
}

std::optional<std::vector<pid_t>> listed_children() {
  std::vector<pid_t> children;
  bool known = false;
  std::error_code error;
  for (fs::directory_iterator thread("/proc/self/task", error), end; !error && thread != end; thread.increment(error)) {
    const std::optional<std::string> text = read_file_if_any(thread->path() / "children");
    known = known || text;
    for (const std::string_view word : split(text ? std::string_view(*text) : std::string_view(), ' ')) {
      if (const auto pid = parse_int(trim(word))) children.push_back(static_cast<pid_t>(*pid));
    }
  }
  if (!known) return std::nullopt;
  return children;
}

std::vector<pid_t> scanned_children() {
  std::vector<pid_t> children;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto pid = parse_int(entry->path().filename().string());
    if (!pid) continue;
    const auto stat = process_stat(static_cast<pid_t>(*pid));
    if (!stat.empty() && stat[kParent] == ::getpid()) children.push_back(static_cast<pid_t>(*pid));
  }
  return children;
}

}  // namespace attune
