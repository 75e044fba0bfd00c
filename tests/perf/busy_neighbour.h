// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace attune::experiments {

/// Who else uses the machine while something is measured.
enum class Condition : uint8_t {
  quiet,     ///< Nobody, as far as this program can say.
  bursts,    ///< A process that computes for 20 to 60 ms about every 200 ms.
  neighbour  ///< A process that computes all the time.
};
std::string_view name(Condition condition) noexcept;

/// A child process that disturbs the measurements as its condition says (none when quiet) until this object ends. The
/// scheduler may put it on any core. It ends with this process, however that ends.
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
