// SPDX-License-Identifier: MIT
#include "pipeline/run/git_history.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/variable.h"
#include "formats/csv/csv_document.h"
#include "process/run_command.h"

namespace attune {
namespace {

constexpr Milliseconds kDeadline{60'000};
constexpr std::string_view kUpstream = "@{upstream}";
/// Branches that a branch may have come from, the likeliest first. The names are full, because a short one could also
/// name a tag.
constexpr std::array<std::string_view, 6> kOrigins = {
    "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", kUpstream,
    "refs/heads/main",          "refs/heads/master"};

/// HOME holds the folders that a user calls safe; variables that name another repository are not passed on.
std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> variables = {
      {"PATH", program_search_path()}, {"LC_ALL", "C"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"GIT_TERMINAL_PROMPT", "0"}};
  if (const char* home = variable_or_null("HOME")) variables["HOME"] = home;
  return variables;
}

bool is_safe(std::string_view since) {
  return !since.starts_with('-') &&
         std::ranges::none_of(since, [](char one) { return static_cast<unsigned char>(one) <= ' '; });
}

}  // namespace

GitHistory::GitHistory(std::filesystem::path folder, std::string_view since)
    : program_(find_on_path("git")), folder_(std::move(folder)) {
  if (!is_safe(since))
    fail(ErrorCode::invalid_input, "--since must be a commit, and neither begin with '-' nor hold blanks: '{}'",
         shown(since));
  if (program_.empty())
    fail(ErrorCode::invalid_input, "there is no git on PATH, without which nothing is known to have changed");
  if (!ask({"rev-parse", "--is-inside-work-tree"}).ok)
    fail(ErrorCode::invalid_input,
         "the configuration folder is in no git repository, so nothing is known to have changed: '{}'",
         shown(folder_.string(), 500));
  const std::string name = since.empty() ? fork_point() : std::string(since);
  const Answer commit = ask({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  if (!commit.ok) fail(ErrorCode::invalid_input, "--since names no commit of the repository: '{}'", shown(name));
  commit_ = commit.text;
}

GitHistory::Answer GitHistory::ask(std::initializer_list<std::string_view> arguments) const {
  // The answer would hold a warning if one name is both a tag's and a branch's.
  ChildCommand command{.arguments = {program_.string(), "-c", "core.warnAmbiguousRefs=false", "-C",
                                     std::filesystem::absolute(folder_).string()},
                       .environment = environment()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  CommandResult result = run_command(command, kDeadline, kMaxCsvFileBytes);
  if (result.output.ends_with('\n')) result.output.pop_back();
  return {result.status.ok(), std::move(result.output)};
}

/// Whether the branch is pushed to its upstream, so that the two are often one commit.
bool GitHistory::is_own_upstream() const {
  const Answer branch = ask({"symbolic-ref", "--quiet", "--short", "HEAD"});
  const Answer merged = ask({"config", "--get", "branch." + branch.text + ".merge"});
  return branch.ok && merged.ok && merged.text == "refs/heads/" + branch.text;
}

/// Where this branch left the branch that it comes from.
std::string GitHistory::fork_point() const {
  for (const std::string_view branch : kOrigins) {
    if (branch == kUpstream && is_own_upstream()) continue;
    if (Answer found = ask({"merge-base", "HEAD", branch}); found.ok) return found.text;
  }
  fail(ErrorCode::invalid_input,
       "git knows no main branch and no other upstream of this branch, name the commit with --since: '{}'",
       shown(folder_.string(), 500));
}

std::optional<std::string> GitHistory::file(std::string_view name) const {
  const std::string path = "./" + std::string(name);
  const Answer listed = ask({"ls-tree", "--name-only", commit_, "--", path});
  if (listed.ok && listed.text.empty()) return std::nullopt;
  // As it was committed: `git show` would let programs that an attribute names change it.
  Answer found = ask({"cat-file", "blob", commit_ + ":" + path});
  if (!listed.ok || !found.ok)
    fail(ErrorCode::io, "git cannot read the file of commit {}, {}: '{}'", commit_, shown(found.text, 300),
         shown(path));
  return std::move(found.text);
}

}  // namespace attune
