// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/device_info.h"
#include "store/journal.h"

namespace attune {

/// The entries that a verb which measures leaves in the journal about itself: a RunBegin when this is made, a RunEnd
/// when end() is called or, as `failed`, when this goes away.
class JournalRun {
 public:
  /// `journal` outlives this. Throws as Journal::append().
  JournalRun(Journal& journal, const DeviceInfo& device);
  /// The same in the journal that `--journal` names, else the user's if there is one: what is timed needs no journal,
  /// so none is made for it. Where the user's cannot be written the verb goes on without an entry, and a note on
  /// standard error says why.
  JournalRun(const std::string& journal_option, const DeviceInfo& device);
  ~JournalRun();
  JournalRun(const JournalRun&) = delete;
  JournalRun& operator=(const JournalRun&) = delete;

  int64_t number() const noexcept { return number_; }  ///< For Journal::join_run().
  /// `ending`: `done`, `failed` or `interrupted`.
  void end(std::string_view ending, int exit_status, const Versions& versions = {});

 private:
  std::unique_ptr<Journal> own_;
  Journal* journal_ = nullptr;  ///< Null: nothing is recorded, or the end is.
  int64_t number_ = 0;
};

}  // namespace attune
