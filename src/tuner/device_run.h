// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tuner/problem_run.h"
#include "tuner/tuning_context.h"
#include "tuner/work_source.h"

namespace attune {

/// The work of one device in one call of Tuner::run(): problems of a source, several open at a time. Used by the thread
/// of its device.
class DeviceRun {
 public:
  /// State that the runs of all devices share.
  struct SharedState {
    WorkSource& source;
    size_t num_devices;
    std::once_flag has_begun;  ///< Guards before_measuring.
  };
  /// Sets the stop conditions of the context. The arguments must outlive this.
  DeviceRun(TuningContext& context, SharedState& shared);

  /// Returns why problems stayed with the source; an empty text if none did. Throws device when the device is lost, and
  /// errors of the journal.
  std::string run();
  /// Returns the active problems and the one taken in advance to the source for other devices, because the device was
  /// lost.
  void give_back();

 private:
  struct Active {
    ProblemId id = 0;
    std::unique_ptr<ProblemRun> run;
    double share_s = 0;    ///< Share of the budget.
    bool is_part = false;  ///< A part of a composite solver's candidates for another active run.
  };

  size_t num_open() const;
  double left_s() const;
  Active* next_ready();
  Active* next_compiling();
  template <typename Condition>
  Active* first_of(const Condition& condition);
  Active* next_without_worker();
  bool may_open_ahead();
  void await_compilers(Active& active);
  void renew_worker(Active& active);
  bool begin_next();
  void take_ahead();
  void give_back_next();
  bool begin_part();
  void begin_measuring();
  void step(Active& active);
  void finish(Active& active);
  void note_part(const TuneResult& result);
  void hold_to_budget(Active& active);
  void end_all(const std::string& reason, void (ProblemRun::*end)(const std::string&));
  void abandon_lost();
  void wait_for_active();

  TuningContext& context_;
  WorkSource& source_;
  double num_devices_;
  size_t max_open_;  ///< Problems open at a time: others race while one waits for its confirmation.
  std::once_flag& has_begun_;
  double began_s_;
  std::list<Active> active_;
  std::optional<WorkSource::Task> next_;  ///< Taken in advance.
};

}  // namespace attune
