# SPDX-License-Identifier: MIT
"""One changed instruction in a cubin, whose digest in the cache is right: its candidates are found wrong, and none wins.
tests/cli/changed_instruction_test.py does the same on a processor. ATTUNE_PYTHON: a Python with the package triton; without it only
jit_cuda's kernels are changed."""
import os

import changed_kernel
import gpu_story
import story

SIZE = ("-m", "16", "-n", "512", "-k", "1024")


class ChangedInstruction(gpu_story.GpuStory):
    def tune(self, name, dtype, cache):
        """The winner, and the verifications of compiled kernels."""
        journal, python = self.folder / f"{name}.db", os.environ.get("ATTUNE_PYTHON")
        result = self.on_gpu("tune", *SIZE, "--dtype", dtype, "--libtype", "cublaslt,jit_cuda,triton", "--max-trials", "24", "--json",
                             *(("--python", python) if python else ()), "--journal", str(journal), "--cache", str(cache))
        return result.json["results"][0]["decision"]["winner"], list(changed_kernel.verifications(self.journal(journal)))

    def test_is_found_by_the_verification(self):
        for dtype in ("fp16", "fp32"):
            with self.subTest(dtype):
                cache = self.work / dtype
                _, verified = self.tune(f"right_{dtype}", dtype, cache)
                self.assertIn("ok", {status for _, _, status in verified})
                digests = changed_kernel.change_all(cache)
                self.assertTrue(digests, "no cubin has an instruction that is changed here")
                winner, verified = self.tune(f"wrong_{dtype}", dtype, cache)
                changed = {name: status for name, binaries, status in verified if binaries & digests}
                print(f"\n{dtype}: {len(digests)} cubins changed; their candidates: {sorted(changed.values())}")
                self.assertTrue(changed, "no changed kernel was tried")
                # A register that the instruction may not read ends the launch.
                self.assertLessEqual(set(changed.values()), {"wrong_result", "crashed"}, changed)
                self.assertNotIn(winner, changed)


if __name__ == "__main__":
    story.main()
