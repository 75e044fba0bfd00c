// SPDX-License-Identifier: MIT
#include "formats/csv/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "formats/csv/table.h"
#include "formats/csv/table_diff.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PublishedRow row_of(const std::string& problem, double us) {
  PublishedRow row;
  row.problem = Problem::parse(problem);
  row.gfx = "x86-64-v4+amx";
  row.num_units = 2;
  row.model = "Some CPU @ 2.0GHz";
  row.kernel_name = "jit_cpu.gemm@1:bk=64;bm=32";
  row.libtype = "jit_cpu";
  row.us = us;
  row.err_ratio = 0.00125;
  row.tflops = 1.234;
  row.bw = 10;
  return row;
}

const std::string kSmall = "gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0";
const std::string kSmallRow =
    "x86-64-v4+amx,2,1,2,3,False,torch.bfloat16,torch.bfloat16,False,False,jit_cpu,-1,1,7.5000,jit_cpu.gemm@1:bk=64;bm="
    "32,0.0013,1.23,10.00,Some CPU @ 2.0GHz,plain\n";
const std::string kFullHeader =
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw";

class Publish : public testing::Test {
 protected:
  PublishReport run(std::vector<PublishedRow> rows, const PublishOptions& options = {}) {
    return publish(path_, family_, rows, options);
  }
  std::string content() const { return read_file(path_); }
  const FamilySpec& family_ = *find_family("gemm_a16w16");
  TestFolder folder_;
  std::filesystem::path path_ = folder_.path() / "bf16_tuned_gemm.csv";
};

TEST_F(Publish, ANewFileHasGfxFirstAndEveryColumn) {
  const auto report = run({row_of(kSmall, 7.5)});
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.num_added, 1u);
  EXPECT_EQ(content(), kFullHeader + ",device,layout\n" + kSmallRow);
}

TEST_F(Publish, WhatIsPublishedIsFound) {
  run({row_of(kSmall, 7.5), row_of(kSmall + " trans_b=0", 8)});
  const auto table = Table::read(path_.string());
  const auto* found = table.find(Problem::parse(kSmall), "x86-64-v4+amx", 2, "Some CPU @ 2.0GHz");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->us, 7.5);
  EXPECT_EQ(found->layout, "plain");
  EXPECT_EQ(found->kernel_name, "jit_cpu.gemm@1:bk=64;bm=32");
  EXPECT_EQ(table.find(Problem::parse(kSmall + " trans_b=0"), "x86-64-v4+amx", 2)->us, 8);
}

TEST_F(Publish, EveryOtherRowStaysByteForByteAndInPlace) {
  const std::string others = read_file(excerpt("bf16_tuned_gemm.csv"));
  const std::string header = others.substr(0, others.find('\n') + 1), rows = others.substr(header.size());
  folder_.put("bf16_tuned_gemm.csv",
              header + rows + "\n" +
                  "x86-64-v4+amx,2,1,2,3,FALSE,torch.bfloat16,torch.bfloat16,False,False,onednn,3,0,9,old,0,1,"
                  "1\n\ngfx942 ,304,\t1,2,3,False,bf16,bf16,False,False,asm,1,1,\"5\",k,0,1,1");
  const auto report = run({row_of(kSmall, 7.5), row_of("gemm_a16w16 m=9 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0", 1)});
  EXPECT_EQ(report.num_replaced, 1u);
  EXPECT_EQ(report.num_added, 1u);
  const std::string text = content();
  EXPECT_EQ(text, kFullHeader + ",device,layout\n" + rows + "\n" + kSmallRow +
                      "\ngfx942 ,304,\t1,2,3,False,bf16,bf16,False,False,asm,1,1,\"5\",k,0,1,1\n" +
                      "x86-64-v4+amx,2,9,2,3,False,torch.bfloat16,torch.bfloat16,False,False,jit_cpu,-1,1,1.0000,jit_"
                      "cpu.gemm@1:bk=64;bm=32,0.0013,1.23,10.00,Some CPU @ 2.0GHz,plain\n");
}

