// SPDX-License-Identifier: MIT
#include "campaign/devices/open_devices.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "base/machine.h"
#include "base/text.h"
#include "compile/cache_limit.h"
#include "core/device_lost.h"
#include "core/turn.h"
#include "device/core_partition.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/quiet.h"
#include "search/prune.h"
#include "solver/registry.h"
#include "worker/sharing/shared_device.h"
#include "worker/worker_executor.h"
#include "worker/worker_options.h"

namespace attune {

namespace {

/// Checks the stack limit: libraries keep large arrays on the stack (libxsmm 130 KiB) and crash without room.
void check_stack() {
  constexpr rlim_t kMinBytes = 512 << 10;
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kMinBytes) return;
  fail(ErrorCode::unavailable, "the stack is too small for the libraries, raise it with `ulimit -s 8192`: {} KiB",
       stack.rlim_cur >> 10);
}

/// One of the devices in a list.
struct Part {
  std::string name;        ///< `cpu:1`
  std::string device;      ///< The device that its worker opens: `cpu:0`, the whole of this part.
  std::vector<int> cores;  ///< Empty: all.
  uint32_t num_workers = 1;
  uint64_t memory_reserve = 0;
  Toolchains stored_toolchains;
  std::shared_ptr<SharedDevice> shared;  ///< Null: one worker alone.
};

/// Returns cores that lie close together for a limit below this process's own; else an empty list, which means all.
std::vector<int> close_cores(const DeviceChoice& devices) {
  const int64_t threads = thread_limit(devices);
  if (threads == thread_limit({})) return {};
  const auto limit = static_cast<size_t>(threads);
  std::vector<int> cores = partition_cores(allowed_cores().size() / limit).front();
  cores.resize(limit);
  return cores;
}

/// `cpu:` of `cpu:1`.
std::string prefix_of(const std::string& name) { return name.substr(0, name.find(':')) + ':'; }
std::string first_of(const std::string& name) { return prefix_of(name) + '0'; }

/// Returns the kind of such a device. Throws invalid_input if this machine has none.
const DeviceKind& kind_of(const std::string& name) {
  const DeviceKind* const kind = find_device_kind(name);
  return kind != nullptr ? *kind : device_kind(find_device({.ids = name}).kind);
}

/// Throws invalid_input for an unknown device, for one that is named twice, and for one that differs from the first: a
/// row of one must be valid for all.
void check_equal(std::span<const Part> parts) {
  const DeviceInfo first = find_device({.ids = parts.front().name});
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].name == parts[i - 1].name)
      fail(ErrorCode::invalid_input, "a device is named twice: {}", parts[i].name);
    const DeviceInfo other = find_device({.ids = parts[i].name});
    if (other.fingerprint() != first.fingerprint())
      fail(ErrorCode::invalid_input, "the devices differ, so a row of one is no other's; tune {} and {} apart",
           first.id, other.id);
  }
}

/// The parts or devices that a choice names. Throws invalid_input.
std::vector<Part> parts_of(const DeviceChoice& devices) {
  const std::string& list = devices.ids;
  std::vector<Part> parts;
  for (const auto id : split(list, ',')) parts.push_back({std::string(trim(id)), std::string(trim(id)), {}});
  if (parts.size() == 1) {
    if (units_are_cores(parts.front().name)) parts.front().cores = close_cores(devices);
    return parts;
  }
  const auto rank = [](const Part& part) { return std::pair(part.name.size(), part.name); };  // x:2 before x:10.
  std::sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) { return rank(a) < rank(b); });
  const DeviceNumbers numbers = kind_of(parts.front().name).numbers;
  if (numbers == DeviceNumbers::devices) {
    check_equal(parts);
    return parts;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].device = first_of(parts.front().name);
    if (parts[i].name == fmt::format("{}{}", prefix_of(parts.front().name), i)) continue;
    fail(ErrorCode::invalid_input,
         "several devices must be parts of one kind, numbered from 0, as in --devices cpu:0,cpu:1; got '{}'", list);
  }
  if (numbers == DeviceNumbers::copies) return parts;
  const auto cores = partition_cores(parts.size());
  const auto limit = static_cast<size_t>(thread_limit(devices));
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].cores = cores[i];
    if (parts[i].cores.size() > limit) parts[i].cores.resize(limit);
  }
  return parts;
}

