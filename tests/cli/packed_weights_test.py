# SPDX-License-Identifier: MIT
"""Weights packed ahead (bpreshuffle=1): one contest over layouts, one layout for all rows that differ in M alone.

The fake solver's packed kernels take 0.8 of the plain ones' time up to M=32 and 1.1 beyond."""
import math
import re

import story

HEADER = "M,N,K,bpreshuffle\n"
PACKED = "host.k16.v1"


class PackedWeights(story.Story):
    def tuned(self, shapes, *flags):
        """Layouts by (M, N) after tuning the shapes."""
        self.put("shapes.csv", HEADER + shapes)
        self.result = self.tune("-i", "shapes.csv", "-o", "t.csv", *flags)
        return {(row["M"], row["N"]): row["layout"] for row in self.rows("t.csv")}

    def test_rows_of_a_weight_group_get_one_layout(self):
        layouts = self.tuned("4,32,512,1\n8,32,512,1\n200,32,512,1\n")
        self.assertEqual(layouts, {("4", "32"): PACKED, ("8", "32"): PACKED, ("200", "32"): PACKED})
        for row in self.rows("t.csv"):
            self.assertEqual(row["bpreshuffle"], "True")
            self.assertIn("b_layout=" + PACKED, row["kernelName"])
        *_, heading, line, _legend, _time, _summary = self.shown()
        self.assertEqual(heading, "published with the layout that all rows of a weight share:")
        self.assertRegex(line, r"^200×32×512 bf16 .*fake b_layout=host\.k16\.v1 .*; alone \d+\.\d µs with fake b_layout=plain")

    def shown(self):
        return self.result.stdout.splitlines()

    def test_the_summary_and_json_are_of_what_is_published(self):
        shapes = "4,32,512,1\n8,32,512,1\n200,32,512,1\n"
        self.tuned(shapes)
        us = {int(row["M"]): float(row["us"]) for row in self.rows("t.csv")}
        mean = float(re.search(r"geometric mean (\d+\.\d+)×", self.shown()[-1]).group(1))
        results = {one["decision"]["problem"].split()[1]: one for one in self.tune("-i", "shapes.csv", "-o", "again.csv", "--json").json["results"]}
        self.assertEqual({m for m, one in results.items() if "published" in one}, {"m=200"})
        published = results["m=200"]["published"]
        self.assertIn("b_layout=" + PACKED, published["candidate"])
        self.assertAlmostEqual(published["us"], us[200], delta=0.001)
        explained = self.attune("explain", "gemm_a16w16 m=200 n=32 k=512 dtype=bf16 bpreshuffle=1", "-t", "t.csv", *story.FAKE[:2])
        self.assertRegex(explained.stdout, r"published: fake\.gemm@1:b_layout=host\.k16\.v1;.*, in the layout that all rows")
        speedups = [one.get("published", one["decision"])["speedup"] for one in results.values()]
        self.assertAlmostEqual(mean, math.prod(speedups) ** (1 / 3), delta=0.002)

    def test_a_layout_in_which_a_row_is_not_confirmed_is_not_taken(self):
        # For M=200 the packed kernels are slower than the default, whatever the others gain.
        layouts = self.tuned("4,32,64,1\n8,32,64,1\n200,32,64,1\n")
        self.assertEqual(set(layouts.values()), {"plain"})

    def test_the_layout_is_the_one_of_the_least_total_time(self):
        layouts = self.tuned("4,32,64,1\n100,32,64,1\n200,32,64,1\n")
        self.assertEqual(set(layouts.values()), {"plain"})

    def test_groups_and_plain_rows_do_not_mix(self):
        layouts = self.tuned("4,32,64,1\n200,48,64,1\n4,48,64,0\n")
        self.assertEqual(layouts, {("4", "32"): PACKED, ("200", "48"): "plain", ("4", "48"): "plain"})
        plain = [row for row in self.rows("t.csv") if row["bpreshuffle"] == "False"]
        self.assertNotIn("b_layout", plain[0]["kernelName"])

    def test_new_rows_may_change_the_layout_of_rows_that_are_there(self):
        self.assertEqual(self.tuned("200,32,512,1\n"), {("200", "32"): "plain"})
        layouts = self.tuned("4,32,512,1\n8,32,512,1\n200,32,512,1\n")
        self.assertEqual(set(layouts.values()), {PACKED})
        with self.untouched("t.csv"):
            self.tuned("4,32,512,1\n8,32,512,1\n200,32,512,1\n")

    def test_published_rows_are_checked_in_their_layout(self):
        self.tuned("4,32,64,1\n200,32,64,1\n8,32,64,1\n")
        result = self.attune("check", "t.csv", "--devices", "fake:0")
        self.assertIn("3 rows: 3 ok", result.stdout)

    def test_explain_finds_the_row_by_its_contract(self):
        self.tuned("4,32,64,1\n")
        problem = "gemm_a16w16 m=4 n=32 k=64 dtype=bf16"
        packed = self.attune("explain", problem + " bpreshuffle=1", "-t", "t.csv", *story.FAKE[:2])
        self.assertIn("b_layout=" + PACKED, packed.stdout)
        plain = self.attune("explain", problem, "-t", "t.csv", *story.FAKE[:2])
        self.assertIn("no row", plain.stdout)

    def test_weights_that_are_stored_across_k_are_refused(self):
        self.put("shapes.csv", "M,N,K,bpreshuffle,trans_b\n4,32,64,1,0\n4,32,64,0,1\n")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertIn("must be N×K, use trans_b=1", result.stderr)
        self.assertEqual(len(self.rows("t.csv")), 1)

    def test_a_plain_problem_takes_no_packed_layout(self):
        config = "b_layout=host.k16.v1;split_k=1;tile_m=64;tile_n=64"
        self.refused("bench", "gemm_a16w16 m=4 n=32 k=64 dtype=fp32", "--solver", "fake.gemm", "--config", config,
                     "--devices", "fake:0", says="b_layout")


if __name__ == "__main__":
    story.main()
