# SPDX-License-Identifier: MIT
"""Kernels of a module that are right when they are verified first, and wrong once they were timed, or leave threads that
run on: none is published, and `bench` and `check` find them."""
import csv
import json
import os

import story

MODULE = os.environ["ATTUNE_PLANTED"]
SHAPE = "gemm_a16w16 m=4 n=256 k=256 dtype=fp32"
FAULTS = ("late", "nth", "keyed", "after", "returns", "threads")
CPU = ("--devices", "cpu:0", "--quiet-wait", "0")


class PlantedTest(story.Story):
    def planted(self, fault, *arguments, status=0):
        return self.attune(*arguments, status=status, env={"ATTUNE_MODULES": MODULE, "ATTUNE_PLANTED_FAULT": fault})

    def kernels(self, table):
        with open(self.work / table, encoding="utf-8") as file:
            return [row["kernelName"] for row in csv.DictReader(file)]

    def test_none_is_published(self):
        self.put("s_untuned.csv", "M,N,K,dtype,outdtype\n4,256,256,fp32,fp32\n")
        for fault in FAULTS:
            with self.subTest(fault):
                self.planted(fault, "tune", "-i", "s_untuned.csv", "-o", f"{fault}.csv", "--libtype", "blis", "--journal",
                             f"{fault}.db", *CPU)
                self.assertNotIn(fault, " ".join(self.kernels(f"{fault}.csv")))

    def test_bench_finds_each(self):
        for fault in FAULTS:
            with self.subTest(fault):
                # What returns another's output takes no time at all, and may be found by that.
                expected = {"threads": ["implausible_time"], "returns": ["implausible_time", "wrong_result"]}.get(fault, ["wrong_result"])
                # Where other programs keep all cores busy, threads that are left do not run, and nobody can see them.
                for _ in range(5 if fault == "threads" else 1):
                    said = self.planted(fault, "bench", SHAPE, "--candidate", "blis.gemm@1:kind=slow", "--candidate",
                                        f"blis.gemm@1:kind={fault}", "--json", *CPU)
                    slow, planted = json.loads(said.stdout)["candidates"]
                    if planted["status"] in expected:
                        break
                self.assertEqual(slow["status"], "ok", slow)
                self.assertIn(planted["status"], expected, planted)

    def test_check_finds_a_row_that_is_wrong_after_timing(self):
        self.put("s_untuned.csv", "M,N,K,dtype,outdtype\n4,256,256,fp32,fp32\n")
        self.planted("none", "tune", "-i", "s_untuned.csv", "-o", "t.csv", "--libtype", "blis", *CPU)
        text = (self.work / "t.csv").read_text(encoding="utf-8")
        kind = self.kernels("t.csv")[0].rsplit("kind=", 1)[1]
        self.put("t.csv", text.replace(f"kind={kind}", "kind=late"))
        said = self.planted("late", "check", "t.csv", *CPU, status=1)
        self.assertIn("right before it was timed", said.stdout)


if __name__ == "__main__":
    story.main()
