# SPDX-License-Identifier: MIT
"""Before and after: shapes timed as their rows serve them, and whether they became slower or faster."""
import signal
import time

import story
from tables_test import OP, REST, Tables

KEY = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle"
# For 256×32×16, where the default is between them: by 5 % each of the 2.7 µs.
GOOD, DEFAULT, SLOW = (f"fake.gemm@1:split_k=1;tile_m={m};tile_n={n}" for m, n in ((128, 32), (64, 64), (16, 16)))
BIG = "256,32,16"


class BeforeAfter(Tables):
    def one(self, name, *kernels, **how):
        """A table of shapes with M = 256, 128, 64 …, each with its kernel."""
        self.table(name, *(self.row(f"{256 >> i},32,16", 5, kernel=kernel, **how) for i, kernel in enumerate(kernels)))

    def compare(self, *arguments, status=0, **how):
        return self.attune("ci", "compare", *arguments, *story.FAKE, status=status, **how)


class Bench(BeforeAfter):
    def bench(self, *arguments, status=0, **how):
        return self.attune("bench", *arguments, *story.FAKE, status=status, **how)

    def test_each_row_has_its_stated_time_its_served_time_and_that_of_the_default(self):
        self.one("t.csv", SLOW, DEFAULT, "_ZN5aiter1fE")
        answer = self.bench("-i", "t.csv", "--op", OP, "--json").json
        self.assertEqual(answer["device"], "fake/4")
        slow, same, foreign = answer["shapes"]
        self.assertEqual((slow["line"], slow["match"], slow["row"], slow["stated_us"]), (2, "exact", "t.csv:2", 5))
        self.assertEqual((slow["served"]["candidate"], slow["default"]["candidate"]), (SLOW, DEFAULT))
        self.assertLess(slow["served"]["speedup"], 0.97)
        self.assertAlmostEqual(slow["served"]["speedup"], slow["default"]["us"] / slow["served"]["us"], 6)
        self.assertEqual((same["served"]["us"], same["served"]["speedup"]), (same["default"]["us"], 1))
        # No kernel of this program: the next larger row serves by padding.
        self.assertEqual((foreign["match"], foreign["row"]), ("predicted", "t.csv:3"))
        text = self.bench("-i", "t.csv", "--op", OP).stdout
        self.assertRegex(text, r"(?m)^256×32×16 fp32: .* µs \(exact, t.csv:2 states 5.00 µs\), default .* µs, speed")
        self.assertTrue(text.endswith("3 of 3 shapes timed\n"), text)

    def test_a_list_is_served_by_the_named_tables_and_else_by_those_of_the_run_time(self):
        self.put("shapes.csv", f"{KEY}\n{BIG}{REST}\n")
        self.one("t.csv", GOOD)
        named, = self.bench("-i", "shapes.csv", "-t", "t.csv", "--op", OP, "--json").json["shapes"]
        self.assertEqual((named["row"], named["served"]["candidate"]), ("t.csv:2", GOOD))
        none, = self.bench("-i", "shapes.csv", "--json", env=self.where).json["shapes"]
        self.assertEqual((none["match"], none["row"], none["served"]["candidate"]), ("fallback", "", DEFAULT))
        self.assertIn("no row, the default", self.bench("-i", "shapes.csv", env=self.where).stdout)
        self.one("configs/bf16_tuned_gemm.csv", SLOW)
        served, = self.bench("-i", "shapes.csv", "--json", env=self.where).json["shapes"]
        self.assertEqual(served["row"], "configs/bf16_tuned_gemm.csv:2")

    def test_rows_of_other_devices_are_left_out_and_a_kernel_that_crashes_is_said(self):
        self.table("t.csv", self.row(BIG, 5, kernel=GOOD), self.row("64,32,16", 5, "gfx942,304"))
        self.put("faults", f"*\t{GOOD.split(':')[1]}\tsegfault\trun\talways\n")
        result = self.bench("-i", "t.csv", "--op", OP, "--json", status=1, env={"ATTUNE_FAKE_FAULTS": self.work / "faults"})
        shape, = result.json["shapes"]
        self.assertEqual(shape["served"]["status"], "crashed")
        self.assertIn("crashed", shape["reason"])
        self.assertEqual(shape["default"]["status"], "ok")
        self.assertIn("1 row of another device than fake/4", result.stderr)

    def test_bad_input(self):
        self.put("shapes.csv", f"{KEY}\n{BIG}{REST}\n")
        self.refused("bench", says="either a problem")
        self.refused("bench", "gemm_a16w16 m=1 n=1 k=1", "-i", "shapes.csv", says="either a problem")
        self.refused("bench", "gemm_a16w16 m=1 n=1 k=1", "--table", "t.csv", says="--table")
        self.refused("bench", "-i", "shapes.csv", "--solver", "fake.gemm", says="--solver")
        self.refused("bench", "-i", "none.csv", *story.FAKE, says="none.csv")
        self.put("wrong.csv", f"{KEY}\nseven,2,3{REST}\n")
        self.refused("bench", "-i", "wrong.csv", *story.FAKE, says="wrong.csv:2")
        self.put("a8w8_bpreshuffle_untuned_gemm.csv", "M,N,K\n1,2,3\n")
        self.refused("bench", "-i", "a8w8_bpreshuffle_untuned_gemm.csv", *story.FAKE, says="gemm_a8w8_bpreshuffle")


