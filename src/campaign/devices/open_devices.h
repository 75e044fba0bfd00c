// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/binary.h"
#include "device/device.h"
#include "device/devices.h"
#include "measure/executor.h"
#include "process/strays.h"
#include "tuner/kernels.h"

namespace attune {

class WorkerExecutor;

/// A device and the resources with which a command runs kernels on it.
struct Environment {
  std::shared_ptr<Strays> strays;  ///< Used with an executor that has a worker process; outlives it.
  std::unique_ptr<Device> opened;  ///< Used with an executor in this process.
  std::unique_ptr<Executor> executor;
  const WorkerExecutor* worker = nullptr;  ///< The executor, if it has a worker process.
  std::unique_ptr<Kernels> kernels;
  std::vector<int> cores;  ///< Cores of the device, if it is a part of the processor.
  std::string flags;       ///< Flags with which a command runs on an equal device: `--devices cpu:0 --threads 1`.
  const DeviceInfo& device() const { return executor->device(); }
};
/// Where candidates run: in a worker process, or in this process, which a crash then ends.
enum class Isolation : uint8_t { process, none };
/// Parses `process` or `none`.
Isolation isolation_option(const std::string& text);
/// Options for compiling kernels.
struct KernelOptions {
  std::string cache;      ///< Folder of compiled kernels; empty: the user's.
  uint32_t jobs = 0;      ///< Number of concurrent compilers; 0: one per core.
  std::string keep;       ///< Folder that keeps sources and binaries; empty: none.
  double deadline_s = 0;  ///< Deadline of one compilation; 0: the compiler's own.
  /// For compilers that this machine lacks: the toolchains whose stored kernels are run all the same, by compiler;
  /// empty: any.
  Toolchains stored_toolchains;
  std::optional<uint64_t> max_cache_bytes;  ///< Size to which the cache may grow; none: the environment sets it.
};
/// Returns the folder of compiled kernels, absolute. Throws invalid_input for an impossible one.
std::filesystem::path kernel_cache_folder(const KernelOptions& options);
/// Returns the compiled kernels of a device, which need not be on this machine. `num_jobs`: number of concurrent
/// compilers if the options name none; 0: one per core of this process. `shared`: shared with the other devices of a
/// run; null: not shared. Throws invalid_input for a wrong folder or variable.
std::unique_ptr<Kernels> open_kernels(const DeviceInfo& device, const KernelOptions& options, size_t num_jobs = 0,
                                      std::shared_ptr<SharedCompilations> shared = nullptr);
/// Returns the ids of the devices to open: device_ids(). If the choice names no device and there are no worker
/// processes, only the first, because several devices need them. For such a choice it prints why kinds of devices are
/// excluded.
std::string ids_to_open(const DeviceChoice& devices, Isolation isolation,
                        std::span<const std::string> architectures = {});
/// Opens one device, by default the first of device_ids(). Throws invalid_input for several. `stop`: as of
/// open_environments().
Environment open_environment(const DeviceChoice& devices, Isolation isolation, const KernelOptions& kernels = {},
                             const std::function<bool()>& stop = {});

/// Opens the devices of ids_to_open(): `cpu:0,cpu:1` are two halves of this process's cores, `fake:0,fake:1` two fake
/// devices. The devices are equal, so that a row of one is valid for all. Candidates of a host run on as many cores,
/// close together, as the thread limit allows. Several devices require worker processes. Throws invalid_input, also for
/// a limit that this process cannot have. `workers`: number of environments for each device, each with a worker of its
/// own (SharedDevice). 0 means DeviceKind::default_workers, or one without worker processes. Throws invalid_input for
/// more than the kind has. `stop` is polled while a worker starts or is replaced; once true, the executor gives up.
std::vector<Environment> open_environments(const DeviceChoice& devices, Isolation isolation,
                                           const KernelOptions& kernels, uint32_t workers = 1,
                                           const std::function<bool()>& stop = {});

/// Prints a line on standard error.
void say_on_standard_error(const std::string& line);
/// On a host, waits up to `wait_s` until other programs use little of the processors. Reports that it waits, and if
/// they stay busy. `stop` is called about twice a second; true ends the wait.
void wait_for_quiet(const Environment& environment, double wait_s, const std::function<bool()>& stop = {},
                    const std::function<void(const std::string&)>& say = say_on_standard_error);

}  // namespace attune
