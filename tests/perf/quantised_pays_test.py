# SPDX-License-Identifier: MIT
"""tests/perf/quantised --pays on a tiny layer, with the program and library of this build."""
import argparse
import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import quantised_pays

# Narrower than a block of 64 columns: else oneDNN has one more layout for 8 rows, and noise decides whether all rows get the same.
TINY = {"LAYERS": ((32, 96),), "COLD_BYTES": 1 << 14, "ROUNDS": 6, "QUIET_S": 0}


class Pays(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.enterContext(mock.patch.multiple(quantised_pays, **TINY))

    def run_once(self, *families):
        options = argparse.Namespace(folder=self.folder, attune=os.environ["ATTUNE_BIN"], family=list(families), layers=1, minutes=10,
                                     trials=2)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            quantised_pays.run(options)
        return out.getvalue().splitlines()

    def test_each_family_is_compared_at_its_rows_and_only_once(self):
        lines = self.run_once("int8", "fp8", "fp8_blocks", "mxfp4")
        results = quantised_pays.read_results(self.folder / "pays.jsonl")
        self.assertEqual(sorted((key[0], key[1]) for key in results),
                         [("fp8", 1), ("fp8", 2), *(("int8", m) for m in (1, 2, 4, 8)), *(("mxfp4", m) for m in (1, 2, 4, 8))])
        self.assertTrue(all(0 < ratio.low <= ratio.value <= ratio.high for ratio in results.values()))
        summary = [line for line in lines if "1 layers, worst" in line]
        self.assertEqual(len(summary), 10)
        with mock.patch.object(quantised_pays, "tune", side_effect=AssertionError("tuned again")):
            self.assertEqual(self.run_once("int8", "fp8", "mxfp4"), summary)

    def test_a_layer_without_rows_is_named_and_left_open(self):
        def tune(_, side, *__):
            (self.folder / side.stem).write_text("gfx,cu_num,M,N,K,us,kernelName\n")
            return self.folder / side.stem

        with mock.patch.object(quantised_pays, "tune", side_effect=tune):
            self.assertEqual(self.run_once("fp8"), [f"no row serves gemm_a8w8 m={m} n=32 k=96 q_dtype_w=e4m3fn: start again to tune it"
                                                    for m in (1, 2)])


if __name__ == "__main__":
    unittest.main()
