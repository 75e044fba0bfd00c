// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>

#include "attune/export.h"

namespace attune {

/// The number of an op. Permanent, because the C interface and keys contain it: new ones are added at the end. Numbers
/// from `first_registered` on belong to one process, which gives them to the ops that it registers, in that order.
enum class OpId : uint16_t {
  gemm_a16w16,
  gemm_a8w8,
  gemm_a8w8_bpreshuffle,
  gemm_a8w8_blockscale,
  gemm_a8w8_blockscale_bpreshuffle,
  gemm_a4w4_blockscale,
  batched_gemm_bf16,
  batched_gemm_a8w8,
  fmoe,
  conv,
  first_registered = 0x8000
};

/// The key of a call of any op: numbers in the order of the op's key attributes (`key` of `attune list ops --json`). A
/// number is the value of an integer, 0 or 1 of a flag, the enumerator of DType of a data type, and the place of a
/// named choice. Of `gemm_a16w16` they are m n k bias dtype outdtype scale_ab bpreshuffle trans_a trans_b act alpha
/// beta out_scale. New attributes of an op are added at the end, and values that are left out there have their
/// defaults: a caller that was built before an attribute keeps its meaning. A plain value without text or heap; its
/// unused values are not initialised and not copied.
class Key {
 public:
  static constexpr size_t kMaxValues = 32;

  Key() noexcept {}
  /// Values beyond kMaxValues make a key of no problem: its size says so.
  Key(OpId op, std::span<const int64_t> values) noexcept
      : op_(op), size_(static_cast<uint16_t>(std::min<size_t>(values.size(), kMaxValues + 1))) {
    copy(values.data(), std::min(values.size(), kMaxValues));
  }
  Key(OpId op, std::initializer_list<int64_t> values) noexcept : Key(op, std::span(values.begin(), values.size())) {}
  Key(const Key& other) noexcept : op_(other.op_), size_(other.size_) {
    copy(other.values_.data(), std::min<size_t>(size_, kMaxValues));
  }
  Key& operator=(const Key& other) noexcept {
    op_ = other.op_;
    size_ = other.size_;
    if (this != &other) copy(other.values_.data(), std::min<size_t>(size_, kMaxValues));
    return *this;
  }

  OpId op() const noexcept { return op_; }
  size_t size() const noexcept { return size_; }
  /// Requires: at most kMaxValues.
  void resize(OpId op, size_t size) noexcept {
    op_ = op;
    size_ = static_cast<uint16_t>(size);
  }
  /// Requires: fewer than kMaxValues.
  void push_back(int64_t value) noexcept { values_[size_++] = value; }
  int64_t& operator[](size_t i) noexcept { return values_[i]; }
  int64_t operator[](size_t i) const noexcept { return values_[i]; }
  std::span<const int64_t> values() const noexcept { return {values_.data(), std::min<size_t>(size_, kMaxValues)}; }
  bool operator==(const Key& other) const noexcept {
    if (op_ != other.op_ || size_ != other.size_) return false;
    // In blocks of a constant size: a call of memcmp() costs a lookup more than the few values do.
    size_t i = 0;
    const size_t count = values().size();
    for (; i + 2 <= count; i += 2) {
      if (std::memcmp(&values_[i], &other.values_[i], 2 * sizeof(int64_t)) != 0) return false;
    }
    return i == count || values_[i] == other.values_[i];
  }

 private:
  /// In blocks of a constant size: GCC makes std::copy_n() a string instruction here, which takes 10 ns to start.
  void copy(const int64_t* from, size_t count) noexcept {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) std::memcpy(&values_[i], from + i, 4 * sizeof(int64_t));
    if ((count & 2) != 0) std::memcpy(&values_[i], from + i, 2 * sizeof(int64_t));
    if ((count & 1) != 0) values_[count - 1] = from[count - 1];
  }

  OpId op_ = OpId::gemm_a16w16;
  uint16_t size_ = 0;
  std::array<int64_t, kMaxValues> values_;
};

}  // namespace attune
