// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "base/blocked_write_signals.h"
#include "base/locations.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/variable.h"
#include "compile/cache_limit.h"
#include "device/environment_threads.h"
#include "dispatch/table/prediction.h"
#include "dispatch/table/wanted_requirement.h"
#include "dispatch/threads/fork_guard.h"
#include "dispatch/threads/library_use.h"

namespace attune {
namespace {

/// Prints one line: an invalid variable must not end the application.
void complain(std::string_view sentence) {
  constexpr size_t kMaxCharacters = 2000;
  const std::string line = fmt::format("attune: {}\n", shown(sentence, kMaxCharacters));
  const BlockedWriteSignals blocked;
  [[maybe_unused]] const size_t written = std::fwrite(line.data(), 1, line.size(), stderr);
}

/// The first of several variables that is set and not empty; the older program's name comes last.
struct Variable {
  const char* name = nullptr;
  std::string_view value;

  Variable(std::initializer_list<const char*> names) {
    for (const char* each : names) {
      const char* found = variable_or_null(each);
      if (found == nullptr) continue;
      name = each;
      value = found;
      return;
    }
  }
};

bool is_on(const Variable& variable) {
  if (variable.value.empty() || variable.value == "0") return false;
  if (variable.value == "1" || variable.value == "true") return true;
  complain(fmt::format("{} expects 0 or 1, using 0: '{}'", variable.name, variable.value));
  return false;
}

CompileMode compile_mode() {
  const Variable wanted{"ATTUNE_BUILD"};
  if (wanted.value == "never") return CompileMode::never;
  if (wanted.value == "blocking") return CompileMode::blocking;
  if (!wanted.value.empty() && wanted.value != "background")
    complain(fmt::format("ATTUNE_BUILD expects never, background or blocking, using background: '{}'", wanted.value));
  return CompileMode::background;
}

std::chrono::milliseconds graph_wait() {
  constexpr double kMaxSeconds = 86400;
  const Variable wanted{"ATTUNE_GRAPH_WAIT_S"};
  const auto default_wait = DispatcherOptions().graph_wait;
  if (wanted.value.empty()) return default_wait;
  if (const auto number = parse_double(wanted.value); number && *number >= 0 && *number <= kMaxSeconds)
    return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(*number));
  complain(fmt::format("ATTUNE_GRAPH_WAIT_S expects seconds from 0 to {}, using {}: '{}'", kMaxSeconds,
                       default_wait / std::chrono::seconds(1), wanted.value));
  return default_wait;
}

/// The older variable has no other word for online tuning, and means that on the application's own GPU.
void set_online_tuning(DispatcherOptions& options) {
  const Variable wanted{"ATTUNE_ONLINE_TUNING", "HIP_ONLINE_TUNING"};
  const bool is_older = wanted.name != nullptr && std::string_view(wanted.name) != "ATTUNE_ONLINE_TUNING";
  options.shares_device = is_older || wanted.value == "shared";
  options.online_tuning = wanted.value == "shared" || is_on(wanted);
}

uint64_t max_plan_bytes() {
  const Variable wanted{"ATTUNE_MAX_PLAN_BYTES"};
  const uint64_t default_bytes = DispatcherOptions().max_plan_bytes;
  if (wanted.value.empty()) return default_bytes;
  if (const auto number = parse_int(wanted.value); number && *number >= 0) return static_cast<uint64_t>(*number);
  complain(fmt::format("ATTUNE_MAX_PLAN_BYTES expects a number of bytes, using {}: '{}'", default_bytes, wanted.value));
  return default_bytes;
}

DispatcherOptions options_of_environment() {
  DispatcherOptions options;
  options.compile_mode = compile_mode();
  options.graph_wait = graph_wait();
  options.max_plan_bytes = max_plan_bytes();
  set_online_tuning(options);
  options.log_hits = is_on({"ATTUNE_LOG_TUNED_CONFIG", "AITER_LOG_TUNED_CONFIG"});
  options.require = requirement_wanted();
  if (options.online_tuning && options.require != Requirement::none) {
    complain(
        "ATTUNE_ONLINE_TUNING has no use with ATTUNE_REQUIRE, as it finds rows that state no requirement; it is off");
    options.online_tuning = false;
  }
  const MaxRegret regret = max_regret_wanted();
  options.max_regret = regret.share;
  if (!regret.error.empty()) complain(regret.error);
  if (const auto stated = environment_threads(); !stated.error.empty()) complain(stated.error);
  if (const auto limit = cache_limit(0); !limit.error.empty()) complain(limit.error);
  if (const Variable device{"ATTUNE_DEVICE"}; !device.value.empty()) options.device = device.value;
  if (!is_on({"ATTUNE_TUNE_GEMM", "AITER_TUNE_GEMM"})) return options;
  try {
    check_captures_location();
    options.capture = captures_location().path;
  } catch (const Error& error) {
    complain(fmt::format("shapes are not captured: {}", error.what()));
  }
  return options;
}

/// Uses on_exit() and not atexit(), which shared/no_destructors.cpp disables. The last registration runs first; the
/// others find nothing to do.
void finish_at_exit(Dispatcher* dispatcher) {
  ::on_exit(
      [](int, void* made) {
        try {
          static_cast<Dispatcher*>(made)->finish();
        } catch (const std::exception& error) {
          complain(error.what());
        }
      },
      dispatcher);
}

/// A dispatcher of the process's own, and those that were made before it. Never destroyed, because other threads may
/// use it while the process ends.
struct OwnDispatcher {
  const std::string device;
  Dispatcher& dispatcher;
  const OwnDispatcher* const former;
};

// These are no statics with an initialiser: a child of fork() would wait without end for an initialisation begun by a
// thread that the child lacks.
constinit std::atomic<const OwnDispatcher*> newest{nullptr};
constinit std::atomic<Dispatcher*> of_environment{nullptr};
constinit Mutex making;

Dispatcher* find_own(std::string_view device) noexcept {
  for (const auto* one = newest.load(std::memory_order_acquire); one != nullptr; one = one->former) {
    if (one->device == device) return &one->dispatcher;
  }
  return nullptr;
}

/// Returns the dispatcher of a device, made if there is none.
Dispatcher& own(const DispatcherOptions& options) ATTUNE_REQUIRES(making) {
  if (Dispatcher* const there = find_own(options.device)) return *there;
  auto* const made = new Dispatcher(options);
  newest = new OwnDispatcher{options.device, *made, newest};
  finish_at_exit(made);
  // A library creates static objects at its first use; exit functions run in reverse order, so these are registered
  // again.
  after_library_use = [] {
    for (const OwnDispatcher* one = newest; one != nullptr; one = one->former) finish_at_exit(&one->dispatcher);
  };
  return *made;
}

/// Options of all of the process's own dispatchers, so that a wrong variable is reported once. A static is safe here: a
/// fork() waits for the LibraryUse of whoever makes one.
const DispatcherOptions& own_options() ATTUNE_REQUIRES(making) {
  static const auto& options = *new DispatcherOptions(options_of_environment());
  return options;
}

Dispatcher& own_of_environment() ATTUNE_REQUIRES(making) {
  DispatcherOptions options = own_options();
  const std::string default_device = DispatcherOptions().device;
  try {
    return own(options);
  } catch (const Error& error) {
    if (options.device == default_device) throw;
    complain(fmt::format("cannot use ATTUNE_DEVICE, using {}: {}", default_device, error.what()));
  }
  options.device = default_device;
  return own(options);
}

}  // namespace

Dispatcher& Dispatcher::global() {
  if (Dispatcher* const made = of_environment.load(std::memory_order_acquire)) return *made;
  ForkGuard::prepare();
  const LibraryUse use;
  const Lock lock(making);
  if (of_environment == nullptr) of_environment = &own_of_environment();
  return *of_environment;
}

Dispatcher& Dispatcher::global(std::string_view device) {
  if (Dispatcher* const made = find_own(device)) return *made;
  ForkGuard::prepare();
  const LibraryUse use;
  const Lock lock(making);
  DispatcherOptions options = own_options();
  options.device = device;
  return own(options);
}

std::vector<SolverCandidates> candidates(std::string_view problem, const CandidateRange& range) {
  return Dispatcher::global().candidates(problem, range);
}

void run(std::string_view problem, std::string_view candidate, std::span<void* const> operands, void* stream) {
  Dispatcher::global().run_candidate(problem, candidate, operands, stream);
}

}  // namespace attune
