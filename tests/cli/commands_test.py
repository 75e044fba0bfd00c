# SPDX-License-Identifier: MIT
"""The commands beside tune: bench, list, explain, diff, check, journal."""
import contextlib
import csv
import io
import json
import sqlite3

import story
from story import FAKE, SHAPES

PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"
KEY = PROBLEM + " outdtype=fp32 bias=0"
DEVICE = ("--devices", "fake:0")
FOREIGN = "gfx942,304,8,8,8,False,torch.float32,torch.float32,False,False,x,1,0,5.0,native,0.0,1.0,1.0,,\n"


class Bench(story.Story):
    def test_without_a_solver_every_default_is_timed(self):
        result = self.attune("bench", PROBLEM, *FAKE)
        self.assertRegex(result.stdout, r"(?m)^fake\.gemm@1:split_k=1;tile_m=64;tile_n=64 .* µs ± .*× \[.*errRatio 0\.0000")

    def test_a_solver_and_a_config_name_one_candidate(self):
        answer = self.attune("bench", PROBLEM, *FAKE, "--solver", "fake.gemm", "--config", "split_k=2;tile_m=16;tile_n=16",
                             "--iters", "5", "--json").json
        self.assertEqual(set(answer), {"problem", "device", "clock_held_by", "candidates"})
        candidate, = answer["candidates"]
        self.assertEqual(candidate["candidate"], "fake.gemm@1:split_k=2;tile_m=16;tile_n=16")
        self.assertEqual((candidate["status"], candidate["samples"], candidate["err_ratio"]), ("ok", 5, 0))
        self.assertLessEqual({"tflops", "gbs", "clock"}, set(candidate))

    def test_what_a_time_is_worth_is_printed(self):
        self.assertRegex(self.attune("bench", PROBLEM, *FAKE).stdout, r"(?m)^    \d+\.\d+ TFLOP/s, \d+ GB/s, .*clock \d")

    def test_a_host_is_timed_by_its_clock_and_a_device_whose_streams_capture_by_graphs(self):
        for devices, solver, timing in ((("--devices", "cpu:0", "--quiet-wait", "0"), "portable.gemm", "clock"), (FAKE, "fake.gemm", "graph")):
            timed = self.attune("bench", PROBLEM, *devices, "--solver", solver, "--iters", "3", "--json").json
            self.assertEqual(timed["candidates"][0]["timing"], timing)

    def test_candidates_are_compared_with_the_first(self):
        names = ["fake.gemm@1:split_k=1;tile_m=64;tile_n=64", "fake.gemm@1:split_k=1;tile_m=16;tile_n=32"]
        answer = self.attune("bench", PROBLEM, *FAKE, "--candidate", names[0], "--candidate", names[1], "--json").json
        self.assertEqual([c["candidate"] for c in answer["candidates"]], names)
        self.assertGreater(answer["candidates"][1]["interval"][0], 1)

    def test_the_command_that_repeats_a_result_repeats_it(self):
        import shlex
        first = self.attune("bench", PROBLEM, *FAKE, "--json").json["candidates"][0]
        again = self.attune(*shlex.split(first["repeat"])[1:], "--json").json["candidates"][0]
        self.assertEqual(again["candidate"], first["candidate"])
        self.assertEqual(again["us"], first["us"])

    def test_a_candidate_that_cannot_run_is_reported(self):
        result = self.attune("bench", PROBLEM, *FAKE, "--candidate", "fake.gemm@0:tile_m=16", status=1)
        self.assertRegex(result.stdout, r"(?m)^fake\.gemm@0:tile_m=16 +[a-z_]+: ")

    def test_it_writes_nothing(self):
        self.attune("bench", PROBLEM, *FAKE)
        self.assertFalse(self.home.exists())

    def test_bad_arguments(self):
        for more, says in ((("--solver", "nope.gemm"), "attune list solvers"), (("--config", "a=1"), "--config needs --solver"),
                           (("--candidate", "garbage"), "garbage"), (("--iters", "0"), "iters"),
                           (("--solver", "fake.gemm", "--config", "tile_m=7"), "'tile_m=7'"),
                           (("--candidate", "fake.gemm@1:tile_m=16"), "does not offer this config"),
                           (("--solver", "portable.gemm"), "the solver cannot run the problem, `attune list candidates`")):
            self.refused("bench", PROBLEM, *FAKE, *more, says=says)
        self.refused("bench", "gemm_a16w16 m=1 n=32 dtype=fp32", *FAKE, says="'k'")
        self.refused("bench", "conv_of_nothing m=1", *FAKE, says="conv_of_nothing")
        self.refused("bench", PROBLEM + " colour=red", *FAKE, says="colour")


