// SPDX-License-Identifier: MIT
#include "torch/torch_product.h"

#include <attune/dispatcher.h>

#include <atomic>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "capturing.h"
#include "dispatchers.h"

namespace attune::python {
namespace {

constexpr bool is_number_of(int32_t number, DType dtype) { return static_cast<DType>(number) == dtype; }
static_assert(is_number_of(type_number::fp32, DType::fp32) && is_number_of(type_number::bf16, DType::bf16) &&
              is_number_of(type_number::fp16, DType::fp16) && is_number_of(type_number::other, DType::fp64));

constexpr size_t kNumReasons = static_cast<size_t>(Reason::count);
constexpr uintptr_t kAlignmentBits = 15;
std::array<std::atomic<uint64_t>, kNumReasons> counters{};
std::atomic<bool> serves_untuned{false};     ///< serve_untuned()
thread_local bool is_left_to_stock = false;  ///< ProductFunctions::leave_to_stock() was called.

/// A matrix by its strides; those of axes with one element mean nothing.
struct Matrix {
  int64_t rows, columns, row_stride, column_stride;

  bool has_contiguous_rows() const { return columns == 1 || column_stride == 1; }
  bool is_row_major() const { return has_contiguous_rows() && (rows == 1 || row_stride == columns); }
  bool is_column_major() const { return (rows == 1 || row_stride == 1) && (columns == 1 || column_stride == rows); }
};

bool is_product_type(int32_t dtype) {
  const auto type = static_cast<DType>(dtype);
  return type == DType::fp32 || type == DType::bf16 || type == DType::fp16;
}

int64_t bytes_of(int32_t dtype) { return static_cast<DType>(dtype) == DType::fp32 ? 4 : 2; }

bool is_aligned(const TensorView& tensor) { return (reinterpret_cast<uintptr_t>(tensor.data) & kAlignmentBits) == 0; }

Matrix matrix(const TensorView& tensor) {
  return {tensor.sizes[0], tensor.sizes[1], tensor.strides[0], tensor.strides[1]};
}

/// The leading axes as the rows of one matrix. Nothing if they have no common stride.
std::optional<Matrix> rows_of(const TensorView& x, int64_t num_rows) {
  Matrix all{num_rows, x.sizes[x.dims - 1], 0, x.strides[x.dims - 1]};
  int64_t rows_inside = 1;
  for (int axis = x.dims - 2; axis >= 0; --axis) {
    if (x.sizes[axis] == 1) continue;
    if (rows_inside == 1) all.row_stride = x.strides[axis];
    if (x.strides[axis] != all.row_stride * rows_inside) return std::nullopt;
    rows_inside *= x.sizes[axis];
  }
  return all;
}

bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return first < second + static_cast<uintptr_t>(b_bytes) && second < first + static_cast<uintptr_t>(a_bytes);
}

Reason examine_types(const ProductCall& call) {
  const int32_t dtype = call.x.dtype;
  if (!is_product_type(dtype) || call.w.dtype != dtype) return Reason::dtype;
  if (call.bias.dims >= 0 && call.bias.dtype != dtype) return Reason::dtype;
  return call.out.dims >= 0 && call.out.dtype != dtype ? Reason::dtype : Reason::routed;
}

Reason examine_sizes(const ProductCall& call, PreparedProduct& product) {
  const TensorView &x = call.x, &w = call.w, &bias = call.bias;
  if (w.dims != 2 || x.dims < 1) return Reason::shape;
  product.n = w.sizes[call.w_is_kn ? 1 : 0];
  product.k = w.sizes[call.w_is_kn ? 0 : 1];
  product.m = 1;
  for (int axis = 0; axis + 1 < x.dims; ++axis) product.m *= x.sizes[axis];
  if (x.sizes[x.dims - 1] != product.k || product.m < 1 || product.n < 1 || product.k < 1) return Reason::shape;
  if (bias.dims < 0) return Reason::routed;
  const bool is_row = bias.dims == 2 && bias.sizes[0] == 1;
  return (bias.dims == 1 || is_row) && bias.sizes[bias.dims - 1] == product.n ? Reason::routed : Reason::addend;
}

/// Sets the order of x and w, and what is copied. Weights are never copied: that costs as much as the product of a few
/// rows.
Reason examine_layouts(const ProductCall& call, PreparedProduct& product) {
  const TensorView &x = call.x, &w = call.w, &bias = call.bias;
  Matrix weights = matrix(w);
  if (call.w_is_kn) weights = {weights.columns, weights.rows, weights.column_stride, weights.row_stride};
  if (weights.is_column_major() && !weights.is_row_major())
    product.flags |= GemmKey::b_is_kn;
  else if (!weights.is_row_major())
    return Reason::layout;
  if (!is_aligned(w)) return Reason::alignment;

  // Where a row's result may not depend on how many there are, nor may who computes it; and no such kernel reads
  // columns.
  const bool keeps_batches = dispatcher(call.place).requirement() == Requirement::batch_invariant;
  const bool is_host = call.place.kind == DeviceKind::host;
  const std::optional<Matrix> rows = rows_of(x, product.m);
  if (!rows) {
    product.copies_x = true;  // As PyTorch does: its kernels take matrices, too.
  } else if (!is_aligned(x) || !(rows->is_row_major() || rows->is_column_major())) {
    // Kernels read contiguous, aligned rows. Of few rows a copy is small beside the weights that the product reads. On
    // a GPU it is a launch more, which is worth it for a slice of rows alone, and only where a row serves them.
    const bool is_worth_it = product.m <= product.n && (is_host || rows->has_contiguous_rows());
    if (!is_worth_it && !keeps_batches) return is_aligned(x) ? Reason::layout : Reason::alignment;
    product.copies_x = true;
  } else if (!rows->is_row_major() && keeps_batches) {
    product.copies_x = true;
  } else if (!rows->is_row_major()) {
    product.flags |= GemmKey::trans_a;
  }
  if (bias.dims >= 0) {
    product.flags |= GemmKey::bias;
    product.copies_bias = !is_aligned(bias) || (product.n > 1 && bias.strides[bias.dims - 1] != 1);
    if (product.copies_bias && !is_host && !keeps_batches) return is_aligned(bias) ? Reason::layout : Reason::alignment;
  }
  return Reason::routed;
}

/// A result that PyTorch would resize, or write through strides, is PyTorch's.
Reason examine_out(const ProductCall& call, const PreparedProduct& product) {
  const TensorView& out = call.out;
  if (out.dims < 0) return Reason::routed;
  if (out.dims != 2 || out.sizes[0] != product.m || out.sizes[1] != product.n) return Reason::shape;
  if (!matrix(out).is_row_major()) return Reason::layout;
  if (!is_aligned(out)) return Reason::alignment;
  const int64_t element = bytes_of(product.dtype), bytes = product.m * product.n * element;
  const bool is_shared =
      overlap(out.data, bytes, call.w.data, product.n * product.k * element) ||
      (!product.copies_x && overlap(out.data, bytes, call.x.data, product.m * product.k * element)) ||
      (call.bias.dims >= 0 && !product.copies_bias && overlap(out.data, bytes, call.bias.data, product.n * element));
  return is_shared ? Reason::layout : Reason::routed;
}

GemmKey key_of(const PreparedProduct& product) {
  const auto type = static_cast<DType>(product.dtype);
  return {.op = OpId::gemm_a16w16,
          .m = product.m,
          .n = product.n,
          .k = product.k,
          .in = type,
          .out = type,
          .flags = static_cast<uint8_t>(product.flags)};
}

/// Rows alone serve: PyTorch's own kernel is as good as an untuned one, and often better. Under a requirement it
/// promises nothing, and Attune serves the call in any case.
Reason examine_row(const ProductCall& call, PreparedProduct& product) {
  const GemmKey key = key_of(product);
  Dispatcher& device = dispatcher(product.place);
  const bool is_host = product.place.kind == DeviceKind::host;
  if (is_host) device.set_threads(call.threads);  // Before the lookup: rows are for that many.
  ShapeCapture::note(key, limit_of_threads(product.place, device));
  const bool needs_no_row = is_host && serves_untuned.load(std::memory_order_relaxed);
  if (needs_no_row || device.requirement() != Requirement::none) return Reason::routed;
  const Hit hit = device.require_row(key, product.place.stream);
  product.plan = hit.plan;
  if (hit.plan == nullptr) return hit.row == 0 ? Reason::no_row : Reason::not_ready;
  // Known before anything is copied or allocated for it.
  return hit.plan->traits().is_applications_own ? Reason::stock_row : Reason::routed;
}

struct Operands {
  explicit Operands(const ProductAddresses& addresses)
      : places{addresses.x, addresses.w, addresses.bias, addresses.out}, num(addresses.bias == nullptr ? 3 : 4) {
    places[num - 1] = addresses.out;
  }
  std::span<void* const> all() const { return {places.data(), num}; }

