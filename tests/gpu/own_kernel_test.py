# SPDX-License-Identifier: MIT
"""A user's own Triton GEMM (--kernel) on a GPU: it races the libraries, its row is checked and served without Python, and a wrong
one is never published. ATTUNE_PYTHON: a Python with the package triton."""
import os
import unittest

import gpu_story
import story

SIZE = ("-m", "100", "-n", "1024", "-k", "1000", "--dtype", "fp16")
LIMITS = ("--max-trials", "24", "--libtype", "cublaslt,triton")
MASK = "mask=rk[None, :] < K - k", "mask=rk[:, None] < K - k"
GEMM = '''
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": 64}, num_stages=4, num_warps=4)
                          for m, n in ((64, 64), (128, 64), (64, 128))], key=["M"])
@triton.jit
def gemm(a, b, c, M, N, K, stride_a_m, stride_a_k, stride_b_k, stride_b_n, stride_c_m, stride_c_n,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(0) % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_at = a + (rm % M)[:, None] * stride_a_m + rk[None, :] * stride_a_k
    b_at = b + rk[:, None] * stride_b_k + (rn % N)[None, :] * stride_b_n
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        sums = tl.dot(tl.load(a_at, mask=rk[None, :] < K - k, other=0.0), tl.load(b_at, mask=rk[:, None] < K - k, other=0.0), sums)
        a_at += BLOCK_K * stride_a_k
        b_at += BLOCK_K * stride_b_k
    tl.store(c + rm[:, None] * stride_c_m + rn[None, :] * stride_c_n, sums.to(c.dtype.element_ty),
             mask=(rm[:, None] < M) & (rn[None, :] < N))
'''


class OwnKernels(gpu_story.GpuStory):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.python = os.environ.get("ATTUNE_PYTHON")
        if not cls.python:
            raise unittest.SkipTest("ATTUNE_PYTHON names no Python with the package triton")

    def outcomes(self, text, *more):
        """Tunes with a kernel; the result, and the last outcome of each of its configs."""
        self.put("mine.py", text)
        journal = self.folder / "journal.db"
        result = self.on_gpu("tune", *SIZE, *LIMITS, "--python", self.python, "--kernel", "mine.py:gemm", "--json", "--journal", str(journal), *more)
        records = [entry for kind, entry in self.journal(journal) if kind == "record" and entry["candidate"]["solver"] == "triton.own_gemm"]
        return result.json["results"][0], {one["candidate"]["config"]: one["outcome"] for one in records}

    def test_race_the_libraries(self):
        result, outcomes = self.outcomes(GEMM)
        self.assertIn("ok", {one["status"] for one in outcomes.values()}, outcomes)
        self.assertNotIn("wrong_result", {one["status"] for one in outcomes.values()}, outcomes)
        print(f"\nwinner {result['decision']['winner']}")

    def test_rows_are_checked_without_python(self):
        """Attune's kernels of Triton and a user's: both are in the cache."""
        self.put("mine.py", GEMM)
        journal = self.folder / "journal.db"
        self.on_gpu("tune", *SIZE, "--max-trials", "24", "--libtype", "triton", "--python", self.python, "--kernel", "mine.py:gemm",
                    "--journal", str(journal))
        right = [entry["candidate"] for kind, entry in self.journal(journal) if kind == "record" and entry["outcome"]["status"] == "ok"]
        lines = ""
        for solver in ("triton.own_gemm", "triton.gemm"):
            name = next("{solver}@{version}:{config}".format(**one) for one in right if one["solver"] == solver)
            lines += f"- {{'M': 100, 'N': 1024, 'K': 1000, 'rowMajorA': 'T', 'rowMajorB': 'N', 'dtype': 'fp16', 'candidate': '{name}'}}\n"
        self.put("sizes.yaml", lines)
        checked = self.on_gpu("tune", "--gemm_size_file", "sizes.yaml", "--compare_wo_tuning", env={"ATTUNE_PYTHON": "/bin/false"})
        self.assertIn("2 ok", checked.stdout)

    def test_without_a_mask_at_the_edge_are_rejected(self):
        wrong = GEMM
        for mask in MASK:
            self.assertIn(mask, wrong)
            wrong = wrong.replace(", " + mask + ", other=0.0", "")
        result, outcomes = self.outcomes(wrong)
        self.assertIn("wrong_result", {one["status"] for one in outcomes.values()}, outcomes)
        self.assertNotIn("ok", {one["status"] for one in outcomes.values()}, outcomes)
        self.assertNotIn("own_gemm", result["decision"]["winner"])


if __name__ == "__main__":
    story.main()