class List(story.Story):
    def test_solvers(self):
        self.assertIn("fake.gemm", self.attune("list", "solvers").stdout)
        entries = {e["id"]: e for e in self.attune("list", "solvers", "--json").json}
        for solver in ("fake.gemm", "portable.gemm"):
            self.assertTrue(entries[solver]["available"])
        for entry in entries.values():
            self.assertEqual(entry["available"], entry["reason"] == "", entry)

    def test_solvers_whose_libraries_wait_for_a_device_are_unavailable_with_the_loaders_reason(self):
        self.put("broken/libcuda.so.1", "text\n")
        self.put("operators.so", "text\n")
        environment = {"LD_LIBRARY_PATH": str(self.work / "broken")}
        text = self.attune("list", "solvers", env=environment).stdout
        entries = {e["id"]: e for e in self.attune("list", "solvers", "--json", env=environment).json}
        for solver in {"cublas.gemm", "cublaslt.gemm", "jit_cuda.gemm"} & entries.keys():  # Of a build with the CUDA toolkit.
            with self.subTest(solver):
                self.assertFalse(entries[solver]["available"])
                self.assertRegex(entries[solver]["reason"], r"the NVIDIA driver \(libcuda\.so\.1\) cannot be opened, install it: .*libcuda\.so\.1: ")
                self.assertRegex(text, rf"(?m)^{solver} .*  UNAVAILABLE: the NVIDIA driver .*libcuda\.so\.1: ")
        self.assertEqual(entries["torch.gemm"]["available"], False)
        self.assertIn("ATTUNE_TORCH_OPERATORS names no library", entries["torch.gemm"]["reason"])
        entries = {e["id"]: e for e in self.attune("list", "solvers", "--json", env={"ATTUNE_TORCH_OPERATORS": str(self.work / "operators.so")}).json}
        self.assertRegex(entries["torch.gemm"]["reason"], "does not name a library of PyTorch's operators .*operators.so")

    def test_devices(self):
        self.assertIn("fake:0", self.attune("list", "devices").stdout)
        entries = {e["id"]: e for e in self.attune("list", "devices", "--json").json}
        self.assertEqual(set(entries), {"cpu:0", "fake:0"})
        self.assertEqual((entries["fake:0"]["gfx"], entries["fake:0"]["cu_num"]), ("fake", 4))
        self.assertGreater(entries["cpu:0"]["memory_bytes"], 0)

    def test_ops(self):
        self.assertRegex(self.attune("list", "ops").stdout, r"gemm_a16w16 +bf16_tuned_gemm.csv +tunable")
        entries = {e["op"]: e for e in self.attune("list", "ops", "--json").json}
        self.assertTrue(entries["gemm_a16w16"]["tunable"])
        self.assertFalse(entries["fmoe"]["tunable"])
        self.assertLessEqual({"m", "n", "k", "dtype"}, {a["name"] for a in entries["gemm_a16w16"]["attributes"]})

    def test_candidates_with_what_the_rules_excluded(self):
        text = self.attune("list", "candidates", PROBLEM, *DEVICE, "--pruned").stdout
        self.assertIn("fake.gemm@1:split_k=1;tile_m=64;tile_n=64  #30  (default)", text)
        self.assertIn("excluded by tile-fits", text)
        answer = {e["solver"]: e for e in self.attune("list", "candidates", PROBLEM, *DEVICE, "--json").json}
        fake = answer["fake.gemm"]
        self.assertEqual(fake["allowed"], len(fake["candidates"]))
        self.assertEqual(len(fake["numbers"]), len(fake["candidates"]))
        self.assertIs(fake["sampled"], False)
        self.assertEqual(fake["size"], fake["allowed"] + sum(fake["rejected"].values()))
        self.assertFalse(answer["portable.gemm"]["supported"])

    def test_bad_arguments(self):
        self.refused("list", says="name what to list: solvers, devices, ops or candidates")
        self.refused("list", "frobs", says="frobs")
        self.refused("list", "candidates", *DEVICE, says="give a problem")
        self.refused("list", "candidates", "gemm_a16w16 m=0 n=1 k=1", *DEVICE, says="'m'")
        for what in ("solvers", "devices", "ops"):
            self.refused("list", what, "x", says=f"attune list {what} takes no argument 'x'")

    def test_candidates_of_a_problem_that_is_too_large_are_refused(self):
        size = 2 ** 31
        self.refused("list", "candidates", f"gemm_a16w16 m={size} n={size} k={size} dtype=fp32", *DEVICE, says="2147483647")
        size -= 1
        for command in (("list", "candidates"), ("bench",), ("explain",)):
            self.refused(*command, f"gemm_a16w16 m={size} n={size} k={size} dtype=fp32", *DEVICE, says="does not fit in memory")