  std::array<void*, 4> places;
  size_t num;
};

/// PyTorch's kernel promises nothing of what is required. Nothing has been enqueued or written where the error is
/// `unavailable`.
bool may_pass_on(const Error& error, const Dispatcher& dispatcher) {
  return error.code() == ErrorCode::unavailable && dispatcher.requirement() == Requirement::none;
}

Reason run_row_or_untuned(const PreparedProduct& prepared, const Operands& operands) {
  Dispatcher& device = dispatcher(prepared.place);
  const auto* plan = static_cast<const Plan*>(prepared.plan);
  try {
    if (plan == nullptr)
      return device.run(key_of(prepared), operands.all(), prepared.place.stream).row != 0 ? Reason::routed
                                                                                          : Reason::untuned;
    attune::run(*plan, operands.all(), prepared.place.stream);
    return Reason::routed;
  } catch (const Error& error) {  // Such as a kernel that no stream can capture.
    if (!may_pass_on(error, device)) throw;
    return plan == nullptr ? Reason::no_library : Reason::not_ready;
  }
}

}  // namespace

Reason examine(const ProductCall& call, PreparedProduct& prepared) {
  prepared = {};
  prepared.place = call.place;
  prepared.dtype = call.x.dtype;
  if (call.must_be_repeatable && dispatcher(call.place).requirement() == Requirement::none) return Reason::settings;
  if (const Reason why = examine_types(call); why != Reason::routed) return why;
  if (const Reason why = examine_sizes(call, prepared); why != Reason::routed) return why;
  if (const Reason why = examine_layouts(call, prepared); why != Reason::routed) return why;
  if (const Reason why = examine_out(call, prepared); why != Reason::routed) return why;
  return examine_row(call, prepared);
}

