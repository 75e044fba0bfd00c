// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::IsEmpty;

/// The host, described as another processor whose instructions it has as well.
class DescribedHost final : public Device {
 public:
  explicit DescribedHost(const std::string& gfx) : host_(open_device("cpu:0")), info_(host_->info()) {
    if (!gfx.empty()) info_.gfx = gfx;
  }
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override { return host_->relative_clock(); }
  bool healthy() noexcept override { return host_->healthy(); }
  DeviceMemory& memory() override { return host_->memory(); }
  std::unique_ptr<Stream> open_stream() override { return host_->open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return host_->bandwidth_gbs(bytes, reading); }

 private:
  std::unique_ptr<Device> host_;
  DeviceInfo info_;
};

/// Why this processor cannot compute as one of that name; empty: it can.
std::string missing_for(std::string_view gfx) {
  const DeviceInfo here = open_device("cpu:0")->info();
  const InstructionSets has = here.instruction_sets(), wanted = InstructionSets::of(gfx.empty() ? here.gfx : gfx);
  if (!wanted.has(InstructionSet::avx2)) return "this processor has no AVX2";
  for (const InstructionSet one :
       {InstructionSet::avx2, InstructionSet::avx512, InstructionSet::avx512_vnni, InstructionSet::avx_vnni}) {
    if (wanted.has(one) && !has.has(one)) return fmt::format("this processor has no {}", gfx);
  }
  return {};
}

