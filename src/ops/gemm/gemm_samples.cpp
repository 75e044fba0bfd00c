// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_samples.h"

namespace attune {

std::span<const std::string_view> gemm_a16w16_samples() {
  static constexpr std::string_view kSamples[] = {"m=1 n=64 k=128 dtype=fp32",
                                                  "m=7 n=33 k=65 dtype=fp32 bias=1",
                                                  "m=32 n=48 k=64 dtype=fp32 trans_b=0",
                                                  "m=16 n=17 k=40 dtype=fp32 trans_a=1",
                                                  "m=19 n=23 k=37 dtype=fp32 trans_a=1 trans_b=0",
                                                  "m=1 n=37 k=96 dtype=fp32 trans_b=0",
                                                  "m=13 n=29 k=50 dtype=fp32 bias=1 trans_b=0",
                                                  "m=13 n=29 k=50 dtype=fp32 bias=1 trans_a=1",
                                                  "m=11 n=24 k=70 dtype=bf16 bias=1 trans_a=1 trans_b=0",
                                                  "m=1 n=31 k=96 dtype=bf16",
                                                  "m=9 n=64 k=100 dtype=bf16 bias=1",
                                                  "m=16 n=32 k=64 dtype=bf16 outdtype=fp32",
                                                  "m=9 n=40 k=62 dtype=bf16 outdtype=fp32 bias=1",
                                                  "m=6 n=18 k=33 dtype=bf16 outdtype=fp32 trans_a=1 trans_b=0",
                                                  "m=5 n=40 k=64 dtype=fp16",
                                                  "m=5 n=40 k=64 dtype=fp16 outdtype=fp32 bias=1",
                                                  "m=21 n=70 k=300 dtype=fp32",
                                                  "m=64 n=64 k=1 dtype=fp32",
                                                  "m=1 n=1 k=1 dtype=bf16",
                                                  "m=1 n=64 k=128 dtype=fp32 bpreshuffle=1",
                                                  "m=7 n=33 k=65 dtype=fp32 bias=1 bpreshuffle=1",
                                                  "m=40 n=70 k=600 dtype=fp32 bpreshuffle=1",
                                                  "m=1 n=1 k=1 dtype=fp32 bpreshuffle=1",
                                                  "m=1 n=31 k=96 dtype=bf16 bpreshuffle=1",
                                                  "m=33 n=47 k=131 dtype=bf16 bias=1 bpreshuffle=1",
                                                  "m=16 n=32 k=64 dtype=bf16 outdtype=fp32 bpreshuffle=1",
                                                  "m=21 n=40 k=64 dtype=fp16 outdtype=fp32 bias=1 bpreshuffle=1",
                                                  "m=5 n=1024 k=1030 dtype=fp32 bias=1 bpreshuffle=1",
                                                  "m=3 n=2000 k=1500 dtype=bf16 outdtype=fp32 bpreshuffle=1"};
  return kSamples;
}

}  // namespace attune