/// The number of workers of each device. Throws invalid_input.
uint32_t workers_of_each(const std::string& device, Isolation isolation, uint32_t asked) {
  const DeviceKind& kind = kind_of(device);
  if (isolation == Isolation::none) {
    if (asked > 1) fail(ErrorCode::invalid_input, "several workers need a process each, omit --isolation none");
    return 1;
  }
  if (asked > kind.max_workers) {
    fail(ErrorCode::invalid_input, "--workers {}: {} has {}", asked, device,
         kind.max_workers == 1 ? "one, because what others prepare would take its cores from what is measured"
                               : fmt::format("at most {}", kind.max_workers));
  }
  return asked == 0 ? kind.default_workers : asked;
}

std::unique_ptr<WorkerExecutor> open_worker(const Part& part, Strays* strays, const std::function<bool()>& stop) {
  WorkerOptions options = worker_options(part.device, strays);
  options.shared = part.shared;
  options.device_memory_share = 1.0 / part.num_workers;
  options.device_memory_reserve = part.memory_reserve;
  options.stored_toolchains = part.stored_toolchains;
  if (part.device != part.name) options.name = part.name;
  options.stopped = stop;
  if (!part.cores.empty()) options.cores.assign(part.cores.begin(), part.cores.end());
  return std::make_unique<WorkerExecutor>(std::move(options));
}

/// Like above for one of several. The error for a device that does not work lists the others.
std::unique_ptr<WorkerExecutor> open_worker_of(std::span<const Part> parts, size_t i, Strays* strays,
                                               const std::function<bool()>& stop) {
  try {
    return open_worker(parts[i], strays, stop);
  } catch (const DeviceLost& error) {
    if (parts.size() == 1) throw;
    std::vector<std::string> others;
    for (const Part& other : parts) {
      if (other.name != parts[i].name) others.push_back(other.name);
    }
    throw DeviceLost(fmt::format("{}; without it: --devices {}", error.what(), join(others, ",")));
  }
}

uint64_t max_cache_bytes(const KernelOptions& options) {
  if (options.max_cache_bytes) return *options.max_cache_bytes;
  const CacheLimit limit = cache_limit(kProgramCacheBytes);
  if (!limit.error.empty()) fail(ErrorCode::invalid_input, "{}", limit.error);
  return limit.bytes;
}

}  // namespace

std::filesystem::path kernel_cache_folder(const KernelOptions& options) {
  if (options.cache.empty())
    check_cache_location();
  else
    check_output_folder(options.cache);
  const auto folder = options.cache.empty() ? cache_location().path : std::filesystem::path(options.cache);
  return folder.empty() ? folder : std::filesystem::absolute(folder);
}

std::unique_ptr<Kernels> open_kernels(const DeviceInfo& device, const KernelOptions& options, size_t num_jobs,
                                      std::shared_ptr<SharedCompilations> shared) {
  PoolOptions pool{.jobs = options.jobs, .deadline = milliseconds_of(options.deadline_s), .keep = options.keep};
  pool.stored_toolchains = options.stored_toolchains;
  if (pool.jobs == 0) pool.jobs = static_cast<uint32_t>(num_jobs);
  pool.shared = std::move(shared);
  // The running executable, even if its file has been replaced since.
  pool.helper = {.arguments = {"/proc/self/exe", "compile-worker"},
                 .environment = worker_options(device.kind, nullptr).environment};
  return std::make_unique<Kernels>(registry(), device, kernel_cache_folder(options), std::move(pool),
                                   max_cache_bytes(options));
}

std::string ids_to_open(const DeviceChoice& devices, Isolation isolation, std::span<const std::string> architectures) {
  // Notes explain why the CPU is used, for example because a GPU's driver is broken.
  if (devices.ids.empty() && devices.threads == 0) print_notes(device_notices());
  const bool is_one = devices.ids.empty() && isolation == Isolation::none;
  return is_one ? device_id(devices, architectures) : device_ids(devices, architectures);
}