/// By the name of a processor; empty: the one that is here.
class JitCpuQuantised : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!solver_.unavailable().empty()) GTEST_SKIP() << solver_.unavailable();
    if (const std::string missing = missing_for(GetParam()); !missing.empty()) GTEST_SKIP() << missing;
  }
  std::string start(const std::string& text) { return solver_.backend().default_config(solver_.problem(text)).key(); }
  std::string dot(int rows, int width, int unroll = 1, const char* prefetch = "off", int k_block = 0,
                  int threads = 1) const {
    return fmt::format("kernel=dot;rows={};width={};unroll={};prefetch={};k_block={};threads={}", rows, width, unroll,
                       prefetch, k_block, threads);
  }
  std::string tile(int rows, int width, int k_block = 0, int threads = 1) const {
    return fmt::format("kernel=tile;rows={};width={};k_block={};threads={}", rows, width, k_block, threads);
  }
  /// One config of each kind of code: blocks with fewer rows than columns and more, several sums, blocks of K.
  std::vector<std::string> kinds() const {
    return {dot(1, 1), dot(1, 4, 2, "row"), dot(2, 3, 1, "tile", 64), dot(4, 2, 1), tile(4, 1), tile(6, 2, 64)};
  }

  OpenedSolver solver_{"jit_cpu.gemm_a8w8", std::make_unique<DescribedHost>(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(All, JitCpuQuantised, testing::Values("", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4"),
                         [](const auto& instance) {
                           std::string name(instance.param);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '+'; }, '_');
                           return name.empty() ? std::string("here") : name;
                         });

TEST_P(JitCpuQuantised, EveryKernelComputesEveryRemainderTypeAndScale) {
  for (const std::string& config : kinds()) {
    for (const int m : {1, 2, 5, 9}) {
      for (const int n : {1, 3, 17, 33}) {
        for (const int k : {1, 15, 64, 101, 130}) {
          const auto problem =
              fmt::format("gemm_a8w8 m={} n={} k={} bias={} outdtype={} scale={}", m, n, k, (m + k) % 2,
                          (n + k) % 2 == 0 ? "bf16" : "fp16", (m + n) % 4 == 0 ? "tensor" : "row");
          ASSERT_THAT(solver_.wrong(problem, config), IsEmpty());
        }
      }
    }
  }
}

TEST_P(JitCpuQuantised, EveryRemainderOfKIsMultiplied) {
  for (int k = 1; k <= 140; ++k) {
    const auto problem = fmt::format("gemm_a8w8 m=3 n=5 k={} bias=1", k);
    for (const std::string& config : {dot(2, 3, 2), tile(4, 1)}) ASSERT_THAT(solver_.wrong(problem, config), IsEmpty());
  }
}

TEST_P(JitCpuQuantised, EveryScaleAndTypeIsApplied) {
  for (const char* scale : {"row", "tensor"}) {
    for (const char* type : {"bf16", "fp16"}) {
      for (const int bias : {0, 1}) {
        const auto problem = fmt::format("gemm_a8w8 m=5 n=37 k=70 bias={} outdtype={} scale={}", bias, type, scale);
        for (const std::string& config : kinds()) EXPECT_THAT(solver_.wrong(problem, config), IsEmpty());
      }
    }
  }
}

/// As one sum in 32 bits and in parts; the last part has one element, and the second ends with a whole vector.
TEST_P(JitCpuQuantised, SumsOfManyProductsAreExact) {
  for (const int k : {131'008, 131'009, 131'071, 131'072, 262'145}) {
    const auto problem = fmt::format("gemm_a8w8 m=2 n=3 k={} bias=1", k);
    for (const std::string& config : {dot(1, 2, 2), dot(2, 2, 1, "off", 1024), tile(4, 1), tile(4, 1, 4096)}) {
      const auto large = [&](int a, int b) {
        return solver_.computed(problem, config, [&](const HostTensors& to) {
          std::fill(to.operands[0].begin(), to.operands[0].end(), static_cast<std::byte>(a));
          std::fill(to.operands[1].begin(), to.operands[1].end(), static_cast<std::byte>(b));
          from_float(DType::fp32, std::vector<float>(2, 1.0F), to.operands[2].data());
          from_float(DType::fp32, std::vector<float>(3, 1.0F), to.operands[3].data());
          std::fill(to.operands[4].begin(), to.operands[4].end(), std::byte{0});
        });
      };
      for (const auto& [a, b] : {std::pair{-128, -128}, {-128, 127}, {127, 127}, {-1, -128}}) {
        const double want = static_cast<double>(a) * b * k;
        for (const float got : large(a, b)) ASSERT_NEAR(got, want, std::abs(want) / 256) << config << " " << problem;
      }
      ASSERT_THAT(solver_.wrong(problem, config), IsEmpty());
    }
  }
}

/// Sums below 2^24 and scales of 1 leave nothing to round but the result: a sum that saturates anywhere differs.
TEST_P(JitCpuQuantised, NoSumSaturates) {
  for (const std::string& config : kinds()) {
    for (const auto& [a, b] : {std::pair{-128, -128}, {-128, 127}, {127, -128}, {127, 127}, {-127, 127}}) {
      const auto got = solver_.computed("gemm_a8w8 m=4 n=18 k=256", config, [&](const HostTensors& to) {
        std::fill(to.operands[0].begin(), to.operands[0].end(), static_cast<std::byte>(a));
        std::fill(to.operands[1].begin(), to.operands[1].end(), static_cast<std::byte>(b));
        from_float(DType::fp32, std::vector<float>(4, 1.0F), to.operands[2].data());
        from_float(DType::fp32, std::vector<float>(18, 1.0F), to.operands[3].data());
      });
      std::vector<std::byte> rounded(2);
      from_float(DType::bf16, std::vector<float>{static_cast<float>(a * b * 256)}, rounded.data());
      std::vector<float> want(1);
      to_float(DType::bf16, rounded.data(), want);
      EXPECT_THAT(got, testing::Each(want.front())) << config << " " << a << " " << b;
    }
  }
}

TEST_P(JitCpuQuantised, AnElementsBitsDependOnNeitherConfigNorPlace) {
  const auto computed = [&](int m, const std::string& config) {
    const auto text = fmt::format("gemm_a8w8 m={} n=37 k=200 bias=1", m);
    return solver_.computed(text, config, [&](const HostTensors& to) {
      // Rows are filled from the front, so that a shorter a has the rows of a longer one.
      for (size_t i = 0; i < to.operands[0].size(); ++i) to.operands[0][i] = static_cast<std::byte>(i * 37 % 255);
      for (size_t i = 0; i < to.operands[1].size(); ++i) to.operands[1][i] = static_cast<std::byte>(i * 91 % 253);
      std::vector<float> scales(37);
      for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01F + 0.0137F * static_cast<float>(i % 11);
      from_float(DType::fp32, std::span(scales).first(static_cast<size_t>(m)), to.operands[2].data());
      from_float(DType::fp32, scales, to.operands[3].data());
      from_float(DType::bf16, scales, to.operands[4].data());
    });
  };
  const std::vector<float> all = computed(13, dot(1, 1));
  for (const std::string& config : kinds()) {
    EXPECT_EQ(computed(13, config), all) << config;
    for (const int m : {1, 4, 7}) {
      const std::vector<float> some = computed(m, config);
      EXPECT_EQ(some, std::vector<float>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some.size())))
          << config << " m=" << m;
    }
  }
}