class Tables(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")


class Explain(Tables):
    def test_without_a_table_those_of_the_run_time_are_looked_in(self):
        env = {"ATTUNE_CONFIG_GEMM_BF16": f"{self.work / 'gone.csv'}:{self.work / 't.csv'}", "ATTUNE_CONFIG_STRICT": "1"}
        result = self.attune("explain", PROBLEM, *DEVICE, "--json", env=env)
        self.assertEqual((result.json["match"], result.json["tables"]), ("exact", [f"variable {self.work / 't.csv'}"]))
        self.assertIn("names a table that does not exist", result.stderr)
        self.assertEqual(result.stderr.count("gone.csv"), 1, result.stderr)
        answer = self.attune("explain", PROBLEM, *DEVICE, "--json", env={"ATTUNE_CONFIG_DIR": str(self.work / "none")}).json
        self.assertEqual((answer["match"], answer["tables"]), ("fallback", []))

    def explain(self, problem, *more):
        return self.attune("explain", problem, "-t", "t.csv", *DEVICE, "--json", *more).json

    def test_an_exact_row(self):
        answer = self.explain(PROBLEM)
        self.assertEqual((answer["match"], answer["steps"][0]["line"]), ("exact", 2))
        self.assertEqual(answer["candidate"], self.rows("t.csv")[0]["kernelName"])
        text = self.attune("explain", PROBLEM, "-t", "t.csv", *DEVICE).stdout
        self.assertIn("t.csv:2", text)

    def test_the_winner_is_marked_among_the_finalists(self):
        answer = self.explain(PROBLEM)["decision"]
        self.assertEqual([one["candidate"] for one in answer["finalists"] if one["winner"]], [answer["winner"]])
        self.assertGreater(len(answer["finalists"]), 1)
        lines = self.attune("explain", PROBLEM, "-t", "t.csv", *DEVICE).stdout.splitlines()
        marked = [line for line in lines if "  (the winner)" in line]
        self.assertEqual(len(marked), 1, lines)
        self.assertIn(f"  {answer['winner']}  ", marked[0])
        self.assertTrue(any(line.startswith("  default: ") for line in lines), "words of the table are explained")

    def test_padded_rows_and_the_fallback(self):
        self.put("more.csv", "M,N,K,dtype\n16,8,8,fp32\n1024,8,2,fp32\n")
        self.tune("-i", "more.csv", "-o", "t.csv", "--max-trials", "4")
        self.assertEqual(self.explain("gemm_a16w16 m=3 n=8 k=8 dtype=fp32")["match"], "padded_fine")
        self.assertEqual(self.explain("gemm_a16w16 m=600 n=8 k=2 dtype=fp32")["match"], "padded_coarse")
        answer = self.explain("gemm_a16w16 m=3 n=9 k=8 dtype=fp32")
        self.assertEqual((answer["match"], "candidate" in answer), ("fallback", False))

    def test_a_row_that_cannot_be_used_is_told(self):
        self.put("t.csv", self.read("t.csv").replace("fake.gemm@1:", "fake.gemm@0:", 1))
        answer = self.explain(PROBLEM)
        self.assertEqual(answer["match"], "fallback")
        self.assertIn("fake.gemm 0", answer["steps"][0]["remark"])

    def test_of_two_tables_the_first_serves(self):
        self.put("first.csv", self.read("t.csv").replace("split_k=1", "split_k=2", 1))
        answer = self.attune("explain", PROBLEM, "-t", "first.csv:t.csv", *DEVICE, "--json").json
        self.assertIn("split_k=2", answer["candidate"])
        self.assertIn("not used", self.attune("explain", PROBLEM, "-t", "first.csv:t.csv", *DEVICE).stdout)

    def test_the_summary_counts_every_candidate_once(self):
        summary = self.explain(PROBLEM)["summary"]
        candidates = {e["solver"]: e for e in self.attune("list", "candidates", PROBLEM, *DEVICE, "--json").json}["fake.gemm"]
        measured = sum(count for reason, count in summary.items() if reason in ("a finalist", "slower in the race", "verified"))
        self.assertEqual(measured, candidates["allowed"])
        ruled_out = sum(count for reason, count in summary.items() if reason.startswith("excluded by rule"))
        self.assertEqual(ruled_out, candidates["size"] - candidates["allowed"])

    def test_the_decision_is_told_without_a_table(self):
        text = self.attune("explain", PROBLEM, *DEVICE).stdout
        self.assertIn("decision in the journal", text)
        self.assertRegex(text, r"(?m)^  served by a default config: fake\.gemm@1:")
        answer = self.attune("explain", PROBLEM, *DEVICE, "--json").json
        self.assertIn(f"  served by a default config: {answer['untuned']}\n", text)
        self.assertNotIn("\\n", text, "line ends are written, not named")
        self.assertIn("repeat: attune bench", text)
        self.assertTrue(answer["decision"]["decided"])

    def test_the_answer_comes_first_and_solvers_that_do_not_apply_are_one_line(self):
        served = self.attune("explain", PROBLEM, "-t", "t.csv", *DEVICE).stdout.splitlines()
        self.assertRegex(served[1], r"^  served by t\.csv:2 fake\.gemm@1:.*, exact match$")
        lines = self.attune("explain", PROBLEM, *DEVICE, env={"ATTUNE_CONFIG_DIR": str(self.work / "none")}).stdout.splitlines()
        self.assertRegex(lines[1], r"^  served by a default config: fake\.gemm@1:")
        self.assertEqual(len([line for line in lines if "not for this problem" in line]), 1, lines)
        self.assertRegex(lines[-1], r"^ +[0-9]+  not for this problem \(--json lists them\), e\.g\. ")

    def test_an_unfinished_contest_is_no_decision(self):
        with contextlib.closing(sqlite3.connect(self.home / "journal.db")) as journal:
            for number, kind, payload in journal.execute("SELECT id, kind, payload FROM entries").fetchall():
                if story.KINDS[kind] == "decision":
                    cut = json.dumps({**json.loads(payload), "incomplete": True, "verdict": "tie"})
                    journal.execute("UPDATE entries SET payload = ? WHERE id = ?", (cut, number))
            journal.commit()
        text = self.attune("explain", PROBLEM, *DEVICE).stdout
        self.assertIn("not decided: the contest in the journal is unfinished", text)
        self.assertNotIn("decision in the journal:", text)
        self.assertFalse(self.explain(PROBLEM)["decision"]["decided"])

    def test_near_rows_are_listed_when_none_serves(self):
        answer = self.explain("gemm_a16w16 m=99 n=32 k=48 dtype=fp32")
        self.assertEqual([(row["line"], row["key"].split()[1]) for row in answer["near"]], [(2, "m=1")])
        text = self.attune("explain", "gemm_a16w16 m=1 n=32 k=48 dtype=bf16", "-t", "t.csv", *DEVICE).stdout
        self.assertRegex(text, r"(?m)^  near +1×32×48 fp32  t\.csv:2 fake\.gemm@1:")
        self.assertEqual(self.explain(PROBLEM)["near"], [], "an exact row serves")

    def test_a_row_of_an_unknown_layout_says_that_nothing_serves_it(self):
        header, row, *_ = self.read("t.csv").splitlines()
        cells = row.split(",")
        cells[header.split(",").index("layout")] = "wibble"
        self.put("t.csv", f"{header}\n{','.join(cells)}\n")
        why = "its kernel reads weights in the layout 'plain', not in 'wibble', which is no known layout"
        answer = self.explain(PROBLEM)
        self.assertEqual((answer["match"], [(one["line"], one["reason"]) for one in answer["not_used"]]),
                         ("fallback", [(2, why)]))
        text = self.attune("explain", PROBLEM, "-t", "t.csv", *DEVICE).stdout
        self.assertRegex(text, rf"(?m)^  not used +t\.csv:2 fake\.gemm@1:.*: {why}$")
        checked = self.attune("check", "t.csv", "--no-run", *FAKE, status=1).stdout
        self.assertIn(f"t.csv:2 1×32×48 fp32: unusable, {why}", checked)
        self.assertIn(f"cannot be used on this machine: {why}", self.attune("coverage", "-t", "t.csv", *DEVICE).stdout)

    def test_a_problem_that_is_none_is_quoted(self):
        for problem, why in (("gemm_a16w16 m=1 n=2", "gemm_a16w16 needs the attribute 'k'"),
                             ("gemm_a16w16 m=1 n=2 k=3 colour=red", "gemm_a16w16 has no attribute 'colour'"),
                             ("gemm_a16w16 m=0 n=2 k=3", "attribute 'm' expects a whole number from 1 to ")):
            self.refused("explain", problem, *DEVICE, says=f"the problem '{problem}': {why}")

    def test_a_problem_in_several_arguments_is_to_be_quoted(self):
        self.refused("explain", *PROBLEM.split(), *DEVICE,
                     says=f'attune explain takes the problem as one argument, put it in quotes: "{PROBLEM}"; see ')

    def test_a_journal_that_is_not_there_is_no_error_unless_it_was_named(self):
        self.attune("explain", PROBLEM, "-t", "t.csv", *DEVICE, env={"ATTUNE_HOME": str(self.folder / "empty")})
        self.refused("explain", PROBLEM, "-t", "t.csv", *DEVICE, "--journal", "nope.db", says="nope.db")


class Diff(Tables):
    def test_equal_tables(self):
        self.assertEqual(self.attune("diff", "t.csv", "t.csv").stdout, "0 added, 0 removed, 0 changed, 3 the same\n")

    def test_added_removed_and_changed_rows(self):
        lines = self.read("t.csv").splitlines(keepends=True)
        us = self.rows("t.csv")[1]["us"]
        self.put("new.csv", lines[0] + lines[2].replace(us, "1.0000") + lines[3] + FOREIGN)
        text = self.attune("diff", "t.csv", "new.csv").stdout
        self.assertIn("1 added, 1 removed, 1 changed, 1 the same", text)
        self.assertIn(f"us: {us} → 1.0000", text)
        answer = self.attune("diff", "t.csv", "new.csv", "--json").json
        self.assertEqual([len(answer[name]) for name in ("added", "removed", "changed")], [1, 1, 1])
        self.assertEqual((answer["same"], answer["added"][0]["gfx"]), (1, "gfx942"))
        self.assertAlmostEqual(answer["changed"][0]["speedup"], float(us), places=3)

    YAML = ("- {{'M': 1, 'N': 32, 'K': 48, 'rowMajorA': 'T', 'rowMajorB': 'N', 'BLOCK_SIZE_M': {}, 'candidate': '{}', "
            "'us': {}, 'dtype': 'fp32', 'device': 'fake/4'}}\n")

    def test_yaml_results_on_both_sides(self):
        self.put("old.yaml", self.YAML.format(64, "a.gemm@1:t=1", 5.0))
        self.put("new.yaml", self.YAML.format(32, "a.gemm@1:t=1", 4.0))
        text = self.attune("diff", "old.yaml", "new.yaml").stdout
        self.assertIn("~ 1×32×48 fp32  fake/4  5.0000 → 4.0000 µs, 1.250×", text)
        self.assertIn("BLOCK_SIZE_M: 64 → 32", text)
        self.assertIn("0 added, 0 removed, 0 changed, 1 the same", self.attune("diff", "old.yaml", "old.yaml").stdout)

    def test_a_table_and_yaml_results_by_what_both_say(self):
        row = self.rows("t.csv")[0]
        self.put("same.yaml", self.YAML.format(64, row["kernelName"], row["us"]))
        answer = self.attune("diff", "t.csv", "same.yaml", "--json").json
        self.assertEqual((answer["same"], answer["changed"], len(answer["removed"])), (1, [], 2))
        self.put("new.yaml", self.YAML.format(64, row["kernelName"], 1.0))
        change, = self.attune("diff", "new.yaml", "t.csv", "--json").json["changed"]
        self.assertEqual([cell["column"] for cell in change["cells"]], ["us"])

    def test_bad_arguments(self):
        self.refused("diff", "t.csv", "nope.csv", says="nope.csv")
        self.refused("diff", "t.csv", says="after")
        self.refused("diff", "t.csv", "t.csv", "--op", "nope", says="nope")
        self.put("bf16_untuned_gemm.csv", story.SHAPES)
        self.refused("diff", "t.csv", "bf16_untuned_gemm.csv", says=("bf16_untuned_gemm.csv:1:", "so it is not a tuned table"))


class Check(Tables):
    def test_every_row_is_right_and_as_fast(self):
        self.assertIn("3 rows: 3 ok", self.attune("check", "t.csv", *FAKE).stdout)
        for row in self.attune("check", "t.csv", *FAKE, "--json").json:
            self.assertEqual((row["status"], row["reason"]), ("ok", ""))
            self.assertGreaterEqual(row["speedup"], 1)

    def test_without_a_run_rows_are_loaded(self):
        self.assertIn("3 rows: 3 loaded", self.attune("check", "t.csv", "--no-run", *FAKE).stdout)

    def test_foreign_rows_are_counted(self):
        self.put("t.csv", self.read("t.csv") + FOREIGN)
        self.assertIn("4 rows: 3 ok, 1 foreign device", self.attune("check", "t.csv", *FAKE).stdout)

    def test_a_version_that_is_not_here_makes_a_row_unusable(self):
        self.put("t.csv", self.read("t.csv").replace("fake.gemm@1:", "fake.gemm@0:", 1))
        for flags in ((), ("--no-run",)):
            result = self.attune("check", "t.csv", *FAKE, *flags, status=1)
            self.assertEqual(result.stderr, "attune: 1 row of this device cannot be used\n")
            self.assertIn("t.csv:2 1×32×48 fp32: unusable, made with fake.gemm 0, this machine has 1", result.stdout)

    def test_a_time_that_is_none_is_quoted(self):
        row = self.rows("t.csv")[0]
        self.put("t.csv", self.read("t.csv").replace(f",{row['us']},", ",banana,", 1))
        self.assertIn("t.csv:2 1×32×48 fp32: unusable, column 'us' expects a time in µs from 1e-09 to 1e+18, got 'banana'",
                      self.attune("check", "t.csv", "--no-run", *FAKE, status=1).stdout)

    def test_a_row_of_several_tables_is_named_with_its_file(self):
        self.put("u.csv", self.read("t.csv"))
        self.assertIn("\nu.csv:2 1×32×48 fp32: not taken, is shadowed by an earlier file: t.csv:2 wins, ",
                      self.attune("check", "t.csv:u.csv", "--no-run", *FAKE).stdout)
        rows = self.attune("check", "t.csv:u.csv", "--no-run", "--json", *FAKE).json
        self.assertEqual([row["row"] for row in rows], [f"{file}:{line}" for file in ("t.csv", "u.csv") for line in (2, 3, 4)])
        answer = self.attune("explain", PROBLEM, "-t", "t.csv:u.csv", *DEVICE, "--json").json
        self.assertEqual([one["row"] for one in answer["steps"] + answer["not_used"]], ["t.csv:2", "u.csv:2"])

    def test_rows_that_no_lookup_takes_are_named_and_counted(self):
        header, first, *others = self.read("t.csv").splitlines()
        us = self.rows("t.csv")[0]["us"]
        slower = first.replace(us, f"{float(us) + 1:.4f}", 1)
        self.put("t.csv", "\n".join((header + ",_tag", first + ",", *(row + "," for row in others), slower + ",", first + ",slow_boot", "")))
        for flags, right in (((), "ok"), (("--no-run",), "loaded")):
            result = self.attune("check", "t.csv", *FAKE, *flags)
            self.assertIn("t.csv:5 1×32×48 fp32: not taken, is slower than another row of its file: t.csv:2 wins, ", result.stdout)
            self.assertIn("t.csv:6 1×32×48 fp32: not taken, has a _tag: slow_boot; ", result.stdout)
            self.assertEqual(result.stdout.splitlines()[-1], f"5 rows: 3 {right}, 2 not taken")
            self.assertIn("note: no lookup on this device takes 2 rows, which could be removed\n", result.stderr)
        self.put("t.csv", self.read("t.csv").replace("fake.gemm@1:", "fake.gemm@1:colour=red;"))
        self.assertIn("5 unusable", self.attune("check", "t.csv", *FAKE, status=1).stdout, "they are checked as well")

    def test_a_row_slower_than_the_default_fails(self):
        row = self.rows("t.csv")[0]
        slow = "fake.gemm@1:split_k=4;tile_m=128;tile_n=16"
        self.put("t.csv", self.read("t.csv").replace(row["kernelName"], slow, 1))
        result = self.attune("check", "t.csv", *FAKE, "--max-slowdown", "0.5", status=1)
        self.assertIn("1 slower than the default", result.stdout)
        self.attune("check", "t.csv", *FAKE, "--max-slowdown", "90")

    def test_a_row_slower_than_it_says_fails(self):
        us = self.rows("t.csv")[0]["us"]
        self.put("t.csv", self.read("t.csv").replace(us, f"{float(us) / 1.4:.4f}", 1))  # 40 % slower than it says
        result = self.attune("check", "t.csv", *FAKE, status=1)
        self.assertIn("1×32×48 fp32: slower than its row says, in both runs", result.stdout)
        self.attune("check", "t.csv", *FAKE, "--slower-than", "45")
        self.attune("check", "t.csv", *FAKE, "--slower-than", "35", status=1)

    def test_a_row_whose_config_its_solver_does_not_offer_is_unusable(self):
        self.put("t.csv", self.read("t.csv").replace("split_k=", "split=", 1))
        shown = self.attune("check", "t.csv", *FAKE, status=1).stdout
        self.assertRegex(shown, r"t\.csv:2 1×32×48 fp32: unusable, .*'split'")
        self.assertIn("1 unusable", shown)
        coverage = self.attune("coverage", "-t", "t.csv", "--op", "gemm_a16w16", "--devices", "fake:0", "--json").json
        self.assertEqual([(one["row"], one["reason"]) for one in coverage["unreachable"]],
                         [("t.csv:2", "cannot be used on this machine")])
        self.assertIn("'split'", coverage["unreachable"][0]["detail"])

    def test_a_row_that_cannot_be_read_is_reported_and_the_others_are_checked(self):
        header, first, *others = self.read("t.csv").splitlines()
        foreign = first.replace("fake,4", "gfx942,304")
        self.put("t.csv", "\n".join((header + ",out_scale", first + ",nan", *others, foreign + ",nan", "")))
        shown = self.attune("check", "t.csv", *FAKE, status=1).stdout
        self.assertIn("t.csv:2: unusable, column 'out_scale' expects True or False, got 'nan'", shown)
        self.assertIn("4 rows: 2 ok, 1 foreign device, 1 unusable", shown)
        rows = self.attune("check", "t.csv", "--no-run", "--json", *FAKE, status=1).json
        self.assertEqual([row["status"] for row in rows], ["unusable", "loaded", "loaded", "foreign device"])
        self.assertIn("'nan'", rows[3]["reason"])

    def test_nothing_to_check_is_a_failure(self):
        self.put("foreign.csv", self.read("t.csv").splitlines(keepends=True)[0] + FOREIGN)
        result = self.attune("check", "foreign.csv", *FAKE, status=1)
        self.assertIn("no row of the file could be checked", result.stderr)

    def test_the_table_is_not_touched(self):
        with self.untouched("t.csv"):
            self.attune("check", "t.csv", *FAKE)

    def test_bad_arguments(self):
        self.refused("check", "nope.csv", *FAKE, says="nope.csv")
        self.refused("check", "t.csv", *FAKE, "--op", "nope", says="nope")
        self.refused("check", *FAKE, says="table")


class Journal(Tables):
    def test_show_lists_decisions(self):
        text = self.attune("journal", "show").stdout
        self.assertIn("1×32×48 fp32", text)
        self.assertRegex(text, r"3 decisions, \d+ records of \d+ candidates; .*journal\.db")
        lines = self.attune("journal", "show", "--json").stdout.splitlines()
        self.assertEqual([json.loads(line)["problem"] for line in lines][0], KEY)
        self.assertIn("--devices fake:0", json.loads(lines[0])["repeat"])
        self.assertEqual(len(lines), 3)

    def test_show_of_one_problem_or_device(self):
        self.assertIn("1 decision,", self.attune("journal", "show", "--problem", KEY).stdout)
        self.assertIn("0 decisions, 0 records", self.attune("journal", "show", "--device", "gfx942/304").stdout)

    def test_export_writes_every_record(self):
        self.attune("journal", "export", "--csv", "all.csv")
        rows = list(csv.DictReader(io.StringIO(self.read("all.csv"))))
        self.assertEqual(len(rows), self.count("record"))
        self.assertEqual({r["status"] for r in rows}, {"ok"})

    def test_what_is_exported_is_private_unless_it_was_not(self):
        self.put("old.csv", "")
        (self.work / "old.csv").chmod(0o644)
        for name, mode in (("new.csv", 0o600), ("old.csv", 0o644)):
            self.attune("journal", "export", "--csv", name)
            self.assertEqual((self.work / name).stat().st_mode & 0o777, mode)

    def test_vacuum_does_not_change_how_many_candidates_there_were(self):
        before = self.attune("journal", "show").stdout
        self.attune("journal", "vacuum")
        self.assertEqual(self.attune("journal", "show").stdout, before)

    def test_vacuum_keeps_what_counts(self):
        decisions, records = self.count("decision"), self.count("record")
        self.assertIn("KiB", self.attune("journal", "vacuum").stdout)
        self.assertEqual((self.count("decision"), self.count("record")), (decisions, records))
        self.assertEqual(self.count("started"), 0)
        with self.untouched("t.csv"):
            self.assertIn("3 shapes tuned before", self.tune("-i", "shapes.csv", "-o", "t.csv").stdout)

    def test_it_can_be_named_before_or_after_the_action(self):
        file = self.home / "journal.db"
        elsewhere = {"ATTUNE_HOME": str(self.folder / "empty")}
        for arguments in (("--journal", file, "show"), ("show", "--journal", file)):
            self.assertIn("3 decisions", self.attune("journal", *arguments, env=elsewhere).stdout)

    def test_bad_arguments(self):
        self.refused("journal", says="show, follow, export or vacuum")
        self.refused("journal", "frob", says="frob")
        self.refused("journal", "export", says="--csv")
        self.refused("journal", "export", "--csv", "no/such/folder.csv", says="no/such")
        for action in (("show",), ("export", "--csv", "a.csv"), ("vacuum",)):
            self.refused("journal", *action, "--journal", "nope.db", says="nope.db")
        self.put("garbage.db", b"not a database, but long enough to be looked at " * 40)
        self.refused("journal", "show", "--journal", "garbage.db", says="garbage.db")


if __name__ == "__main__":
    story.main()
