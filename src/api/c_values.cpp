// SPDX-License-Identifier: MIT
#include "api/c_values.h"

#include <algorithm>
#include <limits>

#include "attune/attune_workspace.h"
#include "attune/dispatcher.h"
#include "device/devices.h"
#include "dispatch/table/key_codes.h"
#include "ops/gemm/gemm_key.h"
#include "ops/op.h"

namespace attune {
namespace {

// The numbers of the C interface equal the enumerators.
template <typename Enum>
constexpr bool same(int number, Enum value) {
  return number == static_cast<int>(value);
}
static_assert(same(ATTUNE_GEMM_A16W16, OpId::gemm_a16w16) && same(ATTUNE_GEMM_A8W8, OpId::gemm_a8w8) &&
              same(ATTUNE_GEMM_A8W8_BPRESHUFFLE, OpId::gemm_a8w8_bpreshuffle) &&
              same(ATTUNE_GEMM_A8W8_BLOCKSCALE, OpId::gemm_a8w8_blockscale) &&
              same(ATTUNE_GEMM_A8W8_BLOCKSCALE_BPRESHUFFLE, OpId::gemm_a8w8_blockscale_bpreshuffle) &&
              same(ATTUNE_GEMM_A4W4_BLOCKSCALE, OpId::gemm_a4w4_blockscale) &&
              same(ATTUNE_BATCHED_GEMM_BF16, OpId::batched_gemm_bf16) &&
              same(ATTUNE_BATCHED_GEMM_A8W8, OpId::batched_gemm_a8w8));
static_assert(same(ATTUNE_FP64, DType::fp64) && same(ATTUNE_FP32, DType::fp32) && same(ATTUNE_BF16, DType::bf16) &&
              same(ATTUNE_FP16, DType::fp16) && same(ATTUNE_INT32, DType::int32) && same(ATTUNE_INT8, DType::int8) &&
              same(ATTUNE_E4M3FN, DType::e4m3fn) && same(ATTUNE_E4M3FNUZ, DType::e4m3fnuz) &&
              same(ATTUNE_E5M2, DType::e5m2) && same(ATTUNE_E5M2FNUZ, DType::e5m2fnuz) &&
              same(ATTUNE_E2M1, DType::e2m1) && same(ATTUNE_E8M0, DType::e8m0) && same(ATTUNE_INT4, DType::int4));
static_assert(same(ATTUNE_BIAS, GemmKey::bias) && same(ATTUNE_SCALE_AB, GemmKey::scale_ab) &&
              same(ATTUNE_BPRESHUFFLE, GemmKey::bpreshuffle) && same(ATTUNE_TRANS_A, GemmKey::trans_a) &&
              same(ATTUNE_B_IS_KN, GemmKey::b_is_kn));
static_assert(same(ATTUNE_EXACT, Match::exact) && same(ATTUNE_PADDED_FINE, Match::padded_fine) &&
              same(ATTUNE_PADDED_COARSE, Match::padded_coarse) && same(ATTUNE_PREDICTED, Match::predicted) &&
              same(ATTUNE_FALLBACK, Match::fallback));
static_assert(same(ATTUNE_INVALID_INPUT - 1, ErrorCode::invalid_input) &&
              same(ATTUNE_NOT_FOUND - 1, ErrorCode::not_found) &&
              same(ATTUNE_UNAVAILABLE - 1, ErrorCode::unavailable) && same(ATTUNE_IO - 1, ErrorCode::io) &&
              same(ATTUNE_DATABASE - 1, ErrorCode::database) && same(ATTUNE_DEVICE - 1, ErrorCode::device) &&
              same(ATTUNE_TIMEOUT - 1, ErrorCode::timeout) && same(ATTUNE_INTERNAL - 1, ErrorCode::internal));

// Sizes in version 0.1, the smallest valid ones.
constexpr size_t kKeySize = 56, kAnyKeySize = 272, kOptionsSize = 104;
constexpr size_t kFirstOptionsSize = 64;  ///< Size before max_regret was added.
constexpr size_t kWorkspaceAllocatorSize = 32;
static_assert(sizeof(attune_workspace_allocator) == kWorkspaceAllocatorSize);
static_assert(sizeof(attune_gemm_key) == kKeySize && sizeof(attune_key) == kAnyKeySize &&
              sizeof(attune_options) == kOptionsSize);
static_assert(int{ATTUNE_MAX_KEY_VALUES} == int{Key::kMaxValues} && int{ATTUNE_FMOE} == static_cast<int>(OpId::fmoe) &&
              int{ATTUNE_CONV} == static_cast<int>(OpId::conv) &&
              int{ATTUNE_FIRST_REGISTERED} == static_cast<int>(OpId::first_registered));

constexpr uint32_t kAllFlags = ATTUNE_BIAS | ATTUNE_SCALE_AB | ATTUNE_BPRESHUFFLE | ATTUNE_TRANS_A | ATTUNE_B_IS_KN;

constexpr uint32_t kNoOp = std::numeric_limits<uint16_t>::max();  ///< No op has this number or a larger one.

DType dtype_of(uint32_t number) {
  if (number >= kNumDTypes) fail(ErrorCode::invalid_input, "unknown data type number: {}", number);
  return static_cast<DType>(number);
}

}  // namespace

namespace {

WorkspaceAllocator allocator_of(const attune_workspace_allocator& given) {
  const auto wanted = taken(given, attune_workspace_allocator ATTUNE_WORKSPACE_ALLOCATOR_INIT, kWorkspaceAllocatorSize);
  if (wanted.allocate == nullptr || wanted.release == nullptr)
    fail(ErrorCode::invalid_input, "an allocator of workspaces needs both functions, allocate and release");
  return {
      .allocate = [wanted](void* stream, uint64_t bytes,
                           uint32_t alignment) { return wanted.allocate(wanted.context, stream, bytes, alignment); },
      .release = [wanted](void* stream, void* memory) { wanted.release(wanted.context, stream, memory); }};
}

}  // namespace

GemmKey gemm_key_of(const attune_gemm_key& given) {
  const attune_gemm_key key = taken(given, attune_gemm_key ATTUNE_GEMM_KEY_INIT, kKeySize);
  if (key.op > ATTUNE_BATCHED_GEMM_A8W8) fail(ErrorCode::invalid_input, "unknown op number: {}", key.op);
  if ((key.flags & ~kAllFlags) != 0)
    fail(ErrorCode::invalid_input, "unknown bits in the flags of a key: {}", key.flags);
  if (key.m < 1 || key.n < 1 || key.k < 1 || key.batch < 1) {
    fail(ErrorCode::invalid_input, "sizes must be at least 1, got m={} n={} k={} batch={}", key.m, key.n, key.k,
         key.batch);
  }
  return {.op = static_cast<OpId>(key.op),
          .m = key.m,
          .n = key.n,
          .k = key.k,
          .batch = key.batch,
          .in = dtype_of(key.in_dtype),
          .out = dtype_of(key.out_dtype),
          .flags = static_cast<uint8_t>(key.flags)};
}

const FamilyCodes& codes() {
  static const FamilyCodes codes;
  return codes;
}

Key key_of(std::string_view text) {
  const Problem asked = Problem::parse(text);
  // The device of a dispatcher whose options name none.
  static const DeviceInfo device = find_device({.ids = DispatcherOptions().device});
  return codes().key(op_of(asked).normalise(asked, device));
}

Key complete_key_of(std::string_view text) {
  const Key key = key_of(text);
  return *codes().of(key.op()).complete(key);
}

Key looked_up_key_of(const attune_key& given) {
  const attune_key key = taken(given, attune_key ATTUNE_KEY_INIT, kAnyKeySize);
  if (key.num_values > ATTUNE_MAX_KEY_VALUES)
    fail(ErrorCode::invalid_input, "a key has at most {} values, got {}", int{ATTUNE_MAX_KEY_VALUES}, key.num_values);
  return {static_cast<OpId>(std::min(key.op, kNoOp)), std::span(key.values, key.num_values)};
}

Key key_of(const attune_key& given) {
  const Key key = looked_up_key_of(given);
  if (given.op >= kNoOp) fail(ErrorCode::invalid_input, "unknown op number: {}", given.op);
  return key;
}

attune_key c_key(const Key& key) noexcept {
  attune_key made = ATTUNE_KEY_INIT;
  made.op = static_cast<uint32_t>(key.op());
  const auto values = key.values();
  made.num_values = static_cast<uint32_t>(values.size());
  std::copy(values.begin(), values.end(), made.values);
  return made;
}

GemmKey gemm_key_of(std::string_view text) {
  if (const auto key = to_gemm_key(key_of(text))) return *key;
  fail(ErrorCode::invalid_input, "the problem has attributes that attune_gemm_key cannot hold, use attune_key: '{}'",
       text);
}

attune_gemm_key c_key(const GemmKey& key) noexcept {
  attune_gemm_key made = ATTUNE_GEMM_KEY_INIT;
  made.op = static_cast<uint32_t>(key.op);
  made.m = key.m;
  made.n = key.n;
  made.k = key.k;
  made.batch = key.batch;
  made.in_dtype = static_cast<uint32_t>(key.in);
  made.out_dtype = static_cast<uint32_t>(key.out);
  made.flags = key.flags;
  return made;
}

attune_hit c_hit(const Hit& hit) noexcept {
  attune_hit made = ATTUNE_HIT_INIT;
  made.match = static_cast<uint32_t>(hit.match);
  made.row = hit.row;
  made.ready = hit.plan != nullptr ? 1 : 0;
  made.is_stand_in = hit.is_stand_in ? 1 : 0;
  made.drifted = hit.drifted ? 1 : 0;
  made.regret_percent = hit.regret_percent;
  return made;
}

attune_counters c_counters(const DispatchCounts& counts) noexcept {
  return {sizeof(attune_counters), counts.calls,
          counts.misses,           counts.shapes,
          counts.missed_shapes,    counts.plans,
          counts.reloads,          counts.plan_bytes,
          counts.evicted_plans,    counts.plan_limit_reached,
          counts.captured_plans,   counts.captured_stand_ins};
}

DispatcherOptions options_of(const attune_options& given) {
  const attune_options wanted = taken(given, attune_options ATTUNE_OPTIONS_INIT, kFirstOptionsSize);
  check_reserved({&wanted.reserved, 1});
  DispatcherOptions options;
  if (wanted.device != nullptr) options.device = wanted.device;
  if (wanted.capture != nullptr) options.capture = wanted.capture;
  if (wanted.tables == nullptr && wanted.num_tables > 0)
    fail(ErrorCode::invalid_input, "the options have num_tables={} and no tables", wanted.num_tables);
  for (size_t i = 0; i < wanted.num_tables; ++i) {
    const attune_table& table = wanted.tables[i];
    if (table.op == nullptr || table.file == nullptr)
      fail(ErrorCode::invalid_input, "a table needs an op and a file, this one lacks one of them: {}", i);
    const FamilySpec* family = find_family(table.op);
    if (family == nullptr) fail(ErrorCode::invalid_input, "a table has an unknown op: '{}'", table.op);
    options.tables[std::string(family->op)].emplace_back(table.file);
  }
  if (wanted.poll_interval_ms > 0) options.poll_interval = std::chrono::milliseconds(wanted.poll_interval_ms);
  if (wanted.poll_interval_ms < 0) options.poll_interval = std::chrono::milliseconds(0);
  if (wanted.graph_wait_ms != 0)
    options.graph_wait = std::chrono::milliseconds(std::max<int64_t>(0, wanted.graph_wait_ms));
  options.threads = wanted.threads;
  if (wanted.max_plan_bytes > 0) options.max_plan_bytes = wanted.max_plan_bytes;
  switch (wanted.compile_mode) {
    case ATTUNE_COMPILE_BACKGROUND:
      options.compile_mode = CompileMode::background;
      break;
    case ATTUNE_COMPILE_NEVER:
      options.compile_mode = CompileMode::never;
      break;
    case ATTUNE_COMPILE_BLOCKING:
      options.compile_mode = CompileMode::blocking;
      break;
    default:
      fail(ErrorCode::invalid_input,
           "unknown compile mode, expected one of ATTUNE_COMPILE_BACKGROUND, _NEVER and _BLOCKING: {}",
           wanted.compile_mode);
  }
  if (wanted.require > ATTUNE_REQUIRE_BATCH_INVARIANT)
    fail(ErrorCode::invalid_input,
         "unknown requirement, expected one of ATTUNE_REQUIRE_NONE, _DETERMINISTIC and _BATCH_INVARIANT: {}",
         wanted.require);
  options.require = static_cast<Requirement>(wanted.require);
  if (wanted.workspaces != nullptr) options.workspaces = allocator_of(*wanted.workspaces);
  options.lookup_only = wanted.lookup_only != 0;
  options.log_hits = wanted.log_hits != 0;
  options.online_tuning = wanted.online_tuning != 0;
  options.shares_device = wanted.online_tuning > 1;
  if (!std::isfinite(wanted.max_regret))
    fail(ErrorCode::invalid_input, "max_regret must be a finite number, got {}", wanted.max_regret);
  if (wanted.max_regret != 0) options.max_regret = std::max(0.0, wanted.max_regret);
  return options;
}

int status_of(ErrorCode code) noexcept { return static_cast<int>(code) + 1; }

}  // namespace attune