TEST_P(JitCpuQuantised, ThreadsDivideColumnsAndRows) {
  for (const int threads : {1, static_cast<int>(solver_.device().info().num_units)}) {
    for (const std::string shape : {"m=3 n=700 k=65", "m=700 n=3 k=65", "m=1100 n=40 k=33", "m=2100 n=2 k=20"}) {
      for (const std::string& config : {dot(2, 2, 1, "off", 0, threads), tile(4, 2, 0, threads)})
        ASSERT_THAT(solver_.wrong("gemm_a8w8 " + shape, config), IsEmpty());
    }
  }
}

TEST_P(JitCpuQuantised, EveryStartIsAConfigOfItsSpaceAndRight) {
  for (const int m : {1, 2, 3, 4, 5, 6, 8, 9, 16, 40, 130}) {
    for (const int n : {1, 5, 7, 40}) {
      const auto text = fmt::format("gemm_a8w8 m={} n={} k=70", m, n);
      const Problem problem = solver_.problem(text);
      const Config config = solver_.backend().default_config(problem);
      EXPECT_EQ(why_outside(solver_.backend().space(problem), config, problem, solver_.device().info()), std::nullopt)
          << text << " " << config.key();
      EXPECT_THAT(solver_.wrong(text, config.key()), IsEmpty());
    }
  }
  EXPECT_THAT(solver_.wrong("gemm_a8w8 m=20 n=40 k=5000", start("gemm_a8w8 m=20 n=40 k=5000")), IsEmpty());
}

TEST_P(JitCpuQuantised, ASmallProductStartsOnOneThread) {
  const auto threads = [&](const std::string& sizes) {
    return Config::parse(start("gemm_a8w8 " + sizes)).integer("threads");
  };
  EXPECT_EQ(threads("m=1 n=64 k=64"), 1);
  EXPECT_EQ(threads("m=1 n=65 k=64"), solver_.device().info().num_units);
  EXPECT_EQ(threads("m=16 n=128 k=128"), 1);
}

TEST_P(JitCpuQuantised, OffersTwentyConfigsOrMoreWhereverXHasFewRows) {
  for (const int m : {1, 2, 4, 8, 16, 32, 64, 512})
    EXPECT_GE(solver_.configs(fmt::format("gemm_a8w8 m={} n=4096 k=4096", m)).size(), 20u) << m;
}

TEST_P(JitCpuQuantised, ItsInvariantSpaceIsTheSameForEveryM) {
  const auto space = [&](int m) {
    return solver_.backend().invariant_space(solver_.problem(fmt::format("gemm_a8w8 m={} n=96 k=5000", m)));
  };
  EXPECT_GT(space(1).size(), 0u);
  for (const int m : {2, 37, 4096}) EXPECT_EQ(space(m), space(1)) << m;
}

TEST_P(JitCpuQuantised, BinariesKnowNoSizes) {
  std::set<std::string> recipes;
  for (const std::string size : {"m=40 n=50 k=70", "m=47 n=513 k=1000"}) {
    const Problem problem = solver_.problem("gemm_a8w8 " + size);
    for (const auto& task :
         solver_.solver().compile_tasks(problem, solver_.backend().default_config(problem), solver_.device().info()))
      recipes.insert(task.recipe());
  }
  EXPECT_EQ(recipes.size(), 1u);
}

