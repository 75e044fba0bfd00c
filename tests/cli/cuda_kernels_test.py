# SPDX-License-Identifier: MIT
"""Kernels for a GPU that is not here: a table's row and the description of the device are enough to list and to compile them."""
import json

import story

HEADER = ("gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
          "tflops,bw,layout\n")
H200 = {"id": "cuda:0", "kind": "cuda", "gfx": "sm_90", "cu_num": 132, "model": "NVIDIA H200", "processor": "", "memory_bytes": 150121545728,
        "cache_bytes": 62914560, "facts": {"num_units": 132, "l2_bytes": 62914560, "shared_bytes": 232448}}
PACKED = "b_layout=cuda.k64.v1;columns=32;depth_warps=8;kernel=stream;rows=8;split_k=1;unroll=1;warps=1"
STREAM = "columns=16;depth_warps=8;kernel=stream;reduce=block;rows=8;split_k=4;unroll=4;warps=1"
SHARES = "block_k=64;block_m=64;block_n=64;blocks=264;group_m=8;kernel=tile;m_warps=2;n_warps=2;stages=2"
WIDE = "block_k=64;block_m=64;block_n=64;group_m=8;kernel=tile;m_warps=2;n_warps=2;split_k=1;stages=2"


def table(*rows):
    """A table for H200; each row: M, N, K, config. Rows with a layout have packed weights."""
    return HEADER + "".join(
        f"sm_90,132,{m},{n},{k},False,torch.bfloat16,torch.bfloat16,False,{'b_layout' in config},jit_cuda,-1,1,{i + 1},"
        f"jit_cuda.gemm@3:{config},0,1,1,{'cuda.k64.v1' if 'b_layout' in config else 'plain'}\n"
        for i, (m, n, k, config) in enumerate(rows))


def skip_without_jit_cuda(test):
    if not any(e["id"] == "jit_cuda.gemm" for e in test.attune("list", "solvers", "--json").json):
        test.skipTest("this build has no jit_cuda.gemm: it needs the CUDA toolkit")


class CudaKernels(story.Story):
    def setUp(self):
        super().setUp()
        skip_without_jit_cuda(self)
        self.put("h200.json", json.dumps(H200))

    def build(self, *rows):
        """Compiles the kernels of a table into an empty cache."""
        self.put("bf16_tuned_gemm.csv", table(*rows))
        folder = ("--cache", str(self.work / "cache"))
        built = self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", "--device-info", "h200.json", *folder, status=None)
        if "NVRTC" in built.stderr:
            self.skipTest("NVRTC is not installed here")
        return built, self.attune("kernels", "list", "--json", *folder).json if (self.work / "cache").exists() else []

    def test_are_compiled_from_the_names_in_a_table(self):
        built, kernels = self.build((8, 64, 4096, STREAM), (7, 96, 8192, STREAM), (333, 4099, 2057, WIDE))
        self.assertIn("3 of 3 rows with generated kernels: 2 files", built.stdout, built.stderr)
        self.assertEqual({kernel["arch"] for kernel in kernels}, {"sm_90"})
        self.assertEqual(len({kernel["recipe"] for kernel in kernels}), 2, "sizes are no part of a kernel")

    def test_that_read_packed_weights_are_compiled_from_their_names(self):
        built, kernels = self.build((8, 64, 4096, PACKED), (5, 63, 4104, PACKED))
        self.assertIn("2 of 2 rows with generated kernels: 1 file", built.stdout, built.stderr)
        self.assertEqual(len(kernels), 1, kernels)

    def test_of_stream_k_are_compiled_from_their_names(self):
        built, kernels = self.build((333, 4099, 2057, SHARES), (333, 4099, 2049, SHARES), (333, 4099, 2057, WIDE))
        self.assertIn("3 of 3 rows with generated kernels: 2 files", built.stdout, built.stderr)
        self.assertEqual(len(kernels), 2, kernels)

    def test_are_not_compiled_for_a_config_that_a_rule_excludes(self):
        built, kernels = self.build((8, 64, 4096, STREAM.replace("rows=8", "rows=16")))
        self.assertNotEqual(built.status, 0)
        self.assertEqual(kernels, [])

    def test_candidates_are_listed(self):
        listed = self.attune("list", "candidates", "gemm_a16w16 m=8 n=64 k=4096 dtype=bf16", "--json", "--device-info", "h200.json").json
        mine = next(e for e in listed if e["solver"] == "jit_cuda.gemm")
        self.assertTrue(mine["supported"], mine)
        self.assertIn(f"jit_cuda.gemm@3:{STREAM}", mine["candidates"])


if __name__ == "__main__":
    story.main()
