# SPDX-License-Identifier: MIT
"""The run time's tables: listed in the order in which they win, merged, and what they leave uncovered."""
import os
import unittest

import story

KEY = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle"
REST = ",False,torch.float32,torch.float32,False,False"
HEADER = f"gfx,cu_num,{KEY},libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw"
KERNEL = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64"
FAKE_DEVICE = ("--device", "fake:0")
VARIABLE, OP = "ATTUNE_CONFIG_GEMM_BF16", "gemm_a16w16"
TUNED = "bf16_tuned_gemm.csv"


class Tables(story.Story):
    def setUp(self):
        super().setUp()
        os.mkdir(self.work / "configs")
        self.where = {"ATTUNE_CONFIG_DIR": "configs"}

    def ask(self, *arguments, env=None, **how):
        return self.attune(*arguments, *FAKE_DEVICE, env={**self.where, **(env or {})}, **how)

    def row(self, size, us, device="fake,4", kernel=KERNEL):
        return f"{device},{size}{REST},fake,-1,1,{us},{kernel},0.0,1.0,1.0"

    def table(self, name, *rows, header=HEADER):
        self.put(name, "\n".join((header, *rows, "")))


@unittest.skipIf(story.HAS_ADDRESS_SANITIZER, "AddressSanitizer needs several times the memory")
class Large(Tables):
    """Tables of many rows are read one row at a time."""

    NUM_ROWS, MOST_KIB = 40_000, 110 << 10

    def setUp(self):
        super().setUp()
        for name, added_us in (("a.csv", 0), ("b.csv", 1)):
            self.table(name, *(self.row(f"{i % 500 + 1},{8 * (i // 500 + 1)},48", 100 + i % 97 + added_us) for i in range(self.NUM_ROWS)))

    def test_of_two_that_differ_in_each_row_the_difference_takes_little_memory(self):
        for how in ((), ("--json",)):
            result = self.attune("diff", "a.csv", "b.csv", *how)
            self.assertLess(result.max_rss_kib, self.MOST_KIB, how)
            changed = len(result.json["changed"]) if how else result.stdout.count("\n~ ") + result.stdout.startswith("~ ")
            self.assertEqual(changed, self.NUM_ROWS)
        self.assertIn(f", {self.NUM_ROWS} the same", self.attune("diff", "a.csv", "a.csv").stdout)

    def test_to_check_one_takes_little_memory(self):
        result = self.attune("ci", "validate", "a.csv", "--op", OP, "--top", "1", status=None)
        self.assertIn(f"{self.NUM_ROWS} rows in 1 table", result.stdout)
        self.assertLess(result.max_rss_kib, self.MOST_KIB)


