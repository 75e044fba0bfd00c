# SPDX-License-Identifier: MIT
"""One changed instruction in a compiled kernel, whose digest in the cache is right: the kernel is found wrong whenever it is looked at,
and wins nothing. tests/gpu/changed_instruction_test.py does the same on a GPU."""
import changed_kernel
import story

SIZE = ("-m", "3", "-n", "64", "-k", "64", "--dtype", "fp32")


class ChangedInstruction(story.Story):
    def setUp(self):
        super().setUp()
        if not {e["id"]: e["available"] for e in self.attune("list", "solvers", "--json").json}.get("jit_cpu.gemm"):
            self.skipTest("jit_cpu.gemm is not available here")
        self.cache = self.work / "cache"

    def tune(self, name):
        """Its row, and the verifications of compiled kernels."""
        journal = self.folder / f"{name}.db"
        self.attune("tune", *SIZE, "-o", f"{name}_gemm.csv", "--op", "gemm_a16w16", "--libtype", "jit_cpu,portable", "--max-trials", "6",
                    "--devices", "cpu:0", "--quiet-wait", "0", "--journal", str(journal), "--cache", str(self.cache))
        row, = self.rows(f"{name}_gemm.csv")
        return row, list(changed_kernel.verifications(self.journal(journal)))

    def test_is_found_by_each_verification(self):
        row, verified = self.tune("right")
        self.assertEqual({status for _, _, status in verified}, {"ok"})
        digests = changed_kernel.change_all(self.cache)
        if not digests:
            self.skipTest("this processor has no vector instruction that multiplies and adds")
        wrong_row, again = self.tune("wrong")
        changed = {name: status for name, binaries, status in again if binaries & digests}
        print(f"{len(digests)} kernels changed; their candidates: {sorted(changed.values())}")
        self.assertEqual(set(changed.values()), {"wrong_result"}, "each that was tried")
        self.assertNotIn(wrong_row["kernelName"], changed)
        # A row of the time before is found, too.
        name = next(name for name, _, _ in verified if name in changed)
        row["kernelName"], row["libtype"] = name, "jit_cpu"
        self.put("old_gemm.csv", ",".join(row) + "\n" + ",".join(row.values()) + "\n")
        checked, = self.attune("check", "old_gemm.csv", "--op", "gemm_a16w16", "--quiet-wait", "0", "--json", status=1,
                               env={"ATTUNE_CACHE": str(self.cache)}).json
        self.assertEqual(checked["status"], "wrong", checked)


if __name__ == "__main__":
    story.main()
