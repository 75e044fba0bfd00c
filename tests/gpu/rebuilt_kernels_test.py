# SPDX-License-Identifier: MIT
"""A table's row names a generated kernel: with an empty cache and no journal it is compiled again from the name alone, checked and served."""
import csv

import gpu_story
import story


class RebuiltKernels(gpu_story.GpuStory):
    def test_a_tuned_kernel_is_built_again_from_its_name(self):
        problem = ("-m", "5", "-n", "1024", "-k", "2056", "--dtype", "bf16")
        self.on_gpu("tune", *problem, "--libtype", "jit_cuda", "--max-trials", "12", "-o", "bf16_tuned_gemm.csv", "--journal",
                    str(self.folder / "tuned.db"), "--cache", str(self.work / "first"))
        row = next(csv.DictReader(self.read("bf16_tuned_gemm.csv").splitlines()))
        print(f"\n{row['kernelName']}: {row['us']} µs")
        self.assertTrue(row["kernelName"].startswith("jit_cuda.gemm@"), row)
        built = self.on_gpu("kernels", "build", "--table", "bf16_tuned_gemm.csv", "--cache", str(self.work / "second"), quiet=False)
        self.assertIn("1 of 1 row with generated kernels: 1 file", built.stdout)
        kernels = {one: self.attune("kernels", "list", "--json", "--cache", str(self.work / one)).json for one in ("first", "second")}
        self.assertIn(kernels["second"][0]["sha256"], {one["sha256"] for one in kernels["first"]}, "the same bytes as in the tuning")
        checked = self.on_gpu("check", "bf16_tuned_gemm.csv", env={"ATTUNE_CACHE": str(self.work / "third")})
        print(checked.stdout)
        self.assertIn("1 ok", checked.stdout)


if __name__ == "__main__":
    story.main()
