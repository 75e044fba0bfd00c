// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace attune::experiments {

/// Other load on the machine during measurements.
enum class Condition : uint8_t {
  quiet,     ///< None, as far as this program can tell.
  bursts,    ///< A process that computes for 20 to 60 ms about every 200 ms.
  neighbour  ///< A process that computes all the time.
};
std::string_view name(Condition condition) noexcept;

/// A child process that disturbs the measurements according to a condition (none when quiet) until this object is
/// destroyed. The scheduler may put it on any core. It ends with this process, however that ends.
class BusyNeighbour {
 public:
  explicit BusyNeighbour(Condition condition);
  ~BusyNeighbour();
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  pid_t child_ = -1;
};

}  // namespace attune::experiments
