// SPDX-License-Identifier: MIT
// The named layouts; attune/tensor.h documents their order.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attune/tensor.h"
#include "base/error.h"
#include "core/candidate.h"

namespace attune {
namespace {

constexpr int64_t kBlockBytes = 256;  // Of a row, moved at a time, so that panel and rows stay in the L1 cache.

/// A layout of panels of cells: [N/rows][cells][rows], where a cell is `elements` neighbours along K. N is padded to a
/// multiple of `rows`, K to one of `k_step`.
struct PanelOrder {
  int64_t rows = 16, elements = 1, k_step = 1;
};

/// A matrix of weights in a PanelOrder, in bytes and cells.
class PanelMatrix {
 public:
  PanelMatrix(const PanelOrder& order, const TensorSpec& spec)
      : rows_(order.rows),
        n_(spec.shape[0]),
        k_(spec.shape[1]),
        element_bits_(bits(spec.dtype)),
        elements_(order.elements),
        there_(k_ / order.elements),
        cells_((k_ + order.k_step - 1) / order.k_step * order.k_step / order.elements) {}

  uint64_t bytes() const { return static_cast<uint64_t>(panels() * cells_ * rows_ * cell_bytes()); }

  void pack(const std::byte* plain, std::byte* packed) const {
    with_cell_bytes([&](auto cell) { pack_cells<cell()>(plain, packed); });
    each_single([&](int64_t at, int64_t to) { packed[to] = plain[at]; });
  }

  void unpack(const std::byte* packed, std::byte* plain) const {
    with_cell_bytes([&](auto cell) { unpack_cells<cell()>(packed, plain); });
    each_single([&](int64_t at, int64_t to) { plain[at] = packed[to]; });
  }

 private:
  static size_t size(int64_t bytes) { return static_cast<size_t>(bytes); }
  int64_t panels() const { return (n_ + rows_ - 1) / rows_; }
  int64_t cell_bytes() const { return elements_ * element_bits_ / 8; }
  int64_t row_bytes() const { return (k_ * element_bits_ + 7) / 8; }
  int64_t rows_of(int64_t panel) const { return std::min(rows_, n_ - panel * rows_); }

  /// Calls `move` with the size of a cell as a constant, by which compilers turn memcpy into moves of registers.
  template <typename Move>
  void with_cell_bytes(Move move) const {
    switch (cell_bytes()) {
      case 2:
        return move(std::integral_constant<int64_t, 2>());
      case 4:
        return move(std::integral_constant<int64_t, 4>());
      case 64:
        return move(std::integral_constant<int64_t, 64>());
      case 128:
        return move(std::integral_constant<int64_t, 128>());
      default:
        fail(ErrorCode::internal, "no layout has cells of {} bytes", cell_bytes());
    }
  }

  /// Calls visit(panel, begin, end) for blocks of complete cells.
  template <typename Visit>
  void each_block(Visit visit) const {
    const int64_t block = std::max<int64_t>(kBlockBytes / cell_bytes(), 1);
    for (int64_t panel = 0; panel < panels(); ++panel) {
      for (int64_t begin = 0; begin < there_; begin += block) visit(panel, begin, std::min(begin + block, there_));
    }
  }

  /// Calls visit(byte in the plain matrix, byte in the packed one) for bytes of incomplete cells, which end each row if
  /// K is no multiple of a cell's elements.
  template <typename Visit>
  void each_single(Visit visit) const {
    const int64_t first = there_ * cell_bytes(), end = row_bytes();
    if (first == end) return;
    for (int64_t row = 0; row < n_; ++row) {
      const int64_t cell = (row / rows_ * cells_ + there_) * rows_ + row % rows_;
      for (int64_t byte = first; byte < end; ++byte) visit(row * end + byte, cell * cell_bytes() + byte - first);
    }
  }

  /// Cells are moved by memcpy of a constant size, because rows of an odd K may start at an odd element.
  template <int64_t kBytes>
  void pack_cells(const std::byte* plain, std::byte* packed) const {
    each_block([&](int64_t panel, int64_t begin, int64_t end) {
      const std::byte* from = plain + panel * rows_ * row_bytes();
      std::byte* to = packed + panel * cells_ * rows_ * kBytes;
      const int64_t rows = rows_of(panel), row_step = row_bytes();
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t row = 0; row < rows; ++row)
          std::memcpy(to + (i * rows_ + row) * kBytes, from + row * row_step + i * kBytes, kBytes);
        std::memset(to + (i * rows_ + rows) * kBytes, 0, size((rows_ - rows) * kBytes));
      }
    });
    for (int64_t panel = 0; panel < panels(); ++panel) {
      std::memset(packed + (panel * cells_ + there_) * rows_ * kBytes, 0, size((cells_ - there_) * rows_ * kBytes));
    }
  }