class Compare(BeforeAfter):
    def verdicts(self, *arguments, **how):
        answer = self.compare(*arguments, "--op", OP, "--json", **how).json
        self.assertEqual(sum(answer["counts"].values()), len(answer["shapes"]))
        return [one["verdict"] for one in answer["shapes"]], answer

    def test_each_shape_has_a_verdict_and_a_slower_one_shows_in_the_exit_status(self):
        self.one("old.csv", DEFAULT, SLOW, GOOD)
        self.one("new.csv", SLOW, GOOD, GOOD)
        verdicts, answer = self.verdicts("old.csv", "new.csv", status=1)
        self.assertEqual(verdicts, ["slower", "faster", "same"])
        slower, faster, kept = answer["shapes"]
        self.assertEqual((slower["before"]["row"], slower["after"]["row"]), ("old.csv:2", "new.csv:2"))
        self.assertEqual((slower["before"]["candidate"], slower["after"]["candidate"]), (DEFAULT, SLOW))
        self.assertEqual(slower["default"]["us"], slower["before"]["us"])
        # Both attempts: 8 openings of 32 pairs, then 32.
        self.assertEqual((len(slower["attempts"]), slower["pairs"]), (2, 1280))
        self.assertAlmostEqual(slower["speedup"], slower["before"]["us"] / slower["after"]["us"], 5)
        self.assertLess(slower["interval"][1], 1 / 1.02)
        self.assertEqual((kept["reason"], "pairs" in kept), ("the kernel is the same", False))
        text = self.compare("old.csv", "new.csv", "--op", OP, status=1).stdout
        self.assertRegex(text, r"(?m)^256×32×16 fp32: slower, [\d.]+ → [\d.]+ µs, 0\.\d+×")
        self.assertIn("3 shapes: 1 same, 1 faster, 1 slower\n", text)
        self.assertEqual(self.verdicts("old.csv", "new.csv", "--max-regression", "100")[0], ["same", "same", "same"])

    def test_shapes_are_those_of_both_tables_or_of_a_list_and_without_a_row_the_default_serves(self):
        self.one("old.csv", SLOW)
        self.table("new.csv", self.row("32,32,16", 5, kernel=SLOW))
        verdicts, answer = self.verdicts("old.csv", "new.csv")
        self.assertEqual(verdicts, ["faster", "same"])
        self.assertEqual([one["problem"].split(" dtype")[0] for one in answer["shapes"]],
                         ["gemm_a16w16 m=256 n=32 k=16", "gemm_a16w16 m=32 n=32 k=16"])
        self.put("shapes.csv", f"{KEY}\n{BIG}{REST}\n")
        verdicts, answer = self.verdicts("old.csv", "new.csv", "-i", "shapes.csv")
        self.assertEqual(len(verdicts), 1)

    def test_a_kernel_that_cannot_be_measured_failed_and_the_others_go_on(self):
        self.one("old.csv", DEFAULT, SLOW)
        self.one("new.csv", GOOD, DEFAULT)
        self.put("faults", f"*\t{GOOD.split(':')[1]}\twrong_result\trun\talways\n")
        faults = {"ATTUNE_FAKE_FAULTS": self.work / "faults"}
        verdicts, answer = self.verdicts("old.csv", "new.csv", env=faults)
        self.assertEqual(verdicts, ["failed", "faster"])
        self.assertIn("wrong_result", answer["shapes"][0]["reason"])
        self.one("new.csv", GOOD)
        self.one("old.csv", DEFAULT)
        self.assertEqual(self.verdicts("old.csv", "new.csv", status=1, env=faults)[0], ["failed"])

    def test_a_kernel_that_dies_in_an_opening_is_named(self):
        self.one("old.csv", DEFAULT)
        self.one("new.csv", GOOD)
        self.put("faults", f"*\t{GOOD.split(':')[1]}\tsegfault\trun\tfrom:30\n")
        verdicts, answer = self.verdicts("old.csv", "new.csv", status=1, env={"ATTUNE_FAKE_FAULTS": self.work / "faults"})
        self.assertEqual(verdicts, ["failed"])
        self.assertIn("crashed", answer["shapes"][0]["reason"])

    def test_an_interrupt_prints_what_is_known_and_calls_nothing_slower(self):
        for name, kernel in (("old.csv", DEFAULT), ("new.csv", SLOW)):
            self.table(name, *(self.row(f"{m},32,16", 5, kernel=kernel) for m in range(200, 260, 2)))
        running = self.start("ci", "compare", "old.csv", "new.csv", "--op", OP, "--json", *story.FAKE)
        time.sleep(1)
        running.send(signal.SIGINT)
        result = running.wait()
        self.assertEqual(result.status, 130, str(result))
        counts = result.json["counts"]
        self.assertEqual((len(result.json["shapes"]), counts["slower"]), (counts["failed"] + counts["ambiguous"], 0),
                         str(result))

    def test_bad_input(self):
        self.one("t.csv", DEFAULT)
        self.refused("ci", "compare", "t.csv", says="after")
        self.refused("ci", "compare", "t.csv", "none.csv", "--op", OP, *story.FAKE, says="none.csv")
        self.refused("ci", "compare", "t.csv", "t.csv", "--op", OP, "--max-regression", "no", *story.FAKE, says="no")
        self.put("a8w8_tuned_gemm.csv", "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n")
        self.put("bf16_tuned_gemm.csv", self.read("t.csv"))
        self.refused("ci", "compare", "bf16_tuned_gemm.csv", "a8w8_tuned_gemm.csv", *story.FAKE, says="two families")
        self.table("other.csv", self.row(BIG, 5, "gfx942,304"))
        self.assertIn("there is no shape of fake/4",
                      self.compare("other.csv", "other.csv", "--op", OP, status=2).stderr)


if __name__ == "__main__":
    story.main()
