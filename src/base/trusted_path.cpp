// SPDX-License-Identifier: MIT
#include "base/trusted_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <deque>

namespace attune {
namespace {

namespace fs = std::filesystem;
using Status = struct stat;

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::optional<Status> status_of(const fs::path& path) {
  Status status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

/// Whether every user who may write `one` may write `other`, by owner and mode.
bool is_as_closed_as(const Status& one, const Status& other) {
  const mode_t more = one.st_mode & ~other.st_mode & kOthersWrite;
  const bool of_one_group = (one.st_mode & S_IWGRP) == 0 || one.st_gid == other.st_gid;
  return (one.st_uid == other.st_uid || one.st_uid == 0 || one.st_uid == ::geteuid()) && more == 0 && of_one_group;
}

std::optional<std::string> why_not(const fs::path& path, const fs::path& like) {
  const auto status = status_of(path);
  if (!status || is_only_ours_to_write(*status)) return std::nullopt;
  if (!like.empty()) {
    const auto file = status_of(like), folder = status_of(folder_of(like));
    if ((file && is_as_closed_as(*status, *file)) || (folder && is_as_closed_as(*status, *folder))) return std::nullopt;
  }
  if ((status->st_mode & kOthersWrite) != 0)
    return fmt::format("other users may write it, remove that permission (chmod go-w): '{}'", path.string());
  return fmt::format("another user owns it, take ownership (chown): '{}'", path.string());
}

/// Whether a link in a folder may be another user's trap.
bool is_planted(const fs::path& folder, const Status& link) {
  const auto status = status_of(folder);
  return status && (status->st_mode & S_IWOTH) != 0 && link.st_uid != ::geteuid() && link.st_uid != status->st_uid;
}

}  // namespace

bool is_only_ours_to_write(const struct stat& status) noexcept {
  return (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & kOthersWrite) == 0;
}

std::optional<std::string> why_not_trusted(const fs::path& file, const fs::path& like) {
  if (auto why = why_not(folder_of(file), like)) return why;
  if (auto why = why_not(file, like)) return why;
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  // A link may lead into a folder in which the file can be replaced.
  return error || real == file ? std::nullopt : why_not(folder_of(real), like);
}

std::optional<std::string> why_planted(const fs::path& path) {
  constexpr int kMostLinks = 40;  // The kernel's limit.
  fs::path reached = path.is_absolute() ? "/" : ".";
  const fs::path parts = path.relative_path();
  std::deque<fs::path> left(parts.begin(), parts.end());
  for (int num_links = 0; !left.empty() && num_links < kMostLinks;) {
    const fs::path at = reached / left.front();
    left.pop_front();
    Status status{};
    if (::lstat(at.c_str(), &status) != 0) return std::nullopt;
    if (!S_ISLNK(status.st_mode)) {
      reached = at;
      continue;
    }
    if (is_planted(reached, status))
      return fmt::format(
          "another user made this link in a folder that every user may write in, remove it or name "
          "another path: '{}'",
          at.string());
    std::error_code error;
    const fs::path target = fs::read_symlink(at, error);
    if (error) return std::nullopt;
    if (target.is_absolute()) reached = "/";
    const fs::path further = target.relative_path();
    left.insert(left.begin(), further.begin(), further.end());
    ++num_links;
  }
  return std::nullopt;
}

}  // namespace attune
