// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "measure/executor.h"
#include "process/strays.h"
#include "tuner/kernels.h"

namespace attune {

class WorkerExecutor;

/// A device a verb works on and what it needs there. Opened by the verbs that run kernels.
struct Environment {
  std::shared_ptr<Strays> strays;  ///< With an executor across a process wall; outlives it.
  std::unique_ptr<Device> opened;  ///< With an executor in this process.
  std::unique_ptr<Executor> executor;
  const WorkerExecutor* worker = nullptr;  ///< The executor, if it is one across a process wall.
  std::unique_ptr<Kernels> kernels;
  std::vector<int> cores;  ///< Of which the device is made, if it is a part of the processor.
  const DeviceInfo& device() const { return executor->device(); }
};
/// Where candidates run: in a worker behind a process wall, or in this process, which dies with them.
enum class Isolation : uint8_t { process, none };
/// `process` or `none`.
Isolation isolation_option(const std::string& text);
/// How kernels are compiled.
struct KernelOptions {
  std::string cache;       ///< Folder of compiled kernels; empty: the user's.
  uint32_t jobs = 0;       ///< Compilers at once; 0: one a core.
  std::string keep;        ///< Folder where sources and binaries stay; empty: nowhere.
  double deadline_s = 60;  ///< Of one compilation.
};
/// One device, `cpu:0` when none is named. Throws invalid_input for several.
Environment open_environment(const std::string& devices, Isolation isolation, const KernelOptions& kernels = {});

/// The devices of a list: `cpu:0,cpu:1` are two halves of this process's cores, `fake:0,fake:1` two fake devices. They
/// are equal, so that a row of one is a row of all. Several only behind a wall. Throws invalid_input.
/// `stop` is asked while a worker comes up, and later while one is replaced: then its executor gives up.
std::vector<Environment> open_environments(const std::string& devices, Isolation isolation,
                                           const KernelOptions& kernels, const std::function<bool()>& stop = {});

/// On a host, waits up to `wait_s` until other programs use little of the processors; says so on standard error when
/// they do not stop.
void wait_for_quiet(const Environment& environment, double wait_s, const std::function<bool()>& stop = {});

}  // namespace attune
