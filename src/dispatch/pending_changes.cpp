// SPDX-License-Identifier: MIT
#include "dispatch/pending_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attune {
namespace {
constexpr size_t kMaxShapes = 16384;  // Of the answers that are compared.
}

PendingChanges::PendingChanges(const CachePlace& cache) {
  if (!cache.folder.empty()) cache_.emplace(std::vector{cache.folder}, cache.max_bytes, KernelCache::Lease::held);
}

void PendingChanges::set_tables(std::string digest) {
  tables_ = std::move(digest);
  failed_.clear();
  own_wanted_.clear();
  seen_.clear();
  work_.clear();
  forget_answers();
}

void PendingChanges::forget_answers() {
  answers_.clear();
  new_answers_.clear();
  announced_.clear();
  num_reported_answers_ = 0;
}

void PendingChanges::want(const WantedKernel& wanted, const std::vector<CompileTask>& tasks) {
  if (own_wanted_.contains(wanted)) return;
  std::vector<std::string>& recipes = own_wanted_[wanted];
  for (const CompileTask& task : tasks) recipes.push_back(task.recipe());
  ++news_;
  want_for_others(wanted, tasks);
}

void PendingChanges::want_for_others(const WantedKernel& wanted, const std::vector<CompileTask>& tasks) {
  if (seen_.insert(wanted).second && !tasks.empty()) work_.push_back(tasks);
}

std::vector<CompileTask> PendingChanges::take_work() {
  if (work_.empty()) return {};
  std::vector<CompileTask> tasks = std::move(work_.front());
  work_.pop_front();
  return tasks;
}

void PendingChanges::note_compiled(const Binary& binary) {
  // This look leases it: where its plan is evicted and made again, the kernel must still be there.
  if (cache_) static_cast<void>(cache_->find(binary.arch, binary.recipe, binary.toolchain));
  if (std::exchange(compiled_[binary.recipe], binary.toolchain) != binary.toolchain) ++news_;
}

void PendingChanges::note_failure(const std::string& recipe, const std::string& why) {
  if (failed_.emplace(recipe, why).second) ++news_;
}

std::optional<std::string> PendingChanges::failure_of(std::span<const CompileTask> tasks) const {
  for (const CompileTask& task : tasks) {
    if (const auto found = failed_.find(task.recipe()); found != failed_.end()) return found->second;
  }
  return std::nullopt;
}

void PendingChanges::note_answer(const ServedShape& answer) {
  if (answers_.size() >= kMaxShapes) answers_.clear();
  std::string& known = answers_[{answer.units, answer.problem}];
  if (known == answer.candidate) return;
  known = answer.candidate;
  new_answers_.push_back(answer);
  ++news_;
}

ServingReport PendingChanges::report(std::string settings, std::string waiting) {
  ServingReport report{.settings = std::move(settings), .serving = tables_, .waiting = std::move(waiting)};
  std::set<CommonKernel> kernels = agreed_.serving();
  for (const auto& [recipe, toolchain] : compiled_) kernels.insert({recipe, toolchain});
  report.kernels.assign(kernels.begin(), kernels.end());
  std::set<std::string> failed = agreed_.failed();
  for (const auto& one : failed_) failed.insert(one.first);
  report.failed.assign(failed.begin(), failed.end());
  std::set<std::string> settled = failed;
  for (const CommonKernel& one : agreed_.serving()) settled.insert(one.recipe);
  for (const auto& [wanted, recipes] : own_wanted_) {
    const auto is_settled = [&](const std::string& recipe) { return settled.contains(recipe); };
    if (!std::all_of(recipes.begin(), recipes.end(), is_settled)) report.wanted.push_back(wanted);
  }
  report.answers = new_answers_;
  num_reported_answers_ = new_answers_.size();
  reported_ = news_;
  is_reported_ = true;
  return report;
}

std::vector<std::string> PendingChanges::note_exchange(std::span<const ServingReport> reports) {
  std::vector<std::string> differences;
  if (announced_.size() >= kMaxShapes) announced_.clear();
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    for (const ServedShape& one : reports[rank].answers) {
      const auto [known, is_new] = announced_.try_emplace({one.units, one.problem}, Announced{one.candidate, rank});
      if (is_new || known->second.candidate == one.candidate) continue;
      if (known->second.rank != rank)
        differences.push_back(fmt::format("{} is served by {} on rank {} and by {} on rank {}", one.problem,
                                          known->second.candidate, known->second.rank, one.candidate, rank));
      known->second = {one.candidate, rank};
    }
  }
  new_answers_.erase(new_answers_.begin(), new_answers_.begin() + static_cast<std::ptrdiff_t>(num_reported_answers_));
  num_reported_answers_ = 0;
  exchanged_ = reported_;
  is_reported_ = false;
  return differences;
}

}  // namespace attune
