// SPDX-License-Identifier: MIT
#include "dispatch/table_snapshot_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/file.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

class TableSnapshotStoreTest : public testing::Test {
 protected:
  static constexpr size_t kOp = 0, kOtherOp = 1;  // Places in families().

  void write(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + rows);
  }
  std::unique_ptr<Snapshot> read(const Snapshot* before = nullptr) { return store().read(device_, before); }
  TableSnapshotStore& store() {
    if (!store_) store_ = std::make_unique<TableSnapshotStore>(options_, codes_);
    return *store_;
  }

  TestFolder folder_;
  std::filesystem::path table_ = folder_.path() / "t.csv";
  const FamilyCodes codes_;
  DeviceInfo device_{.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4};
  DispatcherOptions options_{.tables = {{"gemm_a16w16", {table_}}}};
  std::unique_ptr<TableSnapshotStore> store_;
};

TEST_F(TableSnapshotStoreTest, UnchangedFilesGiveNoSnapshot) {
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto first = read();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->rows(kOp).num_rows(), 1u);
  EXPECT_EQ(read(first.get()), nullptr);
}

TEST_F(TableSnapshotStoreTest, EqualDevicesShareTheirRows) {
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto rows_of = [&](const DeviceInfo& device) {
    const FamilyCodes codes;
    return TableSnapshotStore(options_, codes).read(device, nullptr)->tables[kOp].rows;
  };
  const auto first = rows_of(device_);
  DeviceInfo other = device_;
  other.id = "fake:1";
  EXPECT_EQ(rows_of(other), first);
  other.num_units = 8;
  EXPECT_NE(rows_of(other), first) << "the rows of 8 units";
  options_.require = Requirement::deterministic;
  EXPECT_NE(rows_of(device_), first);
  options_.require = Requirement::none;
  write("fake,4,2,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  EXPECT_NE(rows_of(device_), first) << "the table has changed";
}

TEST_F(TableSnapshotStoreTest, AChangedTableIsReadAndTheOthersAreShared) {
  write("");
  const auto first = read();
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto second = read(first.get());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->rows(kOp).num_rows(), 1u);
  EXPECT_EQ(&second->rows(kOtherOp), &first->rows(kOtherOp));
  std::filesystem::remove(table_);
  const auto third = read(second.get());
  ASSERT_NE(third, nullptr) << "a table that is gone is a change";
  EXPECT_EQ(third->rows(kOp).num_rows(), 0u);
}

TEST_F(TableSnapshotStoreTest, TablesInUseAndNoticesNameTheirFile) {
  write("fake,4,x,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto snapshot = read();
  const auto tables = snapshot->in_use();
  ASSERT_FALSE(tables.empty());
  const TableInUse& table = tables.front();
  EXPECT_EQ(table.op, "gemm_a16w16");
  EXPECT_EQ(table.file, table_);
  EXPECT_TRUE(table.is_there);
  EXPECT_THAT(snapshot->notices(), testing::Contains(HasSubstr(table_.string())));
}

TEST_F(TableSnapshotStoreTest, OnlyNamedTablesReplaceAllOthers) {
  EXPECT_TRUE(store().are_explicit(kOp));
  EXPECT_FALSE(store().are_explicit(kOtherOp));
}

TEST_F(TableSnapshotStoreTest, EarlierRowsStayInUseWhileANamedTableIsTorn) {
  options_.tables.clear();
  const TestEnvironment named("AITER_CONFIG_GEMM_BF16", table_.string());
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto first = read();
  EXPECT_EQ(first->rows(kOp).num_rows(), 1u);
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\nfake,4,2,16");
  const auto torn = read(first.get());
  ASSERT_NE(torn, nullptr);
  EXPECT_EQ(&torn->rows(kOp), &first->rows(kOp));
  EXPECT_THAT(torn->notices(), testing::Contains(HasSubstr("its earlier rows stay in use")));
  EXPECT_EQ(read(torn.get()), nullptr) << "it is not read again until it changes";
  write(
      "fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n"
      "fake,4,2,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto whole = read(torn.get());
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->rows(kOp).num_rows(), 2u);
  EXPECT_THAT(whole->notices(), testing::Not(testing::Contains(HasSubstr("earlier rows"))));
}

TEST_F(TableSnapshotStoreTest, StrictRefusesANamedFileThatIsNoTableAtTheStart) {
  options_.tables.clear();
  const TestEnvironment named("ATTUNE_CONFIG_GEMM_BF16", table_.string()), strict("ATTUNE_CONFIG_STRICT", "1");
  EXPECT_THROW(read(), Error);
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  EXPECT_NE(read(), nullptr);
}

TEST_F(TableSnapshotStoreTest, PathsAreThoseOfTheFolderInWhichTheyWereRead) {
  options_.tables.clear();
  const auto before_folder = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const TestEnvironment named("ATTUNE_CONFIG_GEMM_BF16", "t.csv"), home("ATTUNE_HOME", "home");
  store();
  std::filesystem::current_path(before_folder);
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto first = read();
  EXPECT_EQ(first->rows(kOp).num_rows(), 1u);
  EXPECT_EQ(first->in_use().front().file, table_);
}

TEST_F(TableSnapshotStoreTest, TheEnvironmentIsReadOnlyWhenAsked) {
  options_.tables.clear();
  write("fake,4,1,16,16,torch.float32,torch.float32,1,a.b@1:x=1\n");
  const auto before = read();
  const TestEnvironment named("ATTUNE_CONFIG_GEMM_BF16", table_.string());
  EXPECT_EQ(read(before.get()), nullptr);
  store().read_environment();
  const auto after = read(before.get());
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->rows(kOp).num_rows(), 1u);
}

}  // namespace
}  // namespace attune
