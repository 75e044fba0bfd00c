// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compile/kernel_cache.h"
#include "core/binary.h"
#include "dispatch/agreement/agreed_kernels.h"
#include "dispatch/agreement/serving_report.h"
#include "dispatch/plans/kernel_compilation.h"

namespace attune {

/// What a dispatcher holds back, and notes for its reports, as long as a CommonChanges of it exists (docs/adr/0024).
/// Used under the dispatcher's ForkGuard. The tables that wait are those of each ThreadLimitedDevice.
class PendingChanges {
 public:
  /// `cache`: the kernels that are noted stay there as long as this lives.
  explicit PendingChanges(const CachePlace& cache);

  AgreedKernels& agreed() noexcept { return agreed_; }
  const AgreedKernels& agreed() const noexcept { return agreed_; }
  /// Digest of the tables that all agreed on; empty: no rows serve.
  const std::string& tables() const noexcept { return tables_; }
  /// Sets it, after which kernels that failed are tried again, and answers are noted anew. Requires: it differs.
  void set_tables(std::string digest);
  /// Forgets the answers, because others may be given now.
  void forget_answers();
  /// The tables that wait have changed.
  void note_tables() noexcept { ++news_; }

  /// Queues kernels to be compiled, of a call of this process or of another one; a candidate once until the tables
  /// change.
  void want(const WantedKernel& wanted, const std::vector<CompileTask>& tasks);
  void want_for_others(const WantedKernel& wanted, const std::vector<CompileTask>& tasks);
  bool has_seen(const WantedKernel& wanted) const { return seen_.contains(wanted); }
  bool has_work() const noexcept { return !work_.empty(); }
  /// The tasks of one candidate; none: nothing waits.
  std::vector<CompileTask> take_work();
  /// Notes a kernel that is in the cache, where it stays from now on.
  void note_compiled(const Binary& binary);
  void note_failure(const std::string& recipe, const std::string& why);
  /// Why a kernel that one of the tasks makes failed here; nothing if none did.
  std::optional<std::string> failure_of(std::span<const CompileTask> tasks) const;
  void note_answer(const ServedShape& answer);

  /// Makes a report of all that is noted. `settings`, `waiting`: as its members.
  ServingReport report(std::string settings, std::string waiting);
  /// Whether the last report says what the last exchanged one did not.
  bool has_news() const noexcept { return reported_ != exchanged_; }
  /// Whether a report was made that is not exchanged yet: what it says waits must still wait then.
  bool is_reported() const noexcept { return is_reported_; }
  /// Notes that the last report was exchanged. Returns a sentence for each shape that two ranks serve otherwise.
  std::vector<std::string> note_exchange(std::span<const ServingReport> reports);

 private:
  using Shape = std::pair<int64_t, std::string>;  ///< Units and problem.
  struct Announced {
    std::string candidate;
    size_t rank = 0;
  };

  std::optional<KernelCache> cache_;  ///< Empty if there is no folder.
  AgreedKernels agreed_;
  std::string tables_;
  std::map<std::string, std::string> compiled_;                  ///< Toolchain by recipe.
  std::map<std::string, std::string> failed_;                    ///< Reason by recipe.
  std::map<WantedKernel, std::vector<std::string>> own_wanted_;  ///< With the recipes.
  std::set<WantedKernel> seen_;
  std::deque<std::vector<CompileTask>> work_;
  std::map<Shape, std::string> answers_;
  std::vector<ServedShape> new_answers_;
  std::map<Shape, Announced> announced_;  ///< By any rank since the last change.
  uint64_t news_ = 1, reported_ = 0, exchanged_ = 0;
  size_t num_reported_answers_ = 0;
  bool is_reported_ = false;
};

}  // namespace attune
