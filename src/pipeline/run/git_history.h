// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// Reads a folder's files at an earlier commit from git. Runs `git`, never by a shell, for some 5 ms a call, and
/// changes nothing.
class GitHistory {
 public:
  /// `since`: a commit in git's words. Empty: where this branch left the remote's default branch, else its upstream,
  /// else `main` or `master`. An upstream of the branch's own name is where it is pushed to, not where it comes from.
  /// Throws invalid_input for a text that git could take for a flag or that names no commit. It also throws if the
  /// folder is in no repository, if there is no such branch, and if there is no git.
  GitHistory(std::filesystem::path folder, std::string_view since);

  const std::string& commit() const noexcept { return commit_; }  ///< Its hash.
  /// A file of the folder as it was then; nothing: it was not there. Throws io if git fails.
  std::optional<std::string> file(std::string_view name) const;

 private:
  struct Answer {
    bool ok = false;
    std::string text;  ///< Without the line end at its end.
  };
  Answer ask(std::initializer_list<std::string_view> arguments) const;
  bool is_own_upstream() const;
  std::string fork_point() const;

  std::filesystem::path program_, folder_;
  std::string commit_;
};

}  // namespace attune
