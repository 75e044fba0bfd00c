// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/gemm.h"
#include "dispatch/plans/answer_cache.h"
#include "dispatch/plans/plan_maker.h"
#include "dispatch/plans/resolver.h"
#include "dispatch/table/row_index.h"

namespace attune {

inline constexpr size_t kNumOps = static_cast<size_t>(OpId::fmoe) + 1;

/// Identity, size and modification time of a file when it was read.
struct FileStamp {
  std::filesystem::path file;
  uint64_t inode = 0, bytes = 0;
  int64_t changed_ns = 0;  ///< 0, like inode and bytes, if the file did not exist.
  bool operator==(const FileStamp&) const = default;
};

/// The tables of all ops at one time, and the answers derived from them.
struct Snapshot {
  struct Tables {
    std::shared_ptr<const RowIndex> rows;
    std::vector<FileStamp> stamps;
    std::vector<std::string_view> origins;  ///< Origins of the files in `stamps`.
    std::vector<std::string> notices;       ///< Notices of the sources; `rows` has its own.
  };
  std::array<Tables, kNumOps> tables;
  AnswerCache served;
};

/// The device under one thread limit, which is its number of units: the rows for it, the answers, and the libraries
/// opened with it. A dispatcher makes one for each limit that it is given and never frees it before its end, so that a
/// change of the limit costs a known shape nothing. Readers use `now`; the rest is guarded by State::making_.
struct LimitedDevice {
  /// Arguments as for PlanMaker and Resolver.
  LimitedDevice(std::unique_ptr<Device> device, std::filesystem::path cache, bool asks_compilers, PlanCache& plans,
                DispatchLog& log, Requirement required)
      : maker(std::move(device), registry(HostProcess::application), std::move(cache), asks_compilers),
        resolver(maker, plans, log, required),
        captured_threads(maker.device().kind == "host" ? static_cast<int>(units()) : 0) {}
  ~LimitedDevice() { delete now.load(); }
  LimitedDevice(const LimitedDevice&) = delete;
  LimitedDevice& operator=(const LimitedDevice&) = delete;

  int64_t units() const noexcept { return maker.device().num_units; }

  PlanMaker maker;
  Resolver resolver;
  const int captured_threads;  ///< Limit that captured shapes are noted with; 0 on a device that is no host.
  std::atomic<Snapshot*> now{nullptr};
  std::map<std::pair<uint64_t, uint64_t>, Refusal> refusals;  ///< By problem hash; cleared when the tables change.
  std::set<std::pair<uint64_t, uint64_t>> requested_kernels;  ///< Shapes whose kernel was or will be compiled.
};

}  // namespace attune
