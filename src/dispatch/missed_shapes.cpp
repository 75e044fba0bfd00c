// SPDX-License-Identifier: MIT
// Online tuning in the dispatcher's thread: another program tunes the shapes that no row serves.
#include <fmt/format.h>

#include <utility>

#include "base/locations.h"
#include "dispatch/capture/capture_files.h"
#include "dispatch/dispatch_state.h"
#include "dispatch/table/key_problem.h"
#include "dispatch/threads/library_use.h"
#include "ops/op.h"

namespace attune {

/// Called before the dispatcher's thread starts.
void Dispatcher::State::begin_online_tuning() {
  OnlineProgram program = online_program();
  std::filesystem::path home = path_if_any(home_location);
  try {
    if (home.empty()) program.why_not = "there is no home folder, set ATTUNE_HOME";
    if (!home.empty()) check_home_location();
  } catch (const Error& error) {
    program.why_not = error.what();
  }
  if (!program.why_not.empty())
    log_.say("online tuning is off: " + program.why_not);
  else
    online_ = std::make_unique<OnlineTuning>(OnlineOptions{
        .program = std::move(program.path), .state = std::move(home), .device = first_device().maker.device()});
}

/// Passes missed shapes to online tuning, except those for which its results would not be used.
void Dispatcher::State::tune_missed() {
  std::vector<Problem> missed;
  {
    const std::lock_guard lock(making_);
    for (const LookupRequest& request : std::exchange(missed_, {})) {
      const GemmKey& key = request.key;
      const auto op = static_cast<size_t>(key.op);
      const FamilySpec& family = codes[op].family();
      const auto problem = problem_of(codes[op], key);
      const Op* known = find_op(family.op);
      if (!problem || known == nullptr) continue;
      if (request.units != first_device().units()) {
        log_.say(
            fmt::format("shapes that are called under another thread limit than the first, {}, are not tuned online",
                        first_device().units()));
        continue;
      }
      const Snapshot::Tables& tables = first_device().now.load()->tables[op];
      const uint32_t own = tables.rows->find(codes[op].hash(key));
      const RowIndex::Row* row = own == 0 ? nullptr : &tables.rows->row(own);
      if (options.tables.contains(std::string(family.op)) || places_[op].strict)
        log_.say(
            fmt::format("{} is not tuned online: its tables are given explicitly and replace all others", family.op));
      else if (row != nullptr && tables.rows->files()[row->file].origin == Origin::variable)
        log_.say(fmt::format("{} is not tuned online: an unusable row has precedence over all others, {}",
                             problem->key(), tables.rows->where(*row)));
      else
        missed.push_back(known->normalise(*problem, first_device().maker.device()));
    }
  }
  const LibraryUse use;  // Starting a process takes locks that a child of fork() must find open.
  for (const Problem& problem : missed) online_->want(problem);
  for (const std::string& sentence : online_->poll()) log_.say(sentence);
}

}  // namespace attune
