// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// A compiled kernel that several processes can have: a name of its content on every machine.
struct CommonKernel {
  std::string recipe, toolchain;
  auto operator<=>(const CommonKernel&) const = default;
};

/// A candidate whose kernels a process wants compiled.
struct WantedKernel {
  int64_t units = 0;  ///< Of the device under the thread limit of the call.
  std::string problem, candidate;
  auto operator<=>(const WantedKernel&) const = default;
};

/// What served a shape.
struct ServedShape {
  int64_t units = 0;  ///< Like WantedKernel::units.
  std::string problem;
  std::string candidate;
  bool operator==(const ServedShape&) const = default;
};

/// What one of several processes that are to serve alike has: all that their agreement is made from (docs/adr/0024).
struct ServingReport {
  std::string settings;               ///< What answers depend on besides the tables, in words: equal or not.
  std::string serving;                ///< Digest of the tables and bans that serve; empty: no rows do.
  std::string waiting;                ///< Digest of those that were read last; `serving` if no others wait.
  std::vector<CommonKernel> kernels;  ///< Compiled here, those that serve included.
  std::vector<std::string> failed;    ///< Recipes that cannot be compiled here, or that all agreed on to have failed.
  std::vector<WantedKernel> wanted;   ///< Of this process's own calls, neither agreed on nor failed.
  std::vector<ServedShape> answers;   ///< Those since the last exchange.

  /// The report as lines of cells that tabs separate, for a wire.
  std::string text() const;
  /// Throws invalid_input for a text that text() does not write, such as one of another version.
  static ServingReport parse(std::string_view text);
};

}  // namespace attune
