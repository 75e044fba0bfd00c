// SPDX-License-Identifier: MIT
#include "api/c_values.h"

#include "attune/attune_workspace.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace attune {
namespace {

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == ErrorCode::invalid_input ? error.what() : "";
  }
  return "";
}

TEST(CValues, ALookupTakesTheNumberOfAnOpThatNobodyKnows) {
  for (const uint32_t op : {100u, 0x7fffu, 0x8000u, 0xfffeu}) {
    attune_key key = ATTUNE_KEY_INIT;
    key.op = op;
    EXPECT_EQ(static_cast<uint32_t>(looked_up_key_of(key).op()), op);
    EXPECT_EQ(static_cast<uint32_t>(key_of(key).op()), op);
  }
  for (const uint32_t op : {0xffffu, 0x10000u, 0x10003u, 0xffffffffu}) {
    attune_key key = ATTUNE_KEY_INIT;
    key.op = op;
    EXPECT_EQ(static_cast<uint32_t>(looked_up_key_of(key).op()), 0xffffu) << "no op, whatever the lower bits say";
    EXPECT_EQ(refusal_of([&] { key_of(key); }), "unknown op number: " + std::to_string(op));
  }
}

TEST(CValues, TheSizeOfAStructIsRefusedWithItsRange) {
  for (const size_t size : {size_t{0}, size_t{271}, size_t{4097}}) {
    attune_key key = ATTUNE_KEY_INIT;
    key.size = size;
    EXPECT_EQ(refusal_of([&] { key_of(key); }),
              "the field `size` of a struct must be from 272 to 4096, as its INIT macro sets it; got " +
                  std::to_string(size));
  }
}

TEST(CValues, AGraphsWaitIsInMillisecondsZeroTheDefaultAndANegativeNumberNone) {
  attune_options given = ATTUNE_OPTIONS_INIT;
  EXPECT_EQ(options_of(given).graph_wait, DispatcherOptions().graph_wait);
  given.graph_wait_ms = 1500;
  EXPECT_EQ(options_of(given).graph_wait, std::chrono::milliseconds(1500));
  given.graph_wait_ms = -1;
  EXPECT_EQ(options_of(given).graph_wait.count(), 0);
}

TEST(CValues, AnAllocatorsFunctionsGetItsContext) {
  struct Call {
    void* stream = nullptr;
    uint64_t bytes = 0;
    uint32_t alignment = 0;
    void* released = nullptr;
  } call;
  attune_workspace_allocator own = ATTUNE_WORKSPACE_ALLOCATOR_INIT;
  own.context = &call;
  own.allocate = [](void* context, void* stream, uint64_t bytes, uint32_t alignment) -> void* {
    *static_cast<Call*>(context) = {stream, bytes, alignment};
    return stream;
  };
  own.release = [](void* context, void*, void* memory) { static_cast<Call*>(context)->released = memory; };
  attune_options options = ATTUNE_OPTIONS_INIT;
  EXPECT_EQ(options_of(options).workspaces.allocate, nullptr);
  options.workspaces = &own;
  const WorkspaceAllocator made = options_of(options).workspaces;
  int stream = 0;
  EXPECT_EQ(made.allocate(&stream, 1000, 256), &stream);
  EXPECT_EQ(call.stream, &stream);
  EXPECT_EQ(call.bytes, 1000u);
  EXPECT_EQ(call.alignment, 256u);
  made.release(nullptr, &call);
  EXPECT_EQ(call.released, &call);
  own.release = nullptr;
  EXPECT_EQ(refusal_of([&] { options_of(options); }),
            "an allocator of workspaces needs both functions, allocate and release");
  options.size = 88;  // Of the header before this field.
  EXPECT_EQ(options_of(options).workspaces.allocate, nullptr);
}

}  // namespace
}  // namespace attune