/// fp8 and e2m1, by the name of a processor.
class JitCpuFloats : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!a8w8_.unavailable().empty()) GTEST_SKIP() << a8w8_.unavailable();
    if (const std::string missing = missing_for(GetParam()); !missing.empty()) GTEST_SKIP() << missing;
  }
  OpenedSolver& solver_of(const std::string& text) {
    const std::string op = text.substr(0, text.find(' '));
    return op == "gemm_a8w8" ? a8w8_ : op == "gemm_a8w8_blockscale" ? blocks_ : mxfp4_;
  }
  /// The start and configs of each kind of code: one row and several, one vector and several, blocks of K.
  std::vector<std::string> kinds(const std::string& text) {
    OpenedSolver& solver = solver_of(text);
    std::vector<std::string> configs = {solver.backend().default_config(solver.problem(text)).key()};
    if (text.find("bpreshuffle=1") != std::string::npos) {
      for (const char* config : {"kernel=stream;rows=1;width=4;prefetch=0;k_block=0;threads=1",
                                 "kernel=stream;rows=3;width=2;prefetch=512;k_block=0;threads=2",
                                 "kernel=tile;rows=4;width=1;prefetch=512;k_block=128;threads=2",
                                 "kernel=tile;rows=2;width=3;prefetch=0;k_block=0;threads=1"})
        configs.push_back(fmt::format("b_layout=host.vnni8x16.v1;{}", config));
      return configs;
    }
    for (const char* blocks :
         {"k_block=0;prefetch=0;rows=1;threads=1;width=4", "k_block=128;prefetch=512;rows=4;threads=2;width=1",
          "k_block=256;prefetch=1024;rows=3;threads=1;width=2"}) {
      if (text.starts_with("gemm_a4w4")) {
        configs.push_back(fmt::format("kernel=tile;{}", blocks));
        continue;
      }
      const bool has_dot = configs.front().find("kernel=") != std::string::npos;
      const std::string kernel = has_dot ? "kernel=tile;" : "";
      configs.push_back(fmt::format("{}engine=fp32;{}", kernel, blocks));
      if (configs.front().find("bf16") != std::string::npos)
        configs.push_back(fmt::format("{}engine=bf16;{}", kernel, blocks));
    }
    if (configs.front().find("kernel=") == std::string::npos) return configs;
    for (const char* dot : {"rows=1;width=4;unroll=2;prefetch=0", "rows=4;width=2;unroll=1;prefetch=512",
                            "rows=2;width=3;unroll=1;prefetch=1024"})
      configs.push_back(
          fmt::format("kernel=dot;{}k_block=0;threads=2;{}", text.starts_with("gemm_a4w4") ? "" : "engine=bf16;", dot));
    return configs;
  }

  /// Whether kernels of this processor read packed weights.
  bool packs() {
    const Problem problem = mxfp4_.problem("gemm_a4w4_blockscale m=1 n=1 k=1 bpreshuffle=1");
    return mxfp4_.solver().supports(problem, mxfp4_.device().info()).yes;
  }

  OpenedSolver a8w8_{"jit_cpu.gemm_a8w8", std::make_unique<DescribedHost>(GetParam())};
  OpenedSolver blocks_{"jit_cpu.gemm_a8w8_blockscale", std::make_unique<DescribedHost>(GetParam())};
  OpenedSolver mxfp4_{"jit_cpu.gemm_a4w4_blockscale", std::make_unique<DescribedHost>(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(All, JitCpuFloats, testing::Values("", "x86-64-v3", "x86-64-v3+vnni", "x86-64-v4"),
                         [](const auto& instance) {
                           std::string name(instance.param);
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '-' || c == '+'; }, '_');
                           return name.empty() ? std::string("here") : name;
                         });

