// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "attune/key.h"
#include "attune/problem.h"
#include "dispatch/table/key_codes.h"

namespace attune {

/// Counts calls by shape and thread limit without locks. Tags are kept in tables of cache-line buckets, each table
/// eight times as large as the one before. Nothing is ever removed, so a shape has one slot, the first free one on its
/// path, regardless of which thread comes first. The counts are kept apart from the tags, in kShards copies, so that
/// threads on the same shape do not share a cache line. Two shapes whose hashes agree in 64 bits are counted as one.
class ShapeCounters {
 public:
  /// State of a shape in the files. Only the writing thread reads and sets it.
  enum class ListStatus : uint8_t { fresh, listed, refused };

  explicit ShapeCounters(uint64_t max_shapes);
  ~ShapeCounters();
  ShapeCounters(const ShapeCounters&) = delete;
  ShapeCounters& operator=(const ShapeCounters&) = delete;

  /// Thread-safe; wait-free except for the first call of a shape, which allocates. Returns false if the shape is not
  /// counted: the limit is reached, memory is short, or the key is of no op or has too many or too few values.
  /// `threads`: limit under which the shape was called; 0: unknown.
  bool count(const Key& key, uint16_t threads = 0) noexcept;
  uint64_t num_shapes() const noexcept { return num_shapes_.load(std::memory_order_relaxed); }

  /// A shape that was called under one thread limit.
  struct CountedShape {
    Key key;  ///< Complete.
    uint16_t threads = 0;
    uint64_t calls = 0;
    ListStatus& list_status;
  };
  using Visit = std::function<void(const CountedShape& shape)>;
  /// Visits every complete shape. One thread may call it at a time; others may count meanwhile.
  void visit(const Visit& visit) const;
  /// Forgets all shapes. Requires: no thread counts meanwhile.
  void reset() noexcept;

  const FamilyCodes& codes() const noexcept { return codes_; }

 private:
  static constexpr size_t kBucket = 8, kShards = 16, kLevels = 4;
  struct Entry {
    int64_t* values;  ///< Of the key; memory of the C library.
    OpId op;
    uint16_t num_values, threads;
    uint8_t complete;  ///< Set with release once the key is written.
    ListStatus list_status;
  };
  /// Plain memory of the C library, so that pages are allocated on first touch; accessed through atomic_ref.
  struct Level {
    size_t num_slots = 0;
    uint64_t* tags = nullptr;  ///< 0: free.
    Entry* entries = nullptr;
    std::array<std::atomic<uint64_t*>, kShards> calls{};
    ~Level();
  };
  enum class CountStatus : uint8_t { counted, full, dropped };
  Level* level(size_t number) noexcept;
  struct ShapeCall {
    const Key& key;
    uint16_t threads;
    uint64_t tag;
  };
  CountStatus count_in(Level& level, const ShapeCall& shape, bool is_last) noexcept;
  bool claim(Level& level, size_t slot, const ShapeCall& shape, bool& dropped) noexcept;
  static bool add_call(Level& level, size_t slot) noexcept;

  const uint64_t max_shapes_;
  const FamilyCodes codes_;
  std::atomic<uint64_t> num_shapes_{0};
  std::array<std::atomic<Level*>, kLevels> levels_{};
};

}  // namespace attune
