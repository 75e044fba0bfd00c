// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dtype.h"
#include "attune/export.h"

namespace attune {

/// A named, versioned order of a tensor's bytes; the version is part of the name (`plain`, `host.k16.v1`). Libraries
/// have opaque layouts of their own, named with the library's version (`mkl.pack@2026.2.0.t2`); their bytes never leave
/// a process.
struct Layout {
  std::string name = "plain";
  bool operator==(const Layout&) const = default;
};

enum class Use : uint8_t { activation, weight, scale, index, output };

/// One operand of an op. Rows (last axis) are contiguous.
struct ATTUNE_API TensorSpec {
  std::string role;  ///< `a`, `b`, `bias`, `residual`, `alpha`, `beta`, `out_scale`, `c`.
  DType dtype = DType::fp32;
  std::vector<int64_t> shape;  ///< In elements.
  Layout layout;
  Use use = Use::activation;
  bool is_packed = false;         ///< Packed ahead in a layout that the candidate names, with the others of the set.
  uint32_t alignment_bytes = 16;  ///< Alignment that callers promise; test buffers have exactly this alignment.
  int64_t elements() const noexcept;
  uint64_t bytes() const noexcept;  ///< Sub-byte types: the last axis is packed, element 0 in the low bits.
};

/// A layout whose order of bytes is documented here, so that any process can pack and unpack it.
struct NamedLayout {
  std::string_view name;
  std::string_view title;     ///< The order, in one line.
  std::vector<DType> dtypes;  ///< Supported types; empty: all.
};
/// All named layouts, `plain` first. Each but plain packs a matrix of weights [N][K], as a linear layer holds them:
///   host.k16.v1       [N/16][K][16]: panels of 16 rows along K. N is padded with zeros to a multiple of 16.
///   host.vnni2x16.v1  [N/16][K/2][16][2]: the same with pairs along K, as AMX and AVX512-BF16 read them. K is padded
///                     with zeros to a multiple of 32, too.
///   host.vnni8x16.v1  [N/16][K/8][16][8]: e2m1, 8 along K in 4 bytes, as VNNI reads them after decoding. N is padded
///                     with zeros to a multiple of 16, K to one of 128.
///   cuda.k64.v1       [N/8][K/32][8][32]: panels of 8 rows along K in blocks of 32, of which a warp reads 512 bytes of
///                     16-bit elements at once. N is padded with zeros to a multiple of 8, K to one of 64.
ATTUNE_API std::span<const NamedLayout> named_layouts();
/// Null for an unknown name.
ATTUNE_API const NamedLayout* find_named_layout(std::string_view name);

/// Size of a tensor in a named layout. `plain` describes its plain form; its own `layout` is ignored. Throws
/// invalid_input for an unknown name, a type that the layout does not support, or (except for plain) a tensor that is
/// not a matrix.
ATTUNE_API uint64_t packed_bytes(const Layout& layout, const TensorSpec& plain);
/// Writes all of `packed`, which has packed_bytes() bytes, padding included. Throws like packed_bytes(), and for spans
/// of another size. Single-threaded; takes about 30 ms for 100 MB.
ATTUNE_API void pack(const Layout& layout, const TensorSpec& spec, std::span<const std::byte> plain,
                     std::span<std::byte> packed);
/// The inverse of pack(); padding is ignored.
ATTUNE_API void unpack(const Layout& layout, const TensorSpec& spec, std::span<const std::byte> packed,
                       std::span<std::byte> plain);

}  // namespace attune