std::vector<Environment> open_environments(const DeviceChoice& devices, Isolation isolation,
                                           const KernelOptions& kernels, uint32_t workers,
                                           const std::function<bool()>& stop) {
  std::vector<Part> parts = parts_of({.ids = ids_to_open(devices, isolation), .threads = devices.threads});
  // A device that is opened in this process binds threads to cores. The process then seems to have fewer.
  const std::vector<DeviceInfo> here = list_devices(parts.front().name);
  if (parts.size() > 1 && isolation == Isolation::none)
    fail(ErrorCode::invalid_input, "several devices need a process each, omit --isolation none");
  const uint32_t num_workers = workers_of_each(parts.front().name, isolation, workers);
  // The modules' load variables must be set before any thread starts.
  const Registry& solvers = registry();
  print_notes(solvers.notices());
  kernel_cache_folder(kernels);  // Before a device is opened.
  max_cache_bytes(kernels);
  if (units_are_cores(parts.front().name)) check_stack();
  const auto strays = isolation == Isolation::process ? std::make_shared<Strays>() : nullptr;
  const auto compilations = std::make_shared<SharedCompilations>(kernels.jobs);
  std::vector<Environment> all;
  for (Part& part : parts) {
    part.num_workers = num_workers;
    part.memory_reserve = devices.memory_reserve;
    part.stored_toolchains = kernels.stored_toolchains;
    if (num_workers > 1) part.shared = std::make_shared<SharedDevice>();
  }
  for (size_t i = 0; i < parts.size() * num_workers; ++i) {
    const Part& part = parts[i / num_workers];
    Environment& one = all.emplace_back();
    if (isolation == Isolation::process) {
      one.strays = strays;
      auto worker = open_worker_of(parts, i / num_workers, strays.get(), stop);
      one.worker = worker.get();
      one.executor = std::move(worker);
    } else {
      one.opened = open_device(part.name, devices.threads);
      auto local = std::make_unique<LocalExecutor>(*one.opened, solvers);
      local->set_stored_toolchains(kernels.stored_toolchains);
      one.executor = std::move(local);
    }
    one.kernels = open_kernels(one.device(), kernels, part.cores.size(), compilations);
    one.cores = part.cores;
    one.flags = device_flags(here, one.device().key());
  }
  return all;
}

Environment open_environment(const DeviceChoice& devices, Isolation isolation, const KernelOptions& kernels,
                             const std::function<bool()>& stop) {
  check_is_one_device(devices);
  const DeviceChoice one{
      .ids = device_id(devices), .threads = devices.threads, .memory_reserve = devices.memory_reserve};
  return std::move(open_environments(one, isolation, kernels, 1, stop).front());
}

Isolation isolation_option(const std::string& text) { return text == "none" ? Isolation::none : Isolation::process; }

void say_on_standard_error(const std::string& line) { print_line(stderr, line); }

void wait_for_quiet(const Environment& environment, double wait_s, const std::function<bool()>& stop,
                    const std::function<void(const std::string&)>& say) {
  if (!units_are_cores(environment.device()) || wait_s <= 0) return;
  auto own = environment.executor->workers().processes;
  own.push_back(getpid());
  constexpr int kSilentWindows = 2;  // Windows that a quiet machine needs.
  int num_windows = 0;
  const auto ask = [&] {
    if (num_windows++ == kSilentWindows)
      say(fmt::format("waiting up to {:.0f} s until other programs are idle (--quiet-wait 0 skips the wait)", wait_s));
    return stop && stop();
  };
  const Quiet quiet = wait_until_quiet(QuietOptions{.wait_s = wait_s}, own, ask);
  if (!quiet.quiet && !(stop && stop())) {
    say(fmt::format(
        "note: other programs use {:.0f} % of the processors after {:.0f} s of waiting; results will be noisier",
        100 * quiet.share, quiet.waited_s));
  }
}

}  // namespace attune
