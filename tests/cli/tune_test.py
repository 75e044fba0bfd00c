# SPDX-License-Identifier: MIT
"""Shapes in, a table of winners out."""
import os

import story
from story import SHAPES

HEADER = ("gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw,"
          "device,layout\n")


class ShapesOfACsv(story.Story):
    def test_each_shape_gets_a_row_in_input_order_under_the_familys_header(self):
        self.put("shapes.csv", SHAPES)
        result = self.tune("-i", "shapes.csv", "-o", "bf16_tuned.csv")
        self.assertTrue(self.read("bf16_tuned.csv").startswith(HEADER))
        rows = self.rows("bf16_tuned.csv")
        self.assertEqual([(r["M"], r["N"], r["K"]) for r in rows], [("1", "32", "48"), ("1", "40", "40"), ("2", "24", "32")])
        self.assertEqual([r["bias"] for r in rows], ["False", "False", "True"])
        for row in rows:
            self.assertEqual((row["gfx"], row["cu_num"], row["dtype"]), ("fake", "4", "torch.float32"))
            self.assertRegex(row["kernelName"], r"^fake\.gemm@1:split_k=\d;tile_m=\d+;tile_n=\d+$")
            self.assertRegex(row["us"], r"^\d+\.\d{4}$")
            self.assertGreater(float(row["us"]), 0)
            self.assertEqual((row["libtype"], row["err_ratio"], row["layout"]), ("fake", "0.0", "plain"))
        self.assertIn("3 shapes decided: geometric mean", result.stdout)

    def test_a_rows_number_is_that_of_its_kernel_in_the_list_and_benches_it(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        for row in self.rows("t.csv"):
            problem = f"gemm_a16w16 m={row['M']} n={row['N']} k={row['K']} dtype=fp32 bias={int(row['bias'] == 'True')}"
            listed = self.attune("list", "candidates", problem, "--devices", "fake:0", "--json").json
            (fake,) = (one for one in listed if one["solver"] == "fake.gemm")
            self.assertEqual(dict(zip(fake["numbers"], fake["candidates"], strict=True))[int(row["solidx"])], row["kernelName"])
            lines = self.attune("list", "candidates", problem, "--devices", "fake:0").stdout.splitlines()
            self.assertTrue(any(line.split()[:2] == [row["kernelName"], "#" + row["solidx"]] for line in lines))
            short = f"{row['libtype']}#{row['solidx']}"
            timed = self.attune("bench", problem, "--devices", "fake:0", "--candidate", short, "--iters", "3", "--json").json
            self.assertEqual([one["candidate"] for one in timed["candidates"]], [row["kernelName"]])
            number = row["solidx"]
        self.put("again.csv", "M,N,K,dtype,bias\n2,24,32,fp32,1\n")
        self.tune("-i", "again.csv", "-o", "again_tuned.csv")  # Reused from the journal.
        self.assertEqual([row["solidx"] for row in self.rows("again_tuned.csv")], [number])

    def test_a_number_that_means_nothing_is_refused(self):
        problem = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"
        self.refused("bench", problem, "--devices", "fake:0", "--candidate", "fake#99999", says=("the numbers of fake.gemm", "fake#99999"))
        self.refused("bench", problem, "--devices", "fake:0", "--candidate", "fake#x", says=("solver#number", "fake#x"))
        self.refused("bench", problem, "--devices", "fake:0", "--candidate", "gone#1",
                     says="no solver of this name is available, see `attune list solvers`: 'gone#1'")

    def test_without_devices_the_rows_name_them(self):
        self.put("shapes.csv", "gfx,M,N,K,dtype\nfake,4,32,32,fp32\n")
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", "--quiet-wait", "0")
        self.assertEqual([row["gfx"] for row in self.rows("t.csv")], ["fake"])
        self.assertIn("1 row: 1 ok", self.attune("check", "t.csv", "--quiet-wait", "0").stdout)

    def test_without_a_list_the_rows_of_the_familys_name_the_devices(self):
        self.put("configs/bf16_untuned_gemm.csv", "gfx,M,N,K,dtype\nfake,4,32,32,fp32\n")
        self.attune("tune", "--config-dir", "configs", "-o", "t.csv", "--quiet-wait", "0")
        self.assertEqual([row["gfx"] for row in self.rows("t.csv")], ["fake"])

    def test_yaml_results_name_the_device_that_they_are_checked_on(self):
        self.put("sizes.yaml", "- {'M': 4, 'N': 32, 'K': 32, 'dtype': 'fp32'}\n")
        self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "r.yaml")
        self.assertIn("1 row: 1 ok", self.attune("check", "r.yaml", "--quiet-wait", "0").stdout)

    def test_results_are_printed_in_input_order(self):
        sizes = [(1, 32, 48), (64, 64, 64), (1, 40, 40), (128, 64, 64), (2, 24, 32), (16, 64, 64)]  # gains and ties
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in sizes))
        lines = self.tune("-i", "shapes.csv", "-o", "t.csv").stdout.splitlines()
        self.assertTrue(lines[0].startswith("shape (M×N×K)"))
        self.assertEqual([line.split()[0] for line in lines[1:len(sizes) + 1]], [f"{m}×{n}×{k}" for m, n, k in sizes])

    def test_one_shape_is_one_shape(self):
        self.put("shapes.csv", "M,N,K\n1,8,8\n")
        self.assertIn("\n1 shape decided: geometric mean", self.tune("-i", "shapes.csv", "-o", "t.csv").stdout)

    def test_rates_follow_from_the_time_and_the_shape(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        row = self.rows("t.csv")[0]
        us = float(row["us"])
        self.assertAlmostEqual(float(row["tflops"]), round(2 * 1 * 32 * 48 / us / 1e6, 2), delta=0.011)
        self.assertAlmostEqual(float(row["bw"]), 4 * (48 + 32 * 48 + 32) / us / 1e3, delta=0.011)

    def test_the_winner_is_the_fastest_of_the_exhaustive_search(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "race.csv")
        self.tune("-i", "shapes.csv", "-o", "all.csv", "--search", "exhaustive", "--iters", "9", "--warmup", "1")
        self.assertEqual([r["kernelName"] for r in self.rows("race.csv")], [r["kernelName"] for r in self.rows("all.csv")])

    def test_a_second_run_tunes_nothing_writes_nothing_and_says_so(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        entries = len(self.journal())
        with self.untouched("t.csv"):
            result = self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(len(self.journal()), entries)
        self.assertIn("3 shapes tuned before", result.stdout)

    def test_without_its_table_a_second_run_publishes_from_the_journal(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        first, entries = self.read("t.csv"), len(self.journal())
        (self.work / "t.csv").unlink()
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(self.read("t.csv"), first)
        self.assertEqual(len(self.journal()), entries)

    def test_without_its_journal_a_second_run_keeps_the_rows(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        with self.untouched("t.csv"):
            result = self.tune("-i", "shapes.csv", "-o", "t.csv", "--journal", "other.db")
        self.assertIn("3 shapes with a row already", result.stdout)
        self.assertEqual(self.count("record", self.work / "other.db"), 0)

    def test_shapes_decided_before_are_decided_although_the_budget_ends_before_their_turn(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        head, *rest = SHAPES.splitlines()
        self.put("more.csv", "\n".join((head, "64,512,512,False,fp32,fp32", *rest)) + "\n")
        for journal, ending in (((), "reused"), (("--journal", "other.db"), "kept")):
            more = ("-i", "more.csv", "-o", "t.csv", "--budget", "1ms", *journal)
            results = self.tune(*more, "--json").json["results"]
            self.assertEqual([one["ending"] for one in results], ["cut"] + 3 * [ending])
            self.assertEqual([one["decided"] for one in results], [False, True, True, True])
            text = self.tune(*more)
            self.assertIn("1 shape not decided, run again to continue", text.stderr)
            self.assertIn("3 shapes tuned before" if ending == "reused" else "3 shapes with a row already", text.stdout)

    def test_decisions_and_journal_say_how_the_candidates_were_timed(self):
        self.put("shapes.csv", SHAPES)
        for one in self.tune("-i", "shapes.csv", "-o", "t.csv", "--json").json["results"]:
            self.assertEqual(one["decision"]["timing"], "graph")
            self.assertIn("timing=graph", one["decision"]["protocol"])
        measured = [one["outcome"]["measurement"] for kind, one in self.journal() if kind == "record" and "measurement" in one["outcome"]]
        self.assertEqual({one["timing"] for one in measured}, {"graph"})

    def test_words_that_occur_in_the_table_are_explained_before_the_last_line(self):
        self.put("shapes.csv", SHAPES)
        lines = self.tune("-i", "shapes.csv", "-o", "t.csv").stdout.splitlines()
        self.assertTrue(lines[4].startswith("default: "), lines)
        self.assertTrue(lines[-1].startswith("3 shapes decided: "), lines)
        self.assertNotIn("baseline", "\n".join(lines))

    def test_bare_sizes_are_bf16_and_the_program_says_so(self):
        self.put("shapes.csv", "M,N,K\n1,8,8\n")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertIn("bare M, N, K are read as gemm_a16w16", result.stderr)
        self.assertEqual(self.rows("t.csv")[0]["dtype"], "torch.bfloat16")

    def test_sizes_without_a_type_have_the_type_that_the_help_states(self):
        self.put("sizes.yaml", "- {M: 1, N: 8, K: 8}\n")
        text = " ".join(self.attune("tune", "--help").stdout.split())
        self.assertIn("Type of x and the weights; one of bf16, fp16, fp32; default: fp16 for -m, -n, -k and for sizes in "
                      "YAML, else bf16", text)
        self.tune("-m", "1", "-n", "8", "-k", "8", "-o", "t.csv")
        self.tune("--gemm_size_file", "sizes.yaml", "-o", "y.csv")
        for table in ("t.csv", "y.csv"):
            self.assertEqual(self.rows(table)[0]["dtype"], "torch.float16", table)

    def test_the_command_lines_type_wins_over_the_files(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--dtype", "fp16", "--outdtype", "fp32")
        self.assertEqual({(r["dtype"], r["outdtype"]) for r in self.rows("t.csv")}, {("torch.float16", "torch.float32")})

    def test_a_byte_order_mark_and_crlf_are_accepted(self):
        self.put("shapes.csv", b"\xef\xbb\xbf" + SHAPES.replace("\n", "\r\n").encode())
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(len(self.rows("t.csv")), 3)

    def test_repeated_shapes_are_tuned_once(self):
        self.put("shapes.csv", "M,N,K\n1,8,8\n2,8,8\n1,8,8\n")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertEqual(len(self.rows("t.csv")), 2)
        self.assertIn("the first is shapes.csv:4", result.stderr)

    def test_max_m_leaves_out_larger_shapes(self):
        self.put("shapes.csv", "M,N,K\n1,8,8\n4,8,8\n3,8,8\n")
        result = self.tune("-i", "shapes.csv", "-o", "t.csv", "--max-m", "3")
        self.assertEqual([r["M"] for r in self.rows("t.csv")], ["1", "3"])
        self.assertIn("--max-m", result.stderr)

    def test_without_a_shape_it_says_so_and_writes_nothing(self):
        self.put("shapes.csv", SHAPES.splitlines()[0] + "\n")  # Shipped files of families without shapes look like this.
        self.put("large.csv", "M,N,K\n64,8,8\n")
        for flags in (("-i", "shapes.csv"), ("-i", "large.csv", "--max-m", "8")):
            before = story.snapshot(self.folder)
            self.assertIn(f"no shapes in {flags[1]}, nothing is tuned or written", self.tune(*flags, "-o", "t.csv").stderr)
            self.assertEqual(self.tune(*flags, "-o", "t.csv", "--json").json["results"], [])
            self.assertEqual(story.snapshot(self.folder), before)

    def test_the_familys_default_files_are_used_in_the_configuration_folder(self):
        self.put("configs/bf16_untuned_gemm.csv", SHAPES)
        result = self.tune("--config-dir", "configs")
        self.assertIn("configs/bf16_untuned_gemm.csv", result.stderr)
        self.assertEqual(len(self.rows("configs/bf16_tuned_gemm.csv")), 3)

    def test_a_tuned_table_serves_as_a_list_of_shapes(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.tune("-i", "t.csv", "-o", "again.csv")
        self.assertEqual(self.read("again.csv"), self.read("t.csv"))


class OneSize(story.Story):
    SIZE = ("-m", "1", "-n", "32", "-k", "48", "--dtype", "fp32")

    def test_it_is_printed_and_journalled_and_written_nowhere(self):
        result = self.tune(*self.SIZE)
        self.assertIn("1×32×48 fp32", result.stdout)
        self.assertEqual(self.count("decision"), 1)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_with_an_output_it_is_written(self):
        self.tune(*self.SIZE, "-o", "t.csv")
        self.assertEqual(len(self.rows("t.csv")), 1)

    def test_bias_and_transposition_are_part_of_the_problem(self):
        self.tune(*self.SIZE, "--bias", "--trans_a", "--trans_b", "0", "-o", "t.csv")
        problem = self.journal()[-1][1]["problem"]
        for attribute in ("bias=1", "trans_a=1", "trans_b=0"):
            self.assertIn(attribute, problem)
        row = self.rows("t.csv")[0]
        self.assertEqual((row["bias"], row["trans_a"], row["trans_b"]), ("True", "True", "False"))

    def test_compare_checks_the_winner_again(self):
        result = self.tune(*self.SIZE, "--compare")
        self.assertIn("before and after", result.stdout)
        self.assertIn("1×32×48 fp32: winner checked again: ok", result.stderr)

    def test_max_m_with_one_size_is_refused(self):
        self.refused("tune", *self.SIZE, "--max-m", "4", *story.FAKE, says="--max-m")


class SizesOfAYaml(story.Story):
    SIZES = ("- {'M': 1, 'N': 32, 'K': 48, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n"
             "- {'M': 2, 'N': 24, 'K': 32, 'rowMajorA': 'T', 'rowMajorB': 'T'}\n")

    def test_results_are_a_yaml_that_names_every_winner(self):
        self.put("sizes.yaml", self.SIZES)
        self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml", "--dtype", "fp32")
        lines = [line for line in self.read("out.yaml").splitlines() if line.startswith("-")]
        self.assertEqual(len(lines), 2)
        self.assertIn("fake.gemm@1:", lines[0])
        self.assertIn("'rowMajorB': 'N'", lines[0])
        self.assertIn("'rowMajorB': 'T'", lines[1])

    def test_without_a_name_the_results_carry_device_and_date(self):
        self.put("sizes.yaml", self.SIZES)
        self.tune("--gemm_size_file", "sizes.yaml")
        self.assertEqual(len(list(self.work.glob("tuning_results_fake_20??-??-??.yaml"))), 1)

    def test_compare_prints_before_and_after_and_checks_the_results(self):
        self.put("sizes.yaml", self.SIZES)
        result = self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml", "--compare")
        self.assertIn("before and after", result.stdout)
        self.assertEqual(result.stderr.count("winner checked again: ok"), 2)

    def test_results_serve_as_sizes(self):
        self.put("sizes.yaml", self.SIZES)
        self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml", "--dtype", "fp32")
        self.tune("--gemm_size_file", "out.yaml", "--tuning_results_file", "again.yaml", "--dtype", "fp32")
        self.assertEqual(self.read("again.yaml"), self.read("out.yaml"))

    def test_results_do_not_go_among_the_sizes(self):
        self.put("sizes.yaml", self.SIZES)
        os.symlink("sizes.yaml", self.work / "link.yaml")
        for results in ("sizes.yaml", "./sizes.yaml", "link.yaml"):
            self.refused("tune", "--gemm_size_file", "sizes.yaml", "--tuning_results_file", results, *story.FAKE,
                         says=("--gemm_size_file and --tuning_results_file name the same file", results))

    def test_results_are_there_whatever_was_tuned_before(self):
        self.put("sizes.yaml", self.SIZES)
        flags = ("--gemm_size_file", "sizes.yaml", "--dtype", "fp32", "-o", "tuned.csv")
        self.tune(*flags, "--tuning_results_file", "out.yaml")
        table = self.read("tuned.csv")
        self.assertIn("results again.yaml", self.tune(*flags, "--tuning_results_file", "again.yaml").stdout)
        (self.home / "journal.db").unlink()  # Only the table knows the rows now.
        self.tune(*flags, "--tuning_results_file", "of_table.yaml", status=None)
        names = [[line.split("'us'")[0] for line in self.read(f"{name}.yaml").splitlines()]
                 for name in ("out", "again", "of_table")]
        self.assertEqual(len(names[0]), 2)
        self.assertEqual(names[1:], [names[0]] * 2)
        self.assertEqual(self.read("tuned.csv"), table)

    def test_a_results_file_is_checked_without_tuning(self):
        self.put("sizes.yaml", self.SIZES)
        self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml", "--dtype", "fp32")
        entries = len(self.journal())
        with self.untouched("out.yaml"):
            for flags in (("--compare_wo_tuning", "out.yaml"), ("--gemm_size_file", "out.yaml", "--compare_wo_tuning")):
                self.assertIn("2 rows: 2 ok", self.tune(*flags).stdout)
        self.assertEqual(len(self.journal()), entries)

    def test_a_row_that_cannot_run_makes_the_check_fail(self):
        self.put("sizes.yaml", self.SIZES)
        self.tune("--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml", "--dtype", "fp32")
        self.put("out.yaml", self.read("out.yaml").replace("split_k=", "split=", 1))
        result = self.tune("--compare_wo_tuning", "out.yaml", status=1)
        self.assertIn("1 ok, 1 unusable", result.stdout)

    def test_a_foreign_results_file_has_nothing_to_check(self):
        self.put("sizes.yaml", (story.DATA / "streamk_tuned.yaml").read_bytes())
        result = self.tune("--compare_wo_tuning", "sizes.yaml", status=1)
        self.assertIn("NUM_SMS names the script's stream-K kernel", result.stdout)


if __name__ == "__main__":
    story.main()