Reason run(const PreparedProduct& prepared, const ProductAddresses& addresses) {
  is_left_to_stock = false;
  Reason served = run_row_or_untuned(prepared, Operands(addresses));
  // Without a row PyTorch's operator serves what no other library supports.
  if (is_left_to_stock) served = served == Reason::routed ? Reason::stock_row : Reason::no_library;
  count(served);
  return served;
}

void serve_untuned(bool serves) noexcept { serves_untuned.store(serves, std::memory_order_relaxed); }

void count(Reason reason) noexcept { counters[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }

std::array<uint64_t, kNumReasons> product_counts() noexcept {
  std::array<uint64_t, kNumReasons> now{};
  for (size_t i = 0; i < kNumReasons; ++i) now[i] = counters[i].load(std::memory_order_relaxed);
  return now;
}

std::string_view name(Reason reason) noexcept {
  static constexpr std::array<std::string_view, kNumReasons> kNames = {
      "routed",     "untuned", "dtype",   "shape",    "layout", "alignment", "addend",   "no_family",
      "no_library", "grad",    "context", "settings", "no_row", "not_ready", "stock_row"};
  return kNames[static_cast<size_t>(reason)];
}

const ProductFunctions& product_functions() noexcept {
  static constexpr ProductFunctions kFunctions = {
      .examine =
          [](const ProductCall* call, PreparedProduct* prepared) {
            Reason why = Reason::no_library;
            try {
              why = examine(*call, *prepared);
            } catch (const std::exception&) {  // There is no dispatcher, as without memory.
            }
            if (why != Reason::routed) count(why);
            return why;
          },
      .run =
          [](const PreparedProduct* prepared, const ProductAddresses* addresses, const char** error) {
            thread_local std::string message;
            *error = nullptr;
            try {
              return run(*prepared, *addresses);
            } catch (const std::exception& failure) {
              message = failure.what();
              *error = message.c_str();
              return Reason::no_library;
            }
          },
      .count = [](Reason reason) { count(reason); },
      .leave_to_stock = [] { is_left_to_stock = true; }};
  return kFunctions;
}

}  // namespace attune::python
