// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace attune {

/// Extensions of x86-64 by which solvers choose kernels and the host bounds its rates.
enum class InstructionSet : uint8_t {
  avx2,         ///< AVX2 with FMA and F16C: all of psABI level 3.
  avx512,       ///< AVX512F, BW, CD, DQ and VL: all of psABI level 4.
  avx_vnni,     ///< Dot products of int8 in 256 bits, VEX-encoded.
  avx512_vnni,  ///< Dot products of int8 in 512 bits.
  avx512_bf16,
  avx512_fp16,
  amx_bf16,
  amx_int8,
  amx_fp16,
};

/// A processor's x86-64 psABI level and its extensions beyond it. The only code that reads and writes the names of
/// architectures of hosts (DeviceInfo::gfx): the level (`x86-64-v2`, `-v3`, `-v4`; `x86-64` below), then, in this
/// order, the extensions that change a winner and are not implied by an earlier suffix:
///   `+bf16`  AVX512-BF16
///   `+vnni`  AVX512-VNNI or AVX-VNNI, where there is no BF16
///   `+amx`   AMX-BF16
/// A value, cheap to copy; its functions are thread-safe and throw nothing but std::bad_alloc.
class InstructionSets {
 public:
  InstructionSets() = default;
  /// `level`: 1 to 4, the levels of table 3.1 of the x86-64 psABI; 0: another architecture, which has none of these
  /// sets. The sets of the level are included: avx2 from 3, avx512 at 4.
  explicit InstructionSets(int level, std::initializer_list<InstructionSet> extensions = {}) noexcept;

  /// The sets that the name of an architecture states or implies; none for one that is not x86-64 (`sm_90`, `fake`),
  /// and for a level that the psABI does not define. Unknown suffixes are ignored. What is implied:
  ///   level 3, 4       avx2, avx512: by the psABI, which has no dot products of int8 in any level
  ///   `+bf16`          avx512_vnni: in all processors with AVX512-BF16 (Cooper Lake, Sapphire Rapids, Zen 4 and later)
  ///   `+vnni`          on level 4 avx512_vnni, as in all processors with AVX-512 and either; below it avx_vnni, for
  ///                    AVX512-VNNI requires AVX-512
  ///   `+amx`           amx_int8 and avx512_fp16: in all processors with AMX-BF16 (Sapphire Rapids and later)
  /// The processors are those of GCC's and LLVM's -march; a hypervisor may hide an implied set, so a processor that
  /// runs a kernel is asked itself (`__builtin_cpu_supports`) where a fault would not be contained. A set that is
  /// neither stated nor implied may still be there: `x86-64-v4+bf16` leaves AVX512-FP16 open.
  static InstructionSets of(std::string_view gfx) noexcept;

  /// The name of the architecture; of(gfx()).gfx() is the same name. Requires: level() > 0.
  std::string gfx() const;
  /// How the name states a set: `+amx`; empty for one that it does not state. Kernels that need a set beyond their
  /// level have it in their `arch`.
  static std::string_view suffix(InstructionSet set) noexcept;

  int level() const noexcept { return level_; }  ///< psABI level; 0: not x86-64.
  bool has(InstructionSet set) const noexcept { return (bits_ >> static_cast<int>(set) & 1) != 0; }
  void add(InstructionSet set) noexcept { bits_ |= uint32_t{1} << static_cast<int>(set); }
  bool operator==(const InstructionSets&) const = default;

 private:
  void add_suffix(std::string_view name) noexcept;

  int level_ = 0;
  uint32_t bits_ = 0;
};

}  // namespace attune