class Listed(Tables):
    def listed(self, env=None):
        answer = self.ask("tables", "--json", env=env).json
        self.assertEqual(answer["device"], "fake/4")
        return answer["families"]

    def test_without_tables(self):
        self.assertEqual(self.listed(), [])
        self.assertIn("no tables", self.ask("tables").stdout)
        self.assertIn(VARIABLE, self.ask("tables", "--op", OP).stdout)

    def test_files_stand_in_the_order_in_which_they_win(self):
        self.table("mine.csv", self.row("1,32,48", 2), self.row("2,24,32", 0))
        self.table("configs/model_configs/llama_" + TUNED, self.row("1,32,48", 1), self.row("2,24,32", 3))
        self.table("configs/" + TUNED, self.row("2,24,32", 5), self.row("2,24,32", 4),
                   self.row("2,24,32", 4, "gfx942,304"))
        (self.home / "overlay").mkdir(parents=True)
        self.table(self.home / "overlay" / TUNED, self.row("1,32,48", 0.5))
        family, = self.listed({VARIABLE: "mine.csv"})
        self.assertEqual((family["family"], family["variable"], family["strict"]), (OP, VARIABLE, False))
        found = [(one["origin"], one["num_rows"], one["num_of_device"], one["num_without_time"], one["num_shadowed"])
                 for one in family["files"]]
        # A row without a time shadows nothing; a key that a file has twice is one key.
        self.assertEqual(found, [("variable", 2, 2, 1, 0), ("overlay", 1, 1, 0, 1), ("model", 2, 2, 0, 1),
                                 ("default", 3, 2, 0, 1)])
        text = self.ask("tables", env={VARIABLE: "mine.csv"}).stdout
        self.assertRegex(text, r"(?m)^  default +3 +2 +0 +1  configs/bf16_tuned_gemm.csv$")
        family, = self.listed({"AITER_CONFIG_GEMM_BF16": "mine.csv"})
        self.assertTrue(family["strict"])
        self.assertEqual(len(family["files"]), 1)

    def test_wrong_files_are_said_and_passed_over(self):
        self.put("mine.csv", "gfx,cu_num,M\n")
        self.table("configs/" + TUNED, self.row("1,32,48", 1))
        family, = self.listed({VARIABLE: "mine.csv:gone.csv"})
        wrong, gone, good = family["files"]
        self.assertIn("mine.csv", wrong["skipped"])
        self.assertIn("gone.csv", gone["skipped"])
        self.assertEqual((good["num_rows"], good["num_shadowed"]), (1, 0))
        self.assertRegex(self.ask("tables", env={VARIABLE: "mine.csv"}).stdout, "skipped: .* names a list of shapes")

    def test_wrong_rows_are_said_and_the_others_count_as_at_run_time(self):
        self.table("mine.csv", self.row("1,x,48", 2), self.row("1,32,48", 2), self.row("y,32,48", 2))
        family, = self.listed({VARIABLE: "mine.csv"})
        file, = family["files"]
        self.assertEqual((file["num_rows"], file["num_skipped"]), (1, 2))
        self.assertIn("mine.csv:2", file["why_skipped"])
        self.assertRegex(self.ask("tables", env={VARIABLE: "mine.csv"}).stdout, "(?m)^ +2 rows skipped, the first: mine.csv:2")
        explained = self.ask("explain", f"{OP} m=1 n=32 k=48 dtype=fp32", env={VARIABLE: "mine.csv"})
        self.assertIn("mine.csv:3 ", explained.stdout)
        self.assertIn("note: 2 rows skipped, the first: mine.csv:2", explained.stderr)

    def test_bad_input(self):
        self.refused("tables", "--op", "gemm_x", says="gemm_x")
        self.refused("tables", "--device", "gpu:9", says="gpu:9")


