// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "measure/announcer.h"
#include "measure/executor.h"

namespace attune {

/// A supervisor's memory of its worker: the open problems with their admitted candidates, which a fresh worker is given
/// again; the losses; and the deaths of workers that each candidate is blamed for. Data only.
class OpenProblems {
 public:
  struct OpenProblem {
    request::Open opened;
    /// The request that opens it in another worker, for the candidates that are admitted.
    request::Open reopening() const {
      std::vector<Candidate> candidates;
      for (const auto& [slot, admission] : slots) candidates.push_back(admission.candidate);
      return {opened.id, opened.problem, opened.protocol, std::move(candidates)};
    }
    std::map<Slot, Admission> slots;  ///< How each admitted candidate is restored: not verified again.
    Milliseconds longest_step{0};     ///< Limit of a step without one of its own, see step_limit().
  };

  const std::map<ProblemId, OpenProblem>& all() const noexcept { return open_; }
  /// The problem in which a candidate is admitted; nothing if it is not.
  std::optional<ProblemId> home_of(Slot slot) const {
    for (const auto& [id, one] : open_) {
      if (one.slots.contains(slot)) return id;
    }
    return std::nullopt;
  }

  void open(const request::Open& open, Milliseconds longest_step = {}) { open_[open.id] = {open, {}, longest_step}; }
  /// Requires: the problem is open.
  void admit(const request::Admit& admit, const AdmitAnswer& admitted) {
    Admission again = admit.admission;
    again.verify = again.twice = false;
    again.output = admitted.output;
    open_.at(admit.id).slots.insert_or_assign(admit.slot, std::move(again));
  }
  /// Forgets all about a candidate.
  void drop(Slot slot) {
    for (auto& [id, one] : open_) one.slots.erase(slot);
    std::erase_if(lost_, [&](const Loss& loss) { return loss.slot == slot; });
    deaths_.erase(slot);
    survivals_.erase(slot);
  }
  /// Forgets all about a problem and its candidates.
  void close(ProblemId id) {
    const auto closed = open_.find(id);
    while (closed != open_.end() && !closed->second.slots.empty()) drop(closed->second.slots.begin()->first);
    open_.erase(id);
    std::erase_if(lost_, [&](const Loss& loss) { return loss.problem == id; });
  }

  /// Takes out a candidate that was not restored or is disqualified. Does nothing if it is not admitted.
  void lose(Slot slot, const Outcome& outcome) {
    const auto home = home_of(slot);
    if (!home) return;
    open_.at(*home).slots.erase(slot);
    lost_.push_back({*home, slot, outcome});
    acquit(slot);
  }
  /// Takes out a problem that was not restored, with its candidates. Requires: it is open.
  void lose_all(ProblemId id, const Outcome& outcome) {
    while (!open_.at(id).slots.empty()) lose(open_.at(id).slots.begin()->first, outcome);
    lost_.push_back({id, 0, outcome});
    open_.erase(id);
  }
  /// Why a problem was lost, until it is closed; null if it was not.
  const Outcome* why_lost(ProblemId id) const {
    const auto is_it = [&](const Loss& loss) { return loss.problem == id && loss.slot == 0; };
    const auto found = std::find_if(lost_.begin(), lost_.end(), is_it);
    return found == lost_.end() ? nullptr : &found->outcome;
  }
  /// Moves the lost slots of a schedule to `failed`, so that each is told once.
  void tell_lost(std::span<const Turn> schedule, std::vector<std::pair<Slot, Outcome>>& failed) {
    const auto told = std::stable_partition(lost_.begin(), lost_.end(), [&](const Loss& loss) {
      return std::none_of(schedule.begin(), schedule.end(), [&](const Turn& turn) { return turn.slot == loss.slot; });
    });
    for (auto loss = told; loss != lost_.end(); ++loss) failed.emplace_back(loss->slot, std::move(loss->outcome));
    lost_.erase(told, lost_.end());
  }

  /// Counts a death that is blamed on a candidate, admitted or not, or on a library (kLibrarySlots). True from the
  /// second on.
  bool blame(Slot slot) { return ++deaths_[slot] >= kMaxDeaths; }
  bool is_blamed(Slot slot) const { return deaths_.contains(slot); }
  void acquit(Slot slot) { deaths_.erase(slot); }
  /// Acquits a candidate that survived its turns alone. True from the second time on.
  bool acquit_survivor(Slot slot) {
    acquit(slot);
    return ++survivals_[slot] >= kMaxDeaths;
  }
  /// Takes out a guilty candidate. The others are acquitted: it may have caused their deaths, by a thread that it left
  /// behind or memory that it overwrote.
  void disqualify(Slot slot, const Outcome& outcome) {
    std::erase_if(deaths_, [&](const auto& one) { return one.first < kLibrarySlots && one.first != slot; });
    lose(slot, outcome);
  }

 private:
  static constexpr uint32_t kMaxDeaths = 2;  // of one candidate
  struct Loss {
    ProblemId problem;
    Slot slot;  ///< 0: the problem itself.
    Outcome outcome;
  };

  std::map<ProblemId, OpenProblem> open_;
  std::vector<Loss> lost_;
  std::map<Slot, uint32_t> deaths_, survivals_;
};

}  // namespace attune
