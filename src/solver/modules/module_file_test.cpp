// SPDX-License-Identifier: MIT
#include "solver/modules/module_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace attune {
namespace {

void register_half_device(void (*add)(const DeviceKind&)) {
  add({.name = "half",
       .list = [] { return std::vector<DeviceInfo>(); },
       .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); }});
}

bool has_kind(std::string_view name) {
  return std::ranges::any_of(device_kinds(), [&](const DeviceKind& kind) { return kind.name == name; });
}

TEST(ModuleFile, IsRegisteredWholeOrNotAtAll) {
  const ModuleEntry second_half_fails = {.register_devices = register_half_device,
                                         .register_compilers = [](void (*)(const Compiler&)) {
                                           throw std::runtime_error("a compiler has this name already");
                                         }};
  EXPECT_THAT(register_parts("half.so", second_half_fails), testing::HasSubstr("this name already: 'half.so'"));
  // The name is free again.
  EXPECT_EQ(register_parts("whole.so", {.register_devices = register_half_device}), "");
  EXPECT_THAT(register_parts("again.so", {.register_devices = register_half_device}),
              testing::HasSubstr("has this name already"));
  EXPECT_TRUE(has_kind("half")) << "only the second time takes nothing back that another registered";
}

}  // namespace
}  // namespace attune
