// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

class Im2col : public testing::Test {
 protected:
  OpenedSolver im2col_{"conv.im2col"};
  Problem part(const std::string& text) {
    return im2col_.solver().parts(im2col_.problem(text), im2col_.device().info()).front();
  }
};

TEST_F(Im2col, ItsPartIsTheProductOfOneImageAndGroup) {
  EXPECT_EQ(part("conv n=8 c=64 h=56 w=28 k=32 y=3 x=3 pad_h=1 pad_w=1 groups=2").key(),
            "gemm_a16w16 m=16 n=1568 k=288 dtype=fp32 outdtype=fp32 bias=0");
  EXPECT_EQ(part("conv n=8 c=64 h=56 w=28 k=32 y=3 x=3 pad_h=1 pad_w=1 groups=2 layout=NHWC dtype=bf16").key(),
            "gemm_a16w16 m=1568 n=16 k=288 dtype=bf16 outdtype=bf16 bias=0");
  EXPECT_EQ(part("conv direction=bwd_data n=8 c=64 h=56 w=28 k=32 y=1 x=1").key(),
            "gemm_a16w16 m=64 n=1568 k=32 dtype=fp32 outdtype=fp32 bias=0");
  EXPECT_EQ(part("conv direction=bwd_weights n=8 c=64 h=56 w=28 k=32 y=1 x=1 dtype=fp16").key(),
            "gemm_a16w16 m=32 n=64 k=1568 dtype=fp16 outdtype=fp32 bias=0");
}

TEST_F(Im2col, ItsDefaultNeedsNoLibrary) {
  const Config default_config = im2col_.backend().default_config(im2col_.problem("conv n=1 c=4 h=5 w=5 k=4 y=3 x=3"));
  EXPECT_THAT(default_config.text("gemm"), testing::StartsWith("portable.gemm@"));
}

TEST_F(Im2col, RefusesTypesThatNoProductHas) {
  const auto support = im2col_.solver().supports(im2col_.problem("conv n=1 c=4 h=5 w=5 k=4 y=3 x=3 dtype=int8"),
                                                 im2col_.device().info());
  EXPECT_EQ(support.reason, "computes fp32, bf16 and fp16 only");
}

}  // namespace
}  // namespace attune
