# SPDX-License-Identifier: MIT
"""What tables leave uncovered: rows that no lookup can reach, captured shapes that no row serves."""
import shlex

import story
from tables_test import HEADER, KEY, OP, REST, TUNED, VARIABLE, Tables


class Coverage(Tables):
    def coverage(self, *arguments, **how):
        return self.ask("coverage", *arguments, "--json", **how).json

    def capture(self, **calls):
        """Sizes as `m2_n24_k32=calls`."""
        rows = [(name.translate({ord(c): None for c in "mnk"}).replace("_", ",") + REST, number)
                for name, number in calls.items()]
        self.put("captures/bf16_untuned_gemm.csv", "\n".join((KEY, *(row for row, _ in rows), "")))
        self.put("captures/counts/bf16_untuned_gemm.csv.h.1.1",
                 "\n".join((KEY + ",calls", *(f"{row},{number}" for row, number in rows), "")))


class Rows(Coverage):
    def lost(self, *arguments, **how):
        answer = self.coverage(*arguments, **how)
        self.assertEqual(answer["num_unreachable"], len(answer["unreachable"]))
        return answer["num_rows"], [(one["row"], one["reason"], one["detail"]) for one in answer["unreachable"]]

    def test_rows_that_no_lookup_can_reach_and_why(self):
        self.table("a.csv", self.row("1,32,48", 3) + ",", self.row("1,32,48", 2) + ",", self.row("2,24,32", -1) + ",",
                   self.row("2,24,32", 1) + ",slow_boot", self.row("3,24,32", 1, "gfx942,304") + ",",
                   header=HEADER + ",_tag")
        self.table("b.csv", self.row("1,32,48", 1), self.row("2,24,32", 1), self.row("4,24,32", 1, kernel="_ZN5aiter"),
                   self.row("5,24,32", 1, kernel="fake.gemm@77:split_k=1"),
                   self.row("6,24,32", 1, kernel="nobody.gemm@1:a=1"))
        count, lost = self.lost("-t", "a.csv:b.csv", "--op", OP)
        self.assertEqual(count, 9)
        self.assertEqual(lost[:4], [("a.csv:2", "is slower than another row of its file", "a.csv:3 wins, 2 µs"),
                                    ("a.csv:4", "has no usable time", "column 'us' expects a time in µs from 1e-09 to 1e+18, got '-1'"), ("a.csv:5", "has a _tag", "slow_boot"),
                                    ("b.csv:2", "is shadowed by an earlier file", "a.csv:3 wins, 2 µs")])
        unusable = [(row, reason) for row, reason, _ in lost[4:]]
        self.assertEqual(unusable, [(f"b.csv:{line}", "cannot be used on this machine") for line in (4, 5, 6)])
        self.assertIn("_ZN5aiter", lost[4][2])
        self.assertIn("made with fake.gemm 77", lost[5][2])
        self.assertEqual(lost[6][2], "no solver of that name is available on this machine: nobody.gemm")
        text = self.ask("coverage", "-t", "a.csv:b.csv", "--op", OP, "--top", "1").stdout
        self.assertIn("9 rows of fake/4, 7 that no lookup can reach", text)
        self.assertIn("and 6 more", text)

    def test_rows_of_another_model_are_lost_here_and_beat_nobody(self):
        self.table("a.csv", self.row("1,32,48", 1) + ",Other card", self.row("1,32,48", 2) + ",",
                   header=HEADER + ",device")
        self.assertEqual(self.lost("-t", "a.csv", "--op", OP),
                         (2, [("a.csv:2", "is of another model", "Other card")]))

    def test_the_run_times_tables_are_the_default_and_a_wrong_one_is_skipped(self):
        self.table("mine.csv", self.row("1,x,48", 3))
        self.table("configs/" + TUNED, self.row("1,32,48", 1))
        result = self.ask("coverage", "--json", env={VARIABLE: "mine.csv"})
        self.assertIn("mine.csv:2", result.stderr)
        self.assertEqual((result.json["num_rows"], result.json["num_unreachable"]), (1, 0))


class Shapes(Coverage):
    def test_nothing_captured_is_fine(self):
        answer = self.coverage()
        self.assertEqual((answer["num_shapes"], answer["without_row"], answer["commands"]), (0, [], []))
        self.assertIn("no shapes were captured", self.ask("coverage").stdout)

    def test_shapes_by_the_step_that_serves_them(self):
        self.table("configs/" + TUNED, self.row("1,32,48", 1), self.row("16,32,48", 1), self.row("128,32,48", 1),
                   self.row("8,40,40", 1, kernel="_ZN5aiter"))
        self.capture(m1_n32_k48=60, m9_n32_k48=20, m70_n32_k48=10, m18_n32_k48=5, m7_n7_k8=6, m8_n40_k40=4)
        answer = self.coverage("captures")
        self.assertEqual({step: (one["num_shapes"], one["calls"]) for step, one in answer["served"].items()},
                         {"exact": (1, 60), "padded_fine": (1, 20), "padded_coarse": (1, 10), "predicted": (1, 5),
                          "none": (2, 10)})
        self.assertAlmostEqual(answer["served"]["none"]["calls_share"], 10 / 105)
        self.assertEqual([one["calls"] for one in answer["without_row"]], [6, 4])
        self.assertEqual(len(self.coverage("captures", "--top", "1")["without_row"]), 1)
        text = self.ask("coverage", "captures").stdout
        self.assertRegex(text, r"(?m)^  padded_fine +1 +20 +19\.0%$")
        self.assertRegex(text, r"(?m)^ +6  gemm_a16w16 m=7 n=7 k=8 ")

    def test_the_command_tunes_what_has_no_row(self):
        self.capture(m1_n32_k48=6, m2_n24_k32=4)
        (self.work / "captures").rename(self.work / "it's here")
        self.table("mine.csv", self.row("1,32,48", 0))
        where = {VARIABLE: "mine.csv"}
        commands = self.coverage("it's here", env=where)["commands"]
        words = [shlex.split(command) for command in commands]
        self.assertEqual(words, [["attune", "tune", "-i", "it's here/bf16_untuned_gemm.csv", "--op", OP, "-o",
                                  "mine.csv", "--devices", "fake:0"]])
        self.attune(*words[0][1:], "--quiet-wait", "0")
        answer = self.coverage("it's here", env=where)
        self.assertEqual((answer["served"]["exact"]["num_shapes"], answer["commands"]), (2, []))

    def test_several_sources_are_merged_first(self):
        self.capture(m1_n32_k48=6)
        self.put("more_untuned_gemm.csv", f"{KEY}\n2,24,32{REST}\n")
        self.table("t.csv", self.row("9,9,9", 1))
        merge, tune = self.coverage("captures", "more_untuned_gemm.csv", "--op", OP, "-t", "t.csv")["commands"]
        for command in (merge, tune):
            self.attune(*shlex.split(command)[1:], *(("--quiet-wait", "0") if command is tune else ()))
        self.assertEqual(len(self.rows("t.csv")), 3)

    def test_bad_input(self):
        self.refused("coverage", "nowhere", says="nowhere")
        self.refused("coverage", "-t", "gone.csv", says="gone.csv")
        self.refused("coverage", "--op", "gemm_x", says="gemm_x")
        self.refused("coverage", "--device", "gpu:9", says="gpu:9")
        self.refused("coverage", "--top", "-1", says="--top")
        self.put("captures/bf16_untuned_gemm.csv", f"{KEY}\n4,5\n")
        self.refused("coverage", "captures", says="bf16_untuned_gemm.csv:2")


if __name__ == "__main__":
    story.main()