TEST_P(JitCpuFloats, EveryKernelComputesEveryRemainder) {
  for (const char* op :
       {"gemm_a8w8 q_dtype_w=e4m3fn bias=1", "gemm_a8w8 q_dtype_w=e4m3fnuz scale=tensor outdtype=fp16",
        "gemm_a8w8_blockscale q_dtype_w=e4m3fn", "gemm_a8w8_blockscale q_dtype_w=e4m3fnuz outdtype=fp16",
        "gemm_a4w4_blockscale", "gemm_a4w4_blockscale outdtype=fp16", "gemm_a4w4_blockscale bpreshuffle=1"}) {
    if (std::string_view(op).ends_with("bpreshuffle=1") && !packs()) continue;
    for (const char* sizes : {"m=1 n=1 k=1", "m=1 n=16 k=31", "m=3 n=17 k=33", "m=4 n=5 k=127", "m=5 n=33 k=129",
                              "m=9 n=130 k=257", "m=2 n=64 k=640", "m=13 n=47 k=1023"}) {
      const auto text = fmt::format("{} {}", op, sizes);
      for (const std::string& config : kinds(text)) ASSERT_THAT(solver_of(text).wrong(text, config), IsEmpty());
    }
  }
}

/// Every code of a type, in a of one element a row, times one.
TEST_P(JitCpuFloats, EveryCodeIsDecodedInBothOperands) {
  const auto expect_codes = [&](const std::string& text, DType in, const std::vector<std::byte>& one) {
    std::vector<std::byte> codes(256);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(in == DType::e2m1 ? i & 15 : i);
    std::vector<float> want;
    for (const std::byte code : codes) {
      std::vector<float> value(1);
      to_float(in, &code, value);
      want.push_back(value.front());
    }
    for (const bool of_a : {true, false}) {
      const auto problem = fmt::format("{} outdtype=bf16 m={} n={} k=1", text, of_a ? 256 : 1, of_a ? 1 : 256);
      for (const std::string& config : kinds(problem)) {
        const std::vector<float> got = solver_of(problem).computed(problem, config, [&](const HostTensors& to) {
          std::copy(codes.begin(), codes.end(), to.operands[of_a ? 0 : 1].begin());
          std::copy(one.begin(), one.begin() + 1, to.operands[of_a ? 1 : 0].begin());
          for (const size_t scale : {2, 3}) {
            auto scales = to.operands[scale];
            if (in == DType::e2m1)
              std::fill(scales.begin(), scales.end(), std::byte{127});
            else
              from_float(DType::fp32, std::vector<float>(scales.size() / 4, 1.0F), scales.data());
          }
        });
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < want.size(); ++i) {
          if (want[i] == want[i])
            ASSERT_EQ(got[i], want[i]) << problem << " " << config << " code " << i;
          else
            ASSERT_TRUE(got[i] != got[i]) << problem << " " << config << " code " << i;
        }
      }
    }
  };
  expect_codes("gemm_a8w8 q_dtype_w=e4m3fn", DType::e4m3fn, {std::byte{0x38}});
  expect_codes("gemm_a8w8 q_dtype_w=e4m3fnuz", DType::e4m3fnuz, {std::byte{0x40}});
  expect_codes("gemm_a8w8_blockscale q_dtype_w=e4m3fn", DType::e4m3fn, {std::byte{0x38}});
  expect_codes("gemm_a4w4_blockscale", DType::e2m1, {std::byte{0x02}});
}

/// Of an odd K, the last byte of a row has a half that is no element.
TEST_P(JitCpuFloats, TheUnusedHalfOfARowIsNotRead) {
  const std::string text = "gemm_a4w4_blockscale m=2 n=3 k=5";
  for (const std::string& config : kinds(text)) {
    const std::vector<float> got = mxfp4_.computed(text, config, [](const HostTensors& to) {
      std::fill(to.operands[0].begin(), to.operands[0].end(), std::byte{0x22});  // Ones.
      std::fill(to.operands[1].begin(), to.operands[1].end(), std::byte{0x22});
      for (const size_t scale : {2, 3}) std::fill(to.operands[scale].begin(), to.operands[scale].end(), std::byte{127});
    });
    EXPECT_THAT(got, testing::Each(5.0F)) << config;
  }
}

