// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/dtype.h"
#include "core/binary.h"
#include "core/device_info.h"

namespace attune::jit_cpu {

/// Vector registers of an x86-64 level, the target of the generated C.
struct VectorUnit {
  int lanes = 0;      ///< Floats in a register.
  int registers = 0;  ///< Architectural vector registers.
  std::string level;  ///< `x86-64-v4`: -march and the first part of a CompileTask's arch.
  /// The unit of a device's processor. Zero lanes without AVX2 and FMA: no kernel is fast there.
  static VectorUnit of(const DeviceInfo& device);
  bool operator==(const VectorUnit&) const = default;
};

/// Number of floats across one panel, for any vector unit: the packed operand is [panel][k][kPanel].
inline constexpr int kPanel = 16;

/// The text of a file under construction; base class of the writers of kernels.
class TextWriter {
 public:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

 protected:
  std::string text_;
};

/// The task of a generated file. `extension`: what it requires beyond the unit's level, one that an architecture's name
/// states.
CompileTask kernel_task(std::string source, const VectorUnit& unit, std::optional<InstructionSet> extension,
                        std::vector<std::string> entries);

/// The start of every generated file: the types `vf` (aligned) and `vu` (any address) of `lanes` floats, `in_t`,
/// `out_t`, and functions: widen() of one element and load() of `lanes` elements of `in`, narrow() to one `out`, put()
/// of a vector and put_some() of its first lanes.
std::string preamble(const VectorUnit& unit, DType in, DType out);

/// `transpose(vf* v)`: transposes a square of `lanes` vectors in registers.
std::string transpose_text(int lanes);

/// An expression for the sums of neighbouring lanes of two vectors: lanes whose bit `distance` is clear come from a,
/// the others from b, each added to the lane `distance` away.
std::string fold_text(const std::string& a, const std::string& b, int lanes, int distance);

}  // namespace attune::jit_cpu