  template <int64_t kBytes>
  void unpack_cells(const std::byte* packed, std::byte* plain) const {
    each_block([&](int64_t panel, int64_t begin, int64_t end) {
      const std::byte* from = packed + panel * cells_ * rows_ * kBytes;
      std::byte* to = plain + panel * rows_ * row_bytes();
      const int64_t row_step = row_bytes();
      for (int64_t row = 0; row < rows_of(panel); ++row) {
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(to + row * row_step + i * kBytes, from + (i * rows_ + row) * kBytes, kBytes);
      }
    });
  }

  int64_t rows_, n_, k_, element_bits_, elements_;
  int64_t there_, cells_;  ///< Cells of a panel that plain rows fill completely; all cells of a panel.
};

/// A layout and its order; plain has none.
struct KnownLayout {
  NamedLayout named;
  std::optional<PanelOrder> order;
};
/// The one table of named layouts, plain first.
const std::array<KnownLayout, 5>& known_layouts() {
  static const std::array<KnownLayout, 5> layouts = {{
      {{kPlainLayout, "[N][K], or whatever order the tensor has", {}}, {}},
      {{"host.k16.v1", "[N/16][K][16]: panels of 16 rows along K", {DType::fp32, DType::bf16, DType::fp16}},
       PanelOrder{.rows = 16, .elements = 1, .k_step = 1}},
      {{"host.vnni2x16.v1", "[N/16][K/2][16][2]: panels of pairs along K", {DType::bf16, DType::fp16}},
       // AMX tiles have 32 elements of K.
       PanelOrder{.rows = 16, .elements = 2, .k_step = 32}},
      {{"host.vnni8x16.v1", "[N/16][K/8][16][8]: panels of 8 elements along K", {DType::e2m1}},
       // A vector of 512 bits along K has 128 elements.
       PanelOrder{.rows = 16, .elements = 8, .k_step = 128}},
      {{"cuda.k64.v1",
        "[N/8][K/32][8][32]: panels of 8 rows in blocks of 32 along K",
        {DType::fp32, DType::bf16, DType::fp16}},
       // The longest stage of a kernel has 64 elements of K.
       PanelOrder{.rows = 8, .elements = 32, .k_step = 64}},
  }};
  return layouts;
}
const KnownLayout* find_known(std::string_view name) {
  const auto& all = known_layouts();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const KnownLayout& one) { return one.named.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// Null for plain. Throws unless the layout exists and supports the tensor.
const PanelOrder* order_of(const Layout& layout, const TensorSpec& plain) {
  const KnownLayout* found = find_known(layout.name);
  if (found == nullptr) fail(ErrorCode::invalid_input, "unknown layout: '{}'", layout.name);
  if (!found->order) return nullptr;
  const auto& dtypes = found->named.dtypes;
  if (std::find(dtypes.begin(), dtypes.end(), plain.dtype) == dtypes.end())
    fail(ErrorCode::invalid_input, "the layout does not support this type of elements: {}, {}", layout.name,
         name(plain.dtype));
  if (plain.shape.size() != 2)
    fail(ErrorCode::invalid_input, "the layout packs a matrix: {}, got a tensor of {} axes", layout.name,
         plain.shape.size());
  return &*found->order;
}

void check_sizes(const Layout& layout, const TensorSpec& spec, size_t plain, size_t packed) {
  if (plain != spec.bytes() || packed != packed_bytes(layout, spec)) {
    fail(ErrorCode::invalid_input,
         "the buffers do not have the tensor's sizes: expected {} and {} bytes, got {} and {}", spec.bytes(),
         packed_bytes(layout, spec), plain, packed);
  }
}

}  // namespace

std::span<const NamedLayout> named_layouts() {
  static const std::vector<NamedLayout> all = [] {
    std::vector<NamedLayout> named;
    for (const KnownLayout& one : known_layouts()) named.push_back(one.named);
    return named;
  }();
  return all;
}

const NamedLayout* find_named_layout(std::string_view name) {
  const KnownLayout* found = find_known(name);
  return found == nullptr ? nullptr : &found->named;
}

uint64_t packed_bytes(const Layout& layout, const TensorSpec& plain) {
  const PanelOrder* order = order_of(layout, plain);
  return order == nullptr ? plain.bytes() : PanelMatrix(*order, plain).bytes();
}

void pack(const Layout& layout, const TensorSpec& spec, std::span<const std::byte> plain, std::span<std::byte> packed) {
  const PanelOrder* order = order_of(layout, spec);
  check_sizes(layout, spec, plain.size(), packed.size());
  if (order == nullptr)
    std::copy(plain.begin(), plain.end(), packed.begin());
  else
    PanelMatrix(*order, spec).pack(plain.data(), packed.data());
}

void unpack(const Layout& layout, const TensorSpec& spec, std::span<const std::byte> packed,
            std::span<std::byte> plain) {
  const PanelOrder* order = order_of(layout, spec);
  check_sizes(layout, spec, plain.size(), packed.size());
  if (order == nullptr)
    std::copy(packed.begin(), packed.end(), plain.begin());
  else
    PanelMatrix(*order, spec).unpack(packed.data(), plain.data());
}

}  // namespace attune