TEST_F(Publish, TheOrderAndLineEndsOfTheFileAreKept) {
  folder_.put("bf16_tuned_gemm.csv",
              "\xef\xbb\xbfus,comment,K,N,m,cu_num,kernelName\r\n1,\"mine, kept\",3,2,1,2,old\r\n");
  run({row_of(kSmall, 7.5)});
  // The old row has no architecture for cu_num 2, so it belongs to another device.
  EXPECT_EQ(content(),
            "\xef\xbb\xbfus,comment,K,N,m,cu_num,kernelName,gfx,device,layout\r\n1,\"mine, kept\",3,2,1,2,old\r\n"
            "7.5000,,3,2,1,2,jit_cpu.gemm@1:bk=64;bm=32,x86-64-v4+amx,Some CPU @ 2.0GHz,plain\r\n");
  run({row_of(kSmall, 7)});
  EXPECT_THAT(content(), HasSubstr("\r\n7.0000,,3,2,1,2,"));
  EXPECT_EQ(Table::read(path_.string()).rows().size(), 2u);
}

TEST_F(Publish, CellsOfForeignColumnsSurviveAReplacement) {
  folder_.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,kernelName,comment\nx86-64-v4+amx,2,1,2,3,9,old,\"a, b\"\n");
  run({row_of(kSmall, 7.5)});
  EXPECT_EQ(content(),
            "gfx,cu_num,M,N,K,us,kernelName,comment,device,layout\nx86-64-v4+amx,2,1,2,3,7.5000,jit_cpu.gemm@1:bk=64;"
            "bm=32,\"a, b\",Some CPU @ 2.0GHz,plain\n");
}

TEST_F(Publish, TaggedRowsAndOtherModelsAreNotReplacedRepeatedOnesAre) {
  folder_.put("bf16_tuned_gemm.csv",
              "gfx,cu_num,M,N,K,us,kernelName,device,_tag,layout\nx86-64-v4+amx,2,1,2,3,9,tagged,,fallback,\nx86-64-v4+"
              "amx,2,1,2,3,8,other,Another CPU,,\n"
              "x86-64-v4+amx,2,1,2,3,7,mine,,,\nx86-64-v4+amx,2,1,2,3,6,again,,,\n");
  const auto report = run({row_of(kSmall, 7.5)});
  EXPECT_EQ(report.num_replaced, 1u);
  EXPECT_THAT(report.notices, ElementsAre(HasSubstr("removed 1 further row of the same key")));
  const auto table = Table::read(path_.string());
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_EQ(table.rows()[0].kernel_name, "tagged");
  EXPECT_EQ(table.rows()[1].kernel_name, "other");
  EXPECT_EQ(table.rows()[2].us, 7.5);
}

TEST_F(Publish, TwoModelsOfOneArchitectureBothKeepTheirRow) {
  auto one = row_of(kSmall, 5), other = row_of(kSmall, 6);
  other.model = "Another CPU";
  folder_.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,kernelName\nx86-64-v4+amx,2,1,2,3,9,old\n");
  const auto report = run({one, other});
  EXPECT_EQ(report.num_replaced, 1u);
  EXPECT_EQ(report.num_added, 1u);
  run({other, one});
  const auto table = Table::read(path_.string());
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.find(one.problem, one.gfx, 2, one.model)->us, 5);
  EXPECT_EQ(table.find(one.problem, one.gfx, 2, other.model)->us, 6);
}

TEST_F(Publish, OnlyRealImprovementsReplaceOnRequest) {
  run({row_of(kSmall, 100)});
  const auto before = content();
  const PublishOptions options{.update_improved = true, .min_improvement_pct = 3};
  const auto report = run({row_of(kSmall, 98)}, options);
  EXPECT_FALSE(report.written);
  ASSERT_EQ(report.kept_back.size(), 1u);
  EXPECT_EQ(report.kept_back[0].old_us, 100);
  EXPECT_EQ(report.kept_back[0].new_us, 98);
  EXPECT_EQ(report.kept_back[0].reason, "the gain of 2.00 % over the old row is below 3 %");
  EXPECT_EQ(content(), before);
  EXPECT_EQ(run({row_of(kSmall, 97)}, options).num_replaced, 1u);
  EXPECT_EQ(run({row_of(kSmall, 97)}).num_replaced, 1u);
}

TEST_F(Publish, AnUnusableOldTimeIsAlwaysReplaced) {
  folder_.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,kernelName\nx86-64-v4+amx,2,1,2,3,0,old\n");
  EXPECT_EQ(run({row_of(kSmall, 98)}, {.update_improved = true}).num_replaced, 1u);
}

