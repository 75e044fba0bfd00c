// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/device_info.h"
#include "store/journal.h"

namespace attune {

/// Records the run of a measuring command in the journal: a RunBegin at construction, a RunEnd when end() is called, or
/// one with `failed` at destruction.
class JournalRun {
 public:
  /// `journal` must outlive this. `num_problems`: as in RunBegin. Throws like Journal::append().
  JournalRun(Journal& journal, const DeviceInfo& device, size_t num_problems = 0);
  /// Records in the journal that `--journal` names, else in the user's if it exists; it is not created for this,
  /// because timing needs no journal. If the user's cannot be written, the command continues without an entry, and a
  /// note on standard error gives the reason.
  JournalRun(const std::string& journal_option, const DeviceInfo& device);
  ~JournalRun();
  JournalRun(const JournalRun&) = delete;
  JournalRun& operator=(const JournalRun&) = delete;

  int64_t number() const noexcept { return number_; }  ///< For Journal::join_run().
  /// `ending`: `done`, `failed` or `interrupted`.
  void end(std::string_view ending, int exit_status, const Versions& versions = {});

 private:
  std::unique_ptr<Journal> own_;
  Journal* journal_ = nullptr;  ///< Null: nothing is recorded, or end() was called.
  int64_t number_ = 0;
};

}  // namespace attune
