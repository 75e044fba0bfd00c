// SPDX-License-Identifier: MIT
#include "store/fleet/kernels/shared_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "testing/fleet/fleet_store_fixture.h"

namespace attune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class SharedKernelsTest : public FleetStoreFixture {
 protected:
  static KernelKey key(int number, const std::string& toolchain = "gcc-12.2.0") {
    return {"x86-64-v4", fmt::format("{:032x}", number), toolchain};
  }
  static SharedKernel kernel(const KernelKey& key, const std::string& bytes) {
    return {key, sha256(bytes), {{"compiler", "hostcc"}, {"options", "-O3 'x'"}}, bytes};
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, SharedKernelsTest, ::testing::ValuesIn(tested_databases()),
                         [](const auto& one) { return one.param; });

TEST_P(SharedKernelsTest, AKernelIsFoundByArchRecipeAndToolchain) {
  const auto kernels = open()->open_kernels();
  const std::string bytes("\0\x7f\xff'ELF", 7);
  kernels->put(std::vector{kernel(key(1), bytes)});
  const std::vector<KernelKey> asked = {key(1), key(2), key(1, "gcc-13.1.0")};
  const auto found = kernels->get(asked);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].key, key(1));
  EXPECT_EQ(found[0].bytes, bytes);
  EXPECT_EQ(found[0].sha256, sha256(bytes));
  EXPECT_EQ(found[0].metadata, (BinaryMetadata{{"compiler", "hostcc"}, {"options", "-O3 'x'"}}));
  EXPECT_EQ(kernels->missing(asked), (std::vector{key(2), key(1, "gcc-13.1.0")}));
}

TEST_P(SharedKernelsTest, EqualBytesAreStoredOnceAndTheFirstKernelOfAKeyStays) {
  const auto kernels = open()->open_kernels();
  kernels->put(std::vector{kernel(key(1), "same"), kernel(key(2), "same")});
  kernels->put(std::vector{kernel(key(1), "other"), kernel(key(3), "same")});
  EXPECT_EQ(number("SELECT count(*) FROM built_kernel"), 3);
  EXPECT_EQ(kernels->get(std::vector{key(1)}).at(0).bytes, "same");
}

TEST_P(SharedKernelsTest, ManyAndLargeOnesGoInFewStatements) {
  constexpr int kCount = 250;
  const auto kernels = open()->open_kernels();
  std::vector<SharedKernel> all;
  std::vector<KernelKey> keys;
  for (int i = 0; i < kCount; ++i) {
    keys.push_back(key(i));
    all.push_back(kernel(keys.back(), std::string(i == 7 ? 600'000 : 5000, static_cast<char>(i)) + std::to_string(i)));
  }
  kernels->put(all);
  EXPECT_THAT(kernels->missing(keys), IsEmpty());
  const auto found = kernels->get(keys);
  ASSERT_THAT(found, SizeIs(kCount));
  for (const SharedKernel& one : found) EXPECT_EQ(sha256(one.bytes), one.sha256);
}

TEST_P(SharedKernelsTest, ARefusedKernelIsAnEventAndCanBeStoredAgain) {
  const auto store = open();
  const auto session = begin(*store, 1);
  const auto kernels = store->open_kernels();
  kernels->put(std::vector{kernel(key(1), "good")});
  kernels->refuse(session, "host/1/fake:0", kernels->get(std::vector{key(1)}).at(0));
  EXPECT_EQ(kernels->missing(std::vector{key(1)}), std::vector{key(1)});
  const auto events = store->events(session, "kernel_refused", 5);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].agent, "host/1/fake:0");
  EXPECT_THAT(events[0].text, ::testing::HasSubstr(key(1).recipe));
  kernels->put(std::vector{kernel(key(1), "good")});
  EXPECT_EQ(kernels->get(std::vector{key(1)}).at(0).bytes, "good");
}

TEST_P(SharedKernelsTest, ARefusalRemovesAllKernelsOfBadBytesAndNoneOfGoodOnes) {
  const auto store = open();
  const auto session = begin(*store, 1);
  const auto kernels = store->open_kernels();
  const std::vector keys = {key(1), key(2)};
  std::vector<SharedKernel> damaged = {kernel(key(1), "good"), kernel(key(2), "good")};
  for (SharedKernel& one : damaged) one.bytes = "bad";
  kernels->put(damaged);
  kernels->put(std::vector{kernel(key(3), "another")});
  kernels->refuse(session, "me", kernels->get(std::vector{key(1)}).at(0));
  EXPECT_EQ(kernels->missing(keys), keys);
  EXPECT_THAT(kernels->missing(std::vector{key(3)}), IsEmpty());
  EXPECT_EQ(number("SELECT count(*) FROM built_kernel"), 1) << "none is left without its bytes";
  EXPECT_EQ(number("SELECT count(*) FROM event WHERE kind = 'kernel_refused' AND job = 0"), 1);
  kernels->put(std::vector{kernel(key(1), "good"), kernel(key(2), "good")});
  kernels->refuse(session, "a slow agent", damaged[1]);
  EXPECT_THAT(kernels->get(keys), SizeIs(2)) << "the bytes were replaced";
}

TEST_P(SharedKernelsTest, AKernelWithoutItsBytesIsMissingAndCanBeStoredAgain) {
  const auto kernels = open()->open_kernels();
  kernels->put(std::vector{kernel(key(1), "first")});
  run("DELETE FROM kernel_bytes");
  EXPECT_EQ(kernels->missing(std::vector{key(1)}), std::vector{key(1)});
  kernels->put(std::vector{kernel(key(1), "second")});
  ASSERT_THAT(kernels->get(std::vector{key(1)}), SizeIs(1));
  EXPECT_EQ(kernels->get(std::vector{key(1)})[0].bytes, "second");
}

TEST_P(SharedKernelsTest, AnEmptyListAndARecipeThatIsNoneAreNothing) {
  const auto kernels = open()->open_kernels();
  kernels->put({});
  EXPECT_THAT(kernels->get({}), IsEmpty());
  EXPECT_THAT(kernels->get(std::vector{KernelKey{"a", "' OR '1' = '1", "b"}}), IsEmpty());
}

}  // namespace
}  // namespace attune
