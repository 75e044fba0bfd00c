// SPDX-License-Identifier: MIT
#include "formats/kernel_db/kernel_db.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "formats/bzip2.h"
#include "formats/sqlite_file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

KernelDb two_kernels() {
  return {.schema = KernelDb::own_schema(),
          .kernels = {kernel_db_row(3, "conv.o", " -mcpu=gfx90a",
                                    std::string("\x7f"
                                                "ELF\0code",
                                                9)),
                      kernel_db_row(5, "it's.o", "'); DROP TABLE kern_db; --", std::string(200'000, 'k'))}};
}

std::string kernel_db_error(const KernelDb& db) {
  const TestFolder folder;
  try {
    read_kernel_db(folder.put("a.kdb", kernel_db_bytes(db)));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

TEST(KernelDb, KernelsComeBack) {
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  const TestFolder folder;
  const KernelDb db = two_kernels();
  const auto path = folder.put("a.kdb", kernel_db_bytes(db));
  EXPECT_TRUE(is_kernel_db(path));
  const KernelDb again = read_kernel_db(path);
  EXPECT_EQ(again.schema, db.schema);
  ASSERT_EQ(again.kernels.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.kernels[i].id, db.kernels[i].id);
    EXPECT_EQ(again.kernels[i].name, db.kernels[i].name);
    EXPECT_EQ(again.kernels[i].args, db.kernels[i].args);
    EXPECT_EQ(again.kernels[i].blob, db.kernels[i].blob);
    EXPECT_EQ(again.kernels[i].hash, db.kernels[i].hash);
  }
  EXPECT_EQ(kernel_bytes(again.kernels[1]), std::string(200'000, 'k'));
  EXPECT_EQ(again.kernels[1].blob.substr(0, 4), "BZh9");
}

TEST(KernelDb, ABlobThatIsNotCompressedStatesNoSize) {
  KernelDb db{.schema = KernelDb::own_schema(), .kernels = {{1, "raw.o", "", "plain", md5("plain"), 0}}};
  EXPECT_EQ(kernel_bytes(db.kernels.front()), "plain");
  EXPECT_EQ(kernel_db_error(db), "accepted");
}

TEST(KernelDb, AWrongBlobIsRefusedByName) {
  KernelDb db = two_kernels();
  db.kernels[0].hash = md5("another");
  EXPECT_THAT(kernel_db_error(db), testing::AllOf(HasSubstr("a.kdb: kernel 3 'conv.o': "), HasSubstr("MD5")));
  db = two_kernels();
  db.kernels[1].uncompressed_size += 1;
  EXPECT_THAT(kernel_db_error(db), HasSubstr("kernel 5 'it's.o': the kernel has 200000 bytes and states 200001"));
  db.kernels[1].uncompressed_size = 100;
  EXPECT_THAT(kernel_db_error(db), HasSubstr("expands to more than the 100 bytes"));
  db.kernels[1].uncompressed_size = int64_t{1} << 40;
  EXPECT_THAT(kernel_db_error(db), HasSubstr("a kernel has at most"));
  db.kernels[1].uncompressed_size = -1;
  EXPECT_THAT(kernel_db_error(db), HasSubstr("a kernel has at most"));
  db = two_kernels();
  db.kernels[0].blob.resize(10);
  EXPECT_THAT(kernel_db_error(db), HasSubstr("cut"));
}

TEST(KernelDb, ABombIsNotExpanded) {
  KernelDb db = two_kernels();
  db.kernels[0].blob = bzip2(std::string(100'000'000, '\0'));
  db.kernels[0].uncompressed_size = 4096;
  EXPECT_THAT(kernel_db_error(db), HasSubstr("expands to more than the 4096 bytes"));
}

TEST(KernelDb, AnotherDatabaseIsRefused) {
  const TestFolder folder;
  const auto path = folder.put("a.kdb", kernel_db_bytes(two_kernels()));
  soci::session(soci::sqlite3, "db=\"" + path.string() + "\"") << "CREATE TABLE other (id INTEGER)";
  EXPECT_FALSE(is_kernel_db(path));
  EXPECT_THROW(read_kernel_db(path), Error);
  KernelDb twice = two_kernels();
  twice.kernels.push_back(twice.kernels.front());
  twice.kernels.back().id = 9;
  EXPECT_THROW(kernel_db_bytes(twice), Error);
}

}  // namespace
}  // namespace attune
