# SPDX-License-Identifier: MIT
"""attune.torch.patch(group=...) on GPUs: ranks, one with a slow compiler, run the same kernels, over NCCL and over gloo. Each rank has a GPU
of its own where two are here; else both share one, which gloo alone can do."""
import sys
import unittest
from pathlib import Path

import gpu_story
import story

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
import ranks


class RanksOnGpus(ranks.RanksOnADevice):
    device = gpu_story.GPU
    solver = "jit_cuda.gemm"
    # They add in another order.
    parts = ("columns=1;depth_warps=1;", "columns=1;depth_warps=2;")
    threads = ()

    @classmethod
    def setUpClass(cls):
        gpu_story.skip_without_gpu(cls.device)
        gpu_story.skip_without_pytorch()
        cls.has_two = gpu_story.has_gpu("cuda:1")

    def device_of(self, rank):
        return f"cuda:{rank}" if self.has_two else gpu_story.GPU

    def slow_compiler(self):
        """NVRTC runs in a process of the program's."""
        slow = self.script("slow_attune", f'[ "$1" = compile-worker ] && sleep 1\nexec "{story.PROGRAM}" "$@"\n')
        return {"ATTUNE_PROGRAM": str(slow)}

    def check(self, backend):
        steps, changes = self.check_that_they_agree(story.PROGRAM, 2, way="dispatcher", backend=backend)
        print(f"\n{backend}, {'two GPUs' if self.has_two else 'one GPU'}: equal in {steps} steps, {' then '.join(changes)}")

    def test_over_nccl(self):
        if not self.has_two:
            self.skipTest("NCCL wants a GPU for each rank, and one is here")
        self.check("nccl")

    def test_over_gloo(self):
        self.check("gloo")

    def test_without_a_group_they_differ(self):
        different, steps = self.check_that_they_differ(story.PROGRAM, 2, way="dispatcher")
        print(f"\nwithout a group: different in {different} of {steps} steps")


if __name__ == "__main__":
    story.main()
