// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// Counts calls by shape without locks: tables of tags in buckets of one cache line, each eight times as large as the
/// one before. Nothing is ever taken out, so a shape has one place, the first free one on its path, whoever comes
/// first. The calls stand apart from the tags, once for each of kShards threads, so that threads on the same shape do
/// not share a line. Two shapes whose hashes have the same 64 bits would be counted as one.
class ShapeCounters {
 public:
  /// What became of a shape in the files. Looked at and set by the one thread that writes.
  enum class ListStatus : uint8_t { fresh, listed, refused };

  explicit ShapeCounters(uint64_t max_shapes);
  ~ShapeCounters();
  ShapeCounters(const ShapeCounters&) = delete;
  ShapeCounters& operator=(const ShapeCounters&) = delete;

  /// Any thread; wait-free but for the allocation of a table. False when the shape is not counted: one too many, no
  /// memory, or an op without a typed key.
  bool count(const GemmKey& key) noexcept;
  uint64_t num_shapes() const noexcept { return num_shapes_.load(std::memory_order_relaxed); }

  using Visit = std::function<void(const GemmKey& key, uint64_t calls, ListStatus& list_status)>;
  /// Every shape that is complete. One thread at a time; others may count meanwhile.
  void visit(const Visit& visit) const;
  /// Forgets all. Nobody may count meanwhile.
  void reset() noexcept;

  const KeyCodes& codes(OpId op) const noexcept { return codes_[static_cast<size_t>(op)]; }

 private:
  static constexpr size_t kBucket = 8, kShards = 16, kLevels = 4;
  struct Entry {
    GemmKey key;
    uint8_t complete;  ///< Set with release when the key stands.
    ListStatus list_status;
  };
  /// Plain memory of the C library: its pages come when they are touched, and it is looked at through atomic_ref.
  struct Level {
    size_t num_slots = 0;
    uint64_t* tags = nullptr;  ///< 0: free.
    Entry* entries = nullptr;
    std::array<std::atomic<uint64_t*>, kShards> calls{};
    ~Level();
  };
  enum class CountStatus : uint8_t { counted, full, dropped };
  uint64_t tag_of(const GemmKey& key) const noexcept;

  Level* level(size_t number) noexcept;
  CountStatus count_in(Level& level, uint64_t tag, const GemmKey& key, bool is_last) noexcept;
  bool claim(Level& level, size_t slot, uint64_t tag, const GemmKey& key, bool& dropped) noexcept;
  static bool add_call(Level& level, size_t slot) noexcept;

  const uint64_t max_shapes_;
  std::vector<KeyCodes> codes_;  ///< By OpId.
  std::atomic<uint64_t> num_shapes_{0};
  std::array<std::atomic<Level*>, kLevels> levels_{};
};

}  // namespace attune
