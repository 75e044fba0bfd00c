// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/text.h"
#include "base/variable.h"
#include "campaign/online/online_run.h"
#include "campaign/online/unused_device.h"
#include "campaign/tune_method.h"
#include "cli/command.h"
#include "cli/flags/arguments.h"
#include "cli/flags/device_flags.h"
#include "cli/flags/value_checks.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "dispatch/online/online_queue.h"
#include "dispatch/online/online_tuning.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

struct OnlineCommandOptions {
  OnlineMethod method;
  bool background = false, retry = false, unused = false;
};

/// Detaches the process from its starter and lowers its priority. spawn() asks the kernel to kill it when the starting
/// thread ends; this process may instead finish its current shapes.
void leave_starter() {
  ::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
  constexpr int kNiceness = 10;
  static_cast<void>(::nice(kNiceness));
}

/// Redirects standard output and error to the log.
void write_to_log(const fs::path& log) {
  constexpr off_t kMaxBytes = 1 << 20;
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) fail(ErrorCode::io, "cannot open the log ({}): '{}'", std::strerror(errno), log.string());
  struct stat status {};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > kMaxBytes)
    static_cast<void>(!::ftruncate(file, 0));
  std::fflush(nullptr);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  ::close(file);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Keeps the order of the output.
}

/// Redirects the output to the log and begins it with a line of its own.
void begin_log(const OnlineQueue& queue, const DeviceInfo& device) {
  write_to_log(queue.log());
  print_line(stderr, fmt::format("-- {}, process {}, {} {}", utc_text("%Y-%m-%dT%H:%M:%SZ"), ::getpid(), device.id,
                                 device.key()));
}

/// Bytes of the application's device that tuning leaves to it. One GiB by default: PyTorch's allocator asks the driver
/// for blocks of 2 MiB to 1 GiB. Throws invalid_input.
uint64_t memory_reserve() {
  constexpr uint64_t kReserve = uint64_t{1} << 30;
  const char* const wanted = variable_or_null("ATTUNE_RESERVE_BYTES");
  if (wanted == nullptr) return kReserve;
  const auto number = parse_int(wanted);
  if (!number || *number < 0)
    fail(ErrorCode::invalid_input, "ATTUNE_RESERVE_BYTES expects a number of bytes, got '{}'", wanted);
  return static_cast<uint64_t>(*number);
}

/// Throws unavailable if a worker on the device would take memory that is kept for the application.
void check_memory(const DeviceInfo& device, uint64_t reserve) {
  const DeviceKind& kind = device_kind(device.kind);
  if (kind.free_bytes == nullptr) return;
  uint64_t free = 0;
  try {
    free = kind.free_bytes(device.id);
  } catch (const Error&) {
    return;  // Unknown: the worker asks the driver.
  }
  if (free >= reserve + kind.idle_worker_bytes) return;
  fail(ErrorCode::unavailable,
       "{} has {} MiB free, and tuning needs {} MiB beside the {} MiB kept for the application (ATTUNE_RESERVE_BYTES)",
       device.id, free >> 20, kind.idle_worker_bytes >> 20, reserve >> 20);
}

int run_online(OnlineCommandOptions options) {
  const pid_t starter = ::getppid();
  if (options.background) leave_starter();
  TuneOptions checked;
  checked.timeout = options.method.timeout;
  static_cast<void>(tuner_options(checked));  // Refuses invalid options before a folder is created.
  check_home_location();
  const DeviceInfo device = find_device(options.method.device);
  const fs::path state = fs::absolute(home_location().path);
  options.method.device.ids = device.id;
  const OnlineQueue queue(state, device);
  UnusedDevice used{device, nullptr};
  std::string why_none;
  options.method.overlay = overlay_location().path;
  OnlineCalls calls;
  calls.tune = [&](const FamilySpec& family, std::span<const Problem> problems) {
    return tune_into_overlay(options.method, family, problems);
  };
  calls.report = [](const std::string& line) { print_line(stderr, line); };
  if (options.background)
    calls.is_over = [starter] { return ::getppid() != starter; };  // The starter ended without stopping this process.
  calls.begin = [&] {
    DeviceChoice& chosen = options.method.device;
    try {
      if (options.unused) {
        used = find_unused(device, state);
        chosen.ids = used.info.id;
      } else if (device_kind(device.kind).idle_worker_bytes > 0) {  // The device has memory of its own.
        chosen.memory_reserve = memory_reserve();
        check_memory(device, chosen.memory_reserve);
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unavailable) why_none = error.what();
      throw;
    }
    if (options.background) begin_log(queue, used.info);
  };
  OnlineEnd end;
  try {
    end = empty_queue(queue, device, calls, options.retry);
  } catch (const Error&) {
    if (why_none.empty()) throw;
    print_line(stderr, why_none);
    return OnlineTuning::kNoDevice;
  }
  if (!end.had_turn && !options.background)
    print_line(stderr,
               fmt::format("another process already tunes the queued shapes of {}, so this one ends", device.id));
  return end.status == 0 && end.is_waiting && options.background ? OnlineTuning::kWaits : end.status;
}

void add_online_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<OnlineCommandOptions>();
  add_device_flags(command, options->method.device,
                   "Device whose queued shapes are tuned: by default the first GPU, else cpu:0");
  command
      .add_option("--max-trials", options->method.max_trials,
                  "Number of candidates to try per solver; what one that is behind leaves, the others may try")
      ->capture_default_str()
      ->check(positive_number_error);
  command
      .add_option("--timeout", options->method.timeout,
                  "Time limit for one shape; a shape that takes longer is given up")
      ->capture_default_str();
  command
      .add_option("--quiet-wait", options->method.quiet_wait_s,
                  "Seconds to wait at the start until other programs are idle; a server never is")
      ->capture_default_str()
      ->check(amount_error);
  command.add_flag("--unused", options->unused,
                   "Tune on another device of equal fingerprint that nobody uses; exit status 75 if there is none");
  command.add_flag("--retry", options->retry, "Also tune shapes that were given up before");
  command.add_flag("--background", options->background,
                   "Run as an application starts it: with low priority, all output in online/log.txt of the state "
                   "folder, and an exit when the application has ended");
  command.footer(
      "Winners go to the tables in overlay/ of the state folder, measurements to the journal (see `attune paths`). "
      "Shapes that\nno kernel wins and shapes that take too long are given up; attempts.csv beside the queue has the "
      "reasons. Shapes that\nlack memory stay in the queue: a later run tries them again, after 4 minutes at first and "
      "4 hours at last.\n  attune online --device cpu:0 --retry");
  command.callback([options, &chosen] { chosen = [options] { return run_online(*options); }; });
}

}  // namespace

Command online_command() {
  return {CommandGroup::run_time, "online",
          "Tune the shapes that applications with ATTUNE_ONLINE_TUNING=1 have missed, then exit", add_online_flags};
}

}  // namespace attune
