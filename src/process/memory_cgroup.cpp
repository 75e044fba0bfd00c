// SPDX-License-Identifier: MIT
#include "process/memory_cgroup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "attune-cage-";  // As in earlier releases, whose leftovers are removed too.

std::string text_of(const fs::path& path) {
  const std::optional<std::string> text = read_file_if_any(path);
  return text ? std::string(trim(*text)) : std::string();
}

bool write_to(const fs::path& path, const std::string& text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  const bool written = ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return written;
}

bool has_memory_controller(const fs::path& group) {
  const std::string text = text_of(group / "cgroup.subtree_control");
  const auto controllers = split(text, ' ');
  return std::ranges::find(controllers, "memory") != controllers.end();
}

/// Whether a process loses a limit by leaving the group. The limit on the number of processes is ignored: systemd sets
/// it in every group, generously.
bool is_limited(const fs::path& group) {
  for (const char* name : {"memory.max", "memory.high", "memory.swap.max", "cpu.max", "cpuset.cpus", "cpuset.mems"}) {
    const std::string limit = text_of(group / name);
    if (!limit.empty() && !limit.starts_with("max")) return true;
  }
  return false;
}

void remove_left_overs(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const int lock = ::open(entry->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) == 0) ::rmdir(entry->path().c_str());
    if (lock >= 0) ::close(lock);
  }
}

}  // namespace

std::optional<fs::path> MemoryCgroup::own_cgroup() {
  std::string ours;
  const std::string groups = text_of("/proc/self/cgroup"), mounts = text_of("/proc/self/mountinfo");
  for (const std::string_view line : split(groups, '\n'))
    if (line.starts_with("0::/")) ours = line.substr(3);
  for (const std::string_view line : split(mounts, '\n')) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    const auto words = split(line, ' ');  // Its number, its parent's, the device, the root, where it is mounted.
    const fs::path below = fs::path(ours).lexically_relative(words.at(3));
    if (ours.empty() || below.empty() || *below.begin() == "..") continue;
    return below == "." ? fs::path(words.at(4)) : fs::path(words.at(4)) / below;
  }
  return std::nullopt;
}

MemoryCgroup::MemoryCgroup(uint64_t bytes, const std::optional<fs::path>& group) {
  if (!group) {
    reason_ = "no cgroup (version 2) is mounted";
  } else if (has_memory_controller(*group)) {
    build(*group, bytes);
  } else if (!has_memory_controller(group->parent_path())) {
    reason_ = fmt::format("the memory controller is not enabled below the cgroup or beside it: '{}'", group->string());
  } else if (is_limited(*group)) {
    reason_ = fmt::format("the cgroup has limits that one beside it would escape: '{}'", group->string());
  } else {
    build(group->parent_path(), bytes);
  }
}

MemoryCgroup::~MemoryCgroup() { remove(); }

bool MemoryCgroup::build(const fs::path& parent, uint64_t bytes) {
  const auto give_up = [&](std::string_view what) {
    reason_ = fmt::format("{} ({}): '{}'", what, std::strerror(errno), parent.string());
    remove();
    return false;
  };
  // Moving a process also requires write access to this file: it belongs to the nearest group that holds both ends.
  if (::access((parent / "cgroup.procs").c_str(), W_OK) != 0) return give_up("cannot move a process in the cgroup");
  remove_left_overs(parent);
  std::string name = (parent / fmt::format("{}XXXXXX", kPrefix)).string();
  if (!::mkdtemp(name.data())) return give_up("cannot create a cgroup");
  leaf_ = name;
  lock_ = ::open(leaf_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) return give_up("cannot lock a new cgroup");
  if (!write_to(leaf_ / "memory.max", std::to_string(bytes))) return give_up("cannot limit the memory of a cgroup");
  // Older kernels lack these files, or do not count swap; the limit holds without them.
  write_to(leaf_ / "memory.swap.max", "0");
  write_to(leaf_ / "memory.oom.group", "1");
  descriptor_ = ::open((leaf_ / "cgroup.procs").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return descriptor_ >= 0 || give_up("cannot put a process into a new cgroup");
}

bool MemoryCgroup::killed() const {
  const std::string events = text_of(leaf_ / "memory.events");
  return std::ranges::any_of(
      split(events, '\n'), [](std::string_view line) { return line.starts_with("oom_kill ") && line != "oom_kill 0"; });
}

void MemoryCgroup::remove() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!leaf_.empty()) {
    write_to(leaf_ / "cgroup.kill", "1");  // Linux 5.14. A killed process stays in it until its memory is freed.
    for (int i = 0; ::rmdir(leaf_.c_str()) != 0 && errno == EBUSY && i < 50; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
  leaf_.clear();
}

}  // namespace attune
