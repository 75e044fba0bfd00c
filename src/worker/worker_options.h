// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/binary.h"
#include "core/turn.h"
#include "process/strays.h"

namespace attune {

class SharedDevice;

/// Options for starting workers.
struct WorkerOptions {
  std::vector<std::string> command;  ///< Program (absolute) and arguments: `attune worker`.
  std::string build;                 ///< Build of this program; a worker of another build refuses.
  std::string device = "cpu:0";      ///< The device that a worker opens.
  std::vector<uint32_t> cores;       ///< Cores that it runs on; empty: all that this process may use.
  std::string name;                  ///< Name of the device in results; empty: the name that the device has.
  std::map<std::string, std::string> environment;  ///< The whole environment of a worker; TMPDIR is added.
  uint64_t memory_bytes = 0;  ///< Memory that a worker may use; 0: memory_share of the free memory at its start.
  uint64_t file_bytes = uint64_t{1} << 30;
  uint64_t open_files = 1024;
  uint32_t max_admissions = 2000;  ///< Number of admissions after which a worker is replaced.
  bool spare = false;              ///< Whether a second worker stands by (WorkerExecutor).
  Strays* strays = nullptr;        ///< Kills processes that escaped from a worker's group; null: none are killed.
  Milliseconds start{20'000};      ///< Time allowed to start; three are tried.
  /// The device, if other executors of the run work on it, too; null: this one alone.
  std::shared_ptr<SharedDevice> shared;
  double device_memory_share = 1;      ///< Part of the device's memory that problems of this executor may take.
  uint64_t device_memory_reserve = 0;  ///< Bytes of the device's memory that they leave free.
  /// See OpenedSolvers::set_stored_toolchains().
  Toolchains stored_toolchains;
  /// Called at least ten times a second while a worker starts and while its state is restored; null: never.
  std::function<bool()> stopped;
  /// Maximum time for any step without a limit of its own, however large its problem; see also step_limit(). The
  /// references of the largest shapes take an hour on two cores.
  Milliseconds longest{4 * 3'600'000};
  /// After two deaths with the same announced candidate: total time in which the suspects take their turns alone.
  Milliseconds alone{2000};
  double memory_share = 0.9;  ///< Share of the free memory that a worker may use if memory_bytes is 0.
};

/// The name by which users know the worker's device.
const std::string& users_name(const WorkerOptions& options);
/// Replaces the worker's name of its device in a text by the users' name. A worker that sees only its device calls it
/// the first of its kind.
std::string in_users_words(std::string said, const WorkerOptions& options);

/// Returns the build name that a worker must share with its supervisor; a worker of another build is refused.
std::string build_name();

/// Returns the options of this program's worker for a device. Its clean environment holds the variables that locate
/// libraries and the user's folders, the variables that select a library's instructions (recorded_settings()), and
/// Attune's own. ATTUNE_THREADS is the limit that environment_threads() gives here. If the device's kind has a variable
/// for it, the worker sees only that device, as the first of its kind. It runs on the cores near a device on the PCI
/// bus, which the files below `root` name. `device` without a number, `cuda`: a process for no device in particular.
WorkerOptions worker_options(const std::string& device, Strays* strays, const std::filesystem::path& root = "/");

}  // namespace attune
