# SPDX-License-Identifier: MIT
"""What becomes of a table that is already there, and of the other files a run writes."""
import csv
import io

import story
from story import SHAPES


class ATableThatIsThere(story.Story):
    """Rows of other devices and programs, in a file with its own column order, CRLF and oddities."""

    FOREIGN = ("K,N,M,cu_num,us,kernelName,dtype,outdtype,bias,scaleAB,remark\r\n"
               "5120,256,64,256,7.9191,_ZN5aiter39bf16gemm,torch.bfloat16,torch.float32,False,False,\"a, quoted  remark\"\r\n"
               "\r\n"
               "5120,256,80,256,0.0,native ,torch.bfloat16,torch.float32,FALSE,False,\r\n"
               "5120,256,96,256,inf,native,torch.bfloat16,torch.float32,False,False,no end of line")

    def test_foreign_rows_and_the_header_stay_byte_for_byte(self):
        self.put("shapes.csv", SHAPES)
        self.put("bf16_tuned.csv", self.FOREIGN)
        self.tune("-i", "shapes.csv", "-o", "bf16_tuned.csv")
        after = self.read("bf16_tuned.csv")
        head, rows = self.FOREIGN.split("\r\n", 1)
        self.assertTrue(after.startswith(head + ","), "the columns keep their order and new ones come after them")
        self.assertTrue(after.split("\r\n", 1)[1].startswith(rows + "\r\n"), after)
        new = self.rows("bf16_tuned.csv")[3:]
        self.assertEqual([(r["M"], r["N"], r["K"]) for r in new], [("1", "32", "48"), ("1", "40", "40"), ("2", "24", "32")])
        self.assertTrue(all(r["gfx"] == "fake" and r["device"] and r["remark"] == "" for r in new))

    def test_an_excerpt_of_a_real_table_keeps_its_rows(self):
        excerpt = (story.DATA / "bf16_tuned_gemm.csv").read_bytes()
        self.put("bf16_tuned_gemm.csv", excerpt)
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "bf16_tuned_gemm.csv")
        head, rows = excerpt.split(b"\n", 1)
        after = (self.work / "bf16_tuned_gemm.csv").read_bytes()
        self.assertTrue(after.startswith(head + b",device,layout\n" + rows))
        self.assertEqual(len(story.rows_of(after.decode())), len(story.rows_of(excerpt.decode())) + 3)

    def test_an_empty_file_is_a_new_table(self):
        self.put("shapes.csv", SHAPES)
        self.put("t.csv", "")
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(len(self.rows("t.csv")), 3)

    def test_a_row_with_a_kernel_of_another_program_is_replaced_in_place(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        kernel = self.rows("t.csv")[1]["kernelName"]
        self.put("t.csv", self.read("t.csv").replace(self.read("t.csv").splitlines()[2].split(",")[14], "native", 1))
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", "--journal", "new.db", *story.FAKE)
        rows = self.rows("t.csv")
        self.assertEqual(len(rows), 3)
        self.assertEqual(rows[1]["kernelName"], kernel)

    def test_sort_orders_by_the_key_with_n_before_m(self):
        self.put("shapes.csv", "M,N,K\n9,16,8\n4,8,8\n10,8,8\n2,16,8\n")
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--sort")
        self.assertEqual([(r["N"], r["M"]) for r in self.rows("t.csv")], [("8", "4"), ("8", "10"), ("16", "2"), ("16", "9")])

    def test_the_first_of_several_tables_is_written_and_the_others_are_read(self):
        lines = SHAPES.splitlines(keepends=True)
        self.put("one.csv", lines[0] + lines[1])
        self.tune("-i", "one.csv", "-o", "b.csv")
        self.put("shapes.csv", SHAPES)
        with self.untouched("b.csv"):
            result = self.tune("-i", "shapes.csv", "-o", "a.csv:b.csv", "--journal", "new.db")
        self.assertEqual([(r["N"]) for r in self.rows("a.csv")], ["40", "24"])
        self.assertIn("1 shape with a row already", result.stdout)

    def test_batches_publish_the_same_table(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "a.csv")
        self.tune("-i", "shapes.csv", "-o", "b.csv", "--batch", "1", "--journal", "new.db")
        self.assertEqual(self.read("a.csv"), self.read("b.csv"))

    def test_a_link_is_followed(self):
        self.put("shapes.csv", SHAPES)
        self.put("real/t.csv", "")
        (self.work / "t.csv").symlink_to("real/t.csv")
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertTrue((self.work / "t.csv").is_symlink())
        self.assertEqual(len(self.rows("real/t.csv")), 3)


class AllAgain(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")

    def test_input_equal_to_output_tunes_this_devices_rows_again(self):
        foreign = "gfx942,304,8,8,8,False,torch.float32,torch.float32,False,False,x,1,0,5.0,native,0.0,1.0,1.0,,\n"
        self.put("t.csv", self.read("t.csv") + foreign)
        before, decisions = self.read("t.csv"), self.count("decision")
        self.tune("-i", "t.csv", "-o", "t.csv", "--all")
        self.assertEqual(self.count("decision"), decisions + 3)
        self.assertEqual(self.read("t.csv"), before, "the fake device gives the same times again")

    def test_different_files_tune_the_inputs_shapes_again(self):
        self.put("one.csv", "".join(SHAPES.splitlines(keepends=True)[:2]))
        decisions = self.count("decision")
        self.tune("-i", "one.csv", "-o", "t.csv", "--all")
        self.assertEqual(self.count("decision"), decisions + 1)
        self.assertEqual(len(self.rows("t.csv")), 3)

    def test_without_all_nothing_is_tuned_again(self):
        decisions = self.count("decision")
        self.tune("-i", "t.csv", "-o", "t.csv")
        self.assertEqual(self.count("decision"), decisions)

    def test_a_shape_that_cannot_be_tuned_keeps_its_row(self):
        with self.untouched("t.csv"):
            self.tune("-i", "shapes.csv", "-o", "t.csv", "--all", "--libtype", "portable", status=1)

    def test_improved_rows_only(self):
        old = self.rows("t.csv")
        slower = self.read("t.csv").replace(old[0]["us"], "9.0000", 1)
        self.put("t.csv", slower)
        result = self.tune("-i", "shapes.csv", "-o", "t.csv", "--all", "--update_improved")
        self.assertEqual([r["us"] for r in self.rows("t.csv")], [r["us"] for r in old])
        self.assertEqual(result.stderr.count("kept the old row"), 2)

    def test_how_much_is_an_improvement_can_be_said(self):
        us = self.rows("t.csv")[0]["us"]
        self.put("t.csv", self.read("t.csv").replace(us, f"{float(us) * 1.02:.4f}", 1))
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--all", "--update_improved")
        self.assertNotEqual(self.rows("t.csv")[0]["us"], us)
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--all", "--update_improved", "--min_improvement_pct", "1")
        self.assertEqual(self.rows("t.csv")[0]["us"], us)


class OtherFiles(story.Story):
    def profile(self, name):
        return list(csv.DictReader(io.StringIO(self.read(name))))

    def test_every_candidate_stands_in_the_profile(self):
        self.put("shapes.csv", SHAPES)
        for flag in ("-o2", "--profile_file"):
            self.tune("-i", "shapes.csv", "-o", "t.csv", flag, "p.csv")
            rows = self.profile("p.csv")
            self.assertEqual({r["stage"] for r in rows}, {"verify", "screen", "final"})
            self.assertEqual({r["status"] for r in rows}, {"ok"})
            self.assertEqual(sum(r["stage"] == "verify" for r in rows), sum(k == "record" and e["stage"] == "verify"
                                                                             for k, e in self.journal()))
            self.assertGreater(sum(float(r["us"] or 0) > 0 for r in rows), 3)

    def test_keep_leaves_the_times_of_every_candidate_in_a_folder(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--keep", "kept/run1")
        self.assertGreater(len(self.profile("kept/run1/candidates.csv")), 30)

    def test_compare_prints_before_and_after_of_each_row(self):
        self.put("shapes.csv", SHAPES)
        result = self.tune("-i", "shapes.csv", "-o", "t.csv", "--compare")
        after = result.stdout.split("before and after", 1)[1]
        for shape in ("1×32×48", "1×40×40", "2×24×32"):
            self.assertRegex(after, shape + r".* µs → .* µs .*×")

    def test_json_tells_every_shape_and_nothing_else_is_on_standard_output(self):
        self.put("shapes.csv", SHAPES)
        for more in ((), ("--compare",), ("-v",)):
            answer = self.tune("-i", "shapes.csv", "-o", "t.csv", "--json", "--all", *more).json
            self.assertEqual(set(answer), {"ending", "device", "results", "skipped", "recoveries_ms", "restorations_ms", "time", "table"})
            self.assertEqual(answer["device"]["key"], "fake/4")
            self.assertEqual(len(answer["results"]), 3)
            for result in answer["results"]:
                self.assertLessEqual({"problem", "ending", "seconds", "candidates", "failed", "decision"}, set(result))
                self.assertEqual(result["ending"], "decided")
                decision = result["decision"]
                self.assertLessEqual({"winner", "us", "default", "default_us", "speedup", "interval", "verdict", "tied",
                                      "err_ratio", "finalists", "noisy"}, set(decision))
                self.assertIn(decision["winner"], [f["candidate"] for f in decision["finalists"]])
                self.assertLessEqual(decision["interval"][0], decision["speedup"])

    def test_verbose_says_what_each_shape_took(self):
        self.put("shapes.csv", SHAPES)
        self.assertEqual(self.tune("-i", "shapes.csv", "-o", "t.csv", "-v").stderr.count(" candidates, "), 3)


if __name__ == "__main__":
    story.main()