TEST_F(Publish, SortsByDeviceThenNBeforeM) {
  const std::string header = "gfx,cu_num,M,N,K,us,kernelName,device,layout\n";
  folder_.put("bf16_tuned_gemm.csv",
              header + "g,2,1,1,1,1,e,,\n\ng,2,10,2,3,1,d,,\ng,2,9,2,3,1,c,,\ng,2,100,1,3,1,b,,\nf,2,100,9,3,1,a,,");
  PublishOptions options;
  options.sort = true;
  run({}, options);
  EXPECT_EQ(content(),
            header + "f,2,100,9,3,1,a,,\ng,2,1,1,1,1,e,,\ng,2,100,1,3,1,b,,\ng,2,9,2,3,1,c,,\ng,2,10,2,3,1,d,,\n");
  EXPECT_FALSE(run({}, options).written);
}

TEST_F(Publish, NothingToPublishTouchesNothing) {
  EXPECT_FALSE(run({}).written);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Publish, AnEmptyFileIsANewOne) {
  folder_.put("bf16_tuned_gemm.csv", "");
  run({row_of(kSmall, 7.5)});
  EXPECT_EQ(content(), kFullHeader + ",device,layout\n" + kSmallRow);
}

TEST_F(Publish, WhatIsNoTableOfTheFamilyIsRefusedUntouched) {
  for (const std::string text : {"M,N,K\n1,2,3\n", "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName\n",
                                 "M,N\n1,2\n", "gfx,cu_num,M,N,K,us\ng,1,1,2,x,1\n"}) {
    folder_.put("bf16_tuned_gemm.csv", text);
    try {
      run({row_of(kSmall, 7.5)});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), HasSubstr("bf16_tuned_gemm.csv:"));
    }
    EXPECT_EQ(content(), text);
  }
}

TEST_F(Publish, AnAttributeWithoutAColumnIsRefused) { EXPECT_THROW(run({row_of(kSmall + " swizzle=1", 7.5)}), Error); }

TEST_F(Publish, ADanglingLinkIsRefused) {
  std::filesystem::create_symlink("nowhere", path_);
  EXPECT_THROW(run({row_of(kSmall, 7.5)}), Error);
}

TEST_F(Publish, TwoProcessesLoseNoRow) {
  constexpr int kRowsEach = 10;
  const auto publish_own = [&](int base) {
    for (int i = 0; i < kRowsEach; ++i) run({row_of("gemm_a16w16 m=" + std::to_string(base + i) + " n=2 k=3", 1 + i)});
  };
  const pid_t child = ::fork();
  if (child == 0) {
    publish_own(1000);
    ::_exit(0);
  }
  publish_own(1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Table::read(path_.string()).rows().size(), 2u * kRowsEach);
}

TEST_F(Publish, EveryShippedTunedTableTakesARowAndKeepsItsOwn) {
  size_t num_files = 0;
  for (const auto& file : shipped_tables()) {
    const auto name = file.filename().string();
    if (name.find("untuned") != std::string::npos || name.find("tuned") == std::string::npos ||
        name.find("moe") != std::string::npos || name.find("chunk_gdn") != std::string::npos)
      continue;
    if (std::filesystem::file_size(file) > 200'000) continue;
    const auto old = Table::read(file.string());
    folder_.put(name, read_file(file));
    path_ = folder_.path() / name;
    PublishedRow row = row_of("gemm m=7 n=7 k=7 batch=7", 1);
    std::vector<std::pair<std::string, std::string>> attributes;
    for (const AttributeSpec& key : old.family().key) {
      if (!key.optional) attributes.emplace_back(key.name, key.default_value.empty() ? "7" : key.default_value);
    }
    row.problem = Problem(std::string(old.family().op), attributes);
    const auto report = publish(path_, old.family(), std::vector{row});
    EXPECT_EQ(report.num_added, 1u) << name;
    const auto fresh = Table::read(path_.string());
    const auto difference = diff(old, fresh);
    EXPECT_EQ(difference.added.size(), 1u) << name;
    EXPECT_EQ(difference.num_same, old.rows().size()) << name;
    for (size_t i = 0; i < old.rows().size(); ++i) {
      const auto before = old.raw(old.rows()[i]), after = fresh.raw(fresh.rows()[i]);
      ASSERT_TRUE(after.starts_with(before)) << name << ':' << old.rows()[i].line;
    }
    ++num_files;
  }
  if (num_files == 0) GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  EXPECT_GT(num_files, 15u);
}

}  // namespace
}  // namespace attune
