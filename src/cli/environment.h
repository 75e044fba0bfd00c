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
#include "formats/csv/table.h"
#include "measure/executor.h"
#include "ops/family.h"
#include "process/strays.h"
#include "store/journal.h"
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
/// A deadline that is given in seconds.
Milliseconds milliseconds_of(double seconds);
/// One device, `cpu:0` when none is named. Throws invalid_input for several.
Environment open_environment(const std::string& devices, Isolation isolation, const KernelOptions& kernels = {});

/// The devices of a list: `cpu:0,cpu:1` are two halves of this process's cores, `fake:0,fake:1` two fake devices. They
/// are equal, so that a row of one is a row of all. Several only behind a wall. Throws invalid_input.
/// `stop` is asked while a worker comes up, and later while one is replaced: then its executor gives up.
std::vector<Environment> open_environments(const std::string& devices, Isolation isolation,
                                           const KernelOptions& kernels, const std::function<bool()>& stop = {});

/// What every solver says of a problem here.
std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol);
/// The contenders' verdict on a row's candidate: nothing if it can be run here, else why not.
std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem,
                                        std::span<const Contender> contenders, const DeviceInfo& device);

/// The untuned candidate of the first solver that takes the problem, the family's baselines first.
std::optional<Candidate> default_candidate(const Problem& problem, std::span<const Contender> contenders);

/// On a host, waits up to `wait_s` until other programs use little of the processors; says so on standard error when
/// they do not stop.
void wait_for_quiet(const Environment& environment, double wait_s, const std::function<bool()>& stop = {});

/// Throws invalid_input unless a file can be written there. A wrong path is the user's error; a disk that fills up
/// later is not.
void check_output(const std::filesystem::path& path);

/// Throws invalid_input unless a folder is there or can be made.
void check_folder_option(const std::filesystem::path& path);

/// The family that `--op` names; null when it was not given. Throws invalid_input for an unknown one.
const FamilySpec* family_option(const std::string& op);

/// The journal that `--journal` names, else the user's. Throws invalid_input when the user's can be nowhere.
std::filesystem::path journal_file(const std::string& option);

/// Says on standard error that a journal's scan passed over damaged entries.
void note_damaged(size_t num_damaged, const std::filesystem::path& journal);

/// What was odd about a table that was read, on standard error.
void print_notices(const Table& table);

/// What `--device` of a repeating command takes, for the key that a record has: the first of `devices` with it, else
/// `cpu:0`.
std::string device_id(std::span<const DeviceInfo> devices, const std::string& key);

/// Normalises a problem typed by a person; the error names it.
Problem parse_problem(const std::string& text, const DeviceInfo& device);

}  // namespace attune
