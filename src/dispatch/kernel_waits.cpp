// SPDX-License-Identifier: MIT
// Whether calls on captured streams wait for the kernel of their row, and what is said when it does not come.
#include <fmt/format.h>

#include "dispatch/captured_calls.h"
#include "dispatch/plan_service.h"
#include "dispatch/table/key_problem.h"
#include "dispatch/threads/read_guard.h"

namespace attune {

/// Whether the dispatcher's thread may have the row's kernel ready before a wait of this capture ends.
bool PlanService::may_come(const Resolution& made, uint64_t capture) const {
  return capture != 0 && made.hit.is_stand_in && !made.missing.empty() && captured_.may_wait(capture) && !held_ &&
         options_.compile_mode == CompileMode::background && has_thread_ && !stop_ && !is_in_child();
}

/// Whether a stand-in is still the answer to a request. No lock.
bool PlanService::is_waited_for(const LookupRequest& request) const noexcept {
  if (stop_) return false;
  const ReadGuard reading;
  const CachedAnswer* served = device_of(request).now.load(std::memory_order_seq_cst)->served.find(hash_of(request));
  return served != nullptr && served->hit.is_stand_in;
}

std::string PlanService::why_not_compiled(const Resolution& made) const {
  if (made.hit.kernel_failed) return made.compiler_error;
  if (options_.compile_mode == CompileMode::never) return "no kernel is compiled with ATTUNE_BUILD=never";
  if (held_) return "the processes of its group have not agreed on its kernel yet";
  if (is_in_child()) return "a child of fork() compiles no kernels";
  if (!has_thread_) return "the dispatcher has no thread that compiles kernels";
  if (stop_) return "a dispatcher that has finished compiles no kernels";
  if (captured_.max_wait().count() <= 0)
    return "its kernel is not compiled yet, and ATTUNE_GRAPH_WAIT_S=0 waits for none";
  return fmt::format("its kernel was not compiled within {:g} s (ATTUNE_GRAPH_WAIT_S)",
                     std::chrono::duration<double>(captured_.max_wait()).count());
}

/// Counts a launch that a graph keeps for its life although the row names another kernel, and says so once per shape.
void PlanService::note_stand_in(const LookupRequest& request, const Resolution& made) {
  if (made.hit.plan == nullptr || (!made.hit.is_stand_in && !made.hit.kernel_failed)) return;
  if (!captured_.add_stand_in(hash_of(request))) return;
  const auto problem = problem_of(codes(request.key), request.key);
  const RowIndex& rows = rows_of(*device_of(request).now.load(), request.key);
  const RowIndex::Row& row = rows.row(made.lacking_row);
  // Exempt from the bound on lines: the gain is lost for the life of the graph.
  log_.say_always(fmt::format(
      "{}: a captured graph keeps the default kernel of {}, because {}; before the capture, run `{}`", rows.where(row),
      problem ? problem->key() : "a shape", why_not_compiled(made), build_command(rows.files()[row.file].file)));
}

/// The command that compiles all kernels of a table for this device.
std::string PlanService::build_command(const std::filesystem::path& table) const {
  return fmt::format("attune kernels build --table {} --devices {}", table.string(), first().info.id);
}

bool PlanService::count_missing(MissingKernels& missing, const KernelCompilations& compilations) {
  constexpr int kRowsAtOnce = 16;
  if (!wants_missing_) return false;
  ThreadLimitedDevice& device = present_device();
  if (!missing.has_begun()) {
    std::vector<MissingKernels::TableFile> tables;
    for (TableInUse& one : this->tables()) {
      if (one.is_there) tables.emplace_back(std::move(one.file), std::move(one.op));
    }
    missing.begin(tables, device.info);
  }
  for (int i = 0; i < kRowsAtOnce; ++i) {
    const Lock lock(guard_);
    const auto exemption = device.maker.exempt();
    if (missing.look_at_next(device.maker, compilations.begun())) continue;
    wants_missing_ = false;
    for (const auto& [table, number] : missing.many())
      log_.say_always(fmt::format("the cache lacks {} kernels of {}, `{}` compiles them all", number, table.string(),
                                  build_command(table)));
    return false;
  }
  return true;
}

}  // namespace attune