/// 2^-127 of a code 0, and NaN of 255 in exactly the row that has it.
TEST_P(JitCpuFloats, ScalesOfE8m0AreDecoded) {
  const std::string text = "gemm_a4w4_blockscale m=3 n=4 k=70";
  for (const std::string& config : kinds(text)) {
    const std::vector<float> got = mxfp4_.computed(text, config, [](const HostTensors& to) {
      std::fill(to.operands[0].begin(), to.operands[0].end(), std::byte{0x22});
      std::fill(to.operands[1].begin(), to.operands[1].end(), std::byte{0x22});
      std::fill(to.operands[2].begin(), to.operands[2].end(), std::byte{254});
      std::fill(to.operands[3].begin(), to.operands[3].end(), std::byte{0});
      to.operands[2][2] = std::byte{255};  // Row 0 of a, the last block.
    });
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(got[i] != got[i]) << config;
    for (size_t i = 4; i < 12; ++i) EXPECT_EQ(got[i], 70.0F) << config;
  }
}

TEST_P(JitCpuFloats, AnElementsBitsDependNeitherOnMNorOnBlocks) {
  for (const char* op : {"gemm_a8w8 q_dtype_w=e4m3fn", "gemm_a8w8_blockscale", "gemm_a4w4_blockscale"}) {
    const auto computed = [&](int m, const std::string& config) {
      const auto text = fmt::format("{} m={} n=37 k=300", op, m);
      return solver_of(text).computed(text, config, [&](const HostTensors& to) {
        for (const size_t i : {0, 1})
          for (size_t at = 0; at < to.operands[i].size(); ++at)
            to.operands[i][at] = static_cast<std::byte>(at * (37 + i) % 120);
        for (const size_t i : {2, 3}) {
          if (text.starts_with("gemm_a4w4")) {
            for (size_t at = 0; at < to.operands[i].size(); ++at)
              to.operands[i][at] = static_cast<std::byte>(120 + at % 9);
            continue;
          }
          std::vector<float> scales(to.operands[i].size() / 4);
          for (size_t at = 0; at < scales.size(); ++at) scales[at] = 0.01F + 0.0137F * static_cast<float>(at % 11);
          from_float(DType::fp32, scales, to.operands[i].data());
        }
      });
    };
    const std::string text = fmt::format("{} m=13 n=37 k=300", op);
    std::map<std::string, std::vector<float>> all;  // By engine.
    for (const std::string& config : kinds(text)) {
      const Config parsed = Config::parse(config);
      std::string engine = parsed.has("engine") ? parsed.text("engine") : "";
      if (config.find("kernel=dot") != std::string::npos) engine = fmt::format("dot {}", parsed.integer("unroll"));
      const std::vector<float> got = computed(13, config);
      EXPECT_EQ(all.emplace(engine, got).first->second, got) << config;
      for (const int m : {1, 4, 7}) {
        const std::vector<float> some = computed(m, config);
        EXPECT_EQ(some, std::vector<float>(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(some.size())))
            << config;
      }
    }
  }
}

TEST_P(JitCpuFloats, PackedWeightsAreReadWithAvx512) {
  EXPECT_EQ(packs(), mxfp4_.device().info().instruction_sets().has(InstructionSet::avx512));
}

TEST_P(JitCpuFloats, SpacesHaveTwentyConfigsAndTheStart) {
  for (const char* op : {"gemm_a8w8 q_dtype_w=e4m3fn", "gemm_a8w8_blockscale", "gemm_a4w4_blockscale",
                         "gemm_a4w4_blockscale bpreshuffle=1"}) {
    if (std::string_view(op).ends_with("bpreshuffle=1") && !packs()) continue;
    for (const int m : {1, 2, 3, 4, 5, 8, 16, 32, 512}) {
      const auto text = fmt::format("{} m={} n=4096 k=4096", op, m);
      OpenedSolver& solver = solver_of(text);
      const Problem problem = solver.problem(text);
      EXPECT_GE(solver.configs(text).size(), 20u) << text;
      const Config start = solver.backend().default_config(problem);
      EXPECT_EQ(why_outside(solver.backend().space(problem), start, problem, solver.device().info()), std::nullopt)
          << text << " " << start.key();
    }
  }
}

}  // namespace
}  // namespace attune