class Merged(Tables):
    """a.csv wins over b.csv."""

    def setUp(self):
        super().setUp()
        self.table("a.csv", self.row("1,32,48", 3), self.row("1,32,48", 2), self.row("2,24,32", "nan"))
        self.table("b.csv", self.row("1,32,48", 1) + ',"x, y"', self.row("2,24,32", 4) + ",z",
                   self.row("1,32,48", 1, "gfx942,304") + ",", header=HEADER + ",remark")

    def merge(self, *arguments, **how):
        return self.ask("tables", "merge", "-o", "m.csv", "--op", OP, *arguments, **how)

    def test_each_key_has_the_row_that_the_run_time_would_take(self):
        answer = self.merge("a.csv", "b.csv", "--json").json
        found = [(one["key"].split(" bias")[0], one["device"], one["file"], one["line"]) for one in answer["rows"]]
        self.assertEqual(found, [("gemm_a16w16 m=1 n=32 k=48", "fake/4", "a.csv", 3),
                                 ("gemm_a16w16 m=2 n=24 k=32", "fake/4", "b.csv", 3),
                                 ("gemm_a16w16 m=1 n=32 k=48", "gfx942/304", "b.csv", 4)])
        self.assertEqual([(one["num_taken"], one["num_rows"]) for one in answer["files"]], [(1, 3), (2, 3)])
        self.assertEqual(answer["num_of_device"], 2)
        self.assertEqual(self.read("m.csv"), "\n".join((HEADER + ",remark", self.row("1,32,48", 2) + ",",
                         self.row("2,24,32", 4) + ",z", self.row("1,32,48", 1, "gfx942,304") + ",", "")))
        text = self.merge("b.csv:a.csv").stdout
        self.assertIn("3 rows of gemm_a16w16 in 'm.csv', 2 of them for fake/4", text)
        self.assertRegex(text, r"(?m)^ +3 of +3 rows  b\.csv\n +0 of +3 rows  a\.csv$")
        self.assertEqual(self.rows("m.csv")[0]["remark"], "x, y")

    def test_what_a_file_has_no_column_for_is_written_where_it_is_a_part_of_the_key(self):
        self.table("old.csv", "304,1,32,48,fake,-1,1,2," + KERNEL,
                   header="cu_num,M,N,K,libtype,solidx,splitK,us,kernelName")
        self.merge("b.csv", "old.csv", "--json")
        self.merge("old.csv", "b.csv")
        first = self.rows("m.csv")[0]
        self.assertEqual((first["gfx"], first["bias"], first["dtype"]), ("gfx942", "False", "torch.bfloat16"))

    def test_the_merged_table_is_read_by_the_other_commands(self):
        self.merge("a.csv", "b.csv")
        problem = "gemm_a16w16 m=2 n=24 k=32 dtype=fp32"
        for tables in ("m.csv", "a.csv:b.csv"):
            answer = self.ask("explain", problem, "-t", tables, "--json").json
            self.assertEqual(answer["match"], "exact")
        self.put("shapes.csv", f"{KEY}\n3,24,32{REST}\n")
        self.tune("-i", "shapes.csv", "-o", "m.csv")
        self.assertEqual(len(self.rows("m.csv")), 4)

    def test_the_run_times_tables_are_the_default(self):
        os.rename(self.work / "b.csv", self.work / "configs" / TUNED)
        answer = self.merge("--json", env={VARIABLE: "a.csv"}).json
        self.assertEqual([one["num_taken"] for one in answer["files"]], [1, 2])

    def test_a_row_of_no_model_wins_over_those_of_a_model_in_later_files(self):
        self.table("any.csv", self.row("1,32,48", 5) + ",", header=HEADER + ",device")
        self.table("one.csv", self.row("1,32,48", 9) + ",A", self.row("1,32,48", 8) + ",B", header=HEADER + ",device")
        self.merge("any.csv", "one.csv")
        self.assertEqual([one["device"] for one in self.rows("m.csv")], [""])
        result = self.merge("one.csv", "any.csv")
        self.assertEqual([one["device"] for one in self.rows("m.csv")], ["A", "B", ""])
        self.assertIn("1 row without a device model", result.stderr)

    def test_bad_input(self):
        def refused(*arguments, says):
            self.refused("tables", "merge", *arguments, says=says)

        refused("-o", "m.csv", says="--op")
        refused("-o", "m.csv", "a.csv", "gone.csv", "--op", OP, says="gone.csv")
        refused("-o", "./b.csv", "a.csv", "b.csv", "--op", OP, says="must not be one of the tables")
        refused("-o", "no/m.csv", "a.csv", "--op", OP, says="'no'")
        os.link(self.work / "a.csv", self.work / "same.csv")
        refused("-o", "same.csv", "a.csv", "b.csv", "--op", OP, says="must not be one of the tables")
        for content in ("name\nmine\n", "name,us\nmine,1\n", f"{KEY}\n1,32,48{REST}\n"):
            self.put("notes.csv", content)
            refused("-o", "notes.csv", "a.csv", "--op", OP, says="notes.csv")
        self.table("wrong.csv", self.row("1,x,48", 2))
        refused("-o", "m.csv", "a.csv", "wrong.csv", "--op", OP, says="wrong.csv:2")
        self.table("empty.csv", self.row("1,32,48", 0))
        refused("-o", "m.csv", "empty.csv", "--op", OP, says="nothing to merge")
        self.put("shapes.csv", f"{KEY}\n1,32,48{REST}\n")
        refused("-o", "m.csv", "shapes.csv", "--op", OP, says="shapes.csv")


if __name__ == "__main__":
    story.main()
