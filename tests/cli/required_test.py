# SPDX-License-Identifier: MIT
"""What may be required of a winner: --require, the rows that state it, and the lookups that ask for it.

The fake solver's configs state batch-invariant with split_k=1, deterministic with split_k=2 and nothing with split_k=4.
All of them compute the same bits, unless a planted fault changes a bit in each process or with M."""
import itertools
import signal
import time

import story

# Long along K, so that split_k=4 is the fastest, then 2, then 1.
SHAPES = "M,N,K,dtype\n2,16,256,fp32\n"
BEST = "split_k=4;tile_m=16;tile_n=16"
BEST_DETERMINISTIC = "split_k=2;tile_m=16;tile_n=16"
UNTUNED = "split_k=1;tile_m=64;tile_n=64"
SQUARE = "M,N,K,dtype\n64,64,4,fp32\n"  # here the default config is the fastest
TILES = (16, 32, 64, 128)


class RequiredStory(story.Story):
    def published(self, *flags, faults="", shapes=SHAPES, status=0):
        """Rows of the table after a run with planted faults, and the run's results."""
        self.put("shapes.csv", shapes)
        planted = self.put("faults.tsv", faults)
        run = self.tune("-i", "shapes.csv", "-o", "t.csv", "--json", *flags, env={"ATTUNE_FAKE_FAULTS": str(planted)},
                        status=status)
        self.results = run.json["results"]
        return self.rows("t.csv") if (self.work / "t.csv").exists() else []

    def failures(self):
        return [(payload["candidate"]["config"], payload["outcome"]["status"], payload["outcome"]["detail"])
                for kind, payload in self.journal() if kind == "record" and payload["outcome"]["status"] != "ok"]


class Required(RequiredStory):
    def test_its_row_stands_beside_the_other(self):
        rows = self.published()
        self.assertIn(BEST, rows[0]["kernelName"])
        self.assertNotIn("require", rows[0], "a table whose rows state nothing has no column")
        before = self.read("t.csv").splitlines()[1]
        rows = self.published("--require", "deterministic")
        self.assertEqual([row["require"] or "" for row in rows], ["", "deterministic"])
        self.assertEqual(self.read("t.csv").splitlines()[1], before, "its cells stay as they were")
        self.assertIn(BEST_DETERMINISTIC, rows[1]["kernelName"])
        self.assertIn("require=deterministic", self.results[0]["decision"]["protocol"])
        reasons = {detail for config, status, detail in self.failures() if "split_k=4" in config}
        self.assertEqual(reasons, {"its plan does not state that it is deterministic"})

    def test_neither_decision_is_reused_for_the_other(self):
        self.published()
        self.published("--require", "deterministic")
        self.assertEqual([one["ending"] for one in self.results], ["decided"])
        self.published("--require", "deterministic")
        self.assertEqual([one["ending"] for one in self.results], ["reused"])
        self.published()
        self.assertEqual([one["ending"] for one in self.results], ["reused"])
        self.assertEqual(len(self.rows("t.csv")), 2)

    def test_bits_that_depend_on_the_process_are_found(self):
        faults = f"*\t{BEST_DETERMINISTIC}\tby_process\trun\talways\n"
        self.assertIn(BEST, self.published(faults=faults)[0]["kernelName"], "correct, so nothing else notices")
        rows = self.published("--require", "deterministic", faults=faults)
        self.assertEqual(rows[1]["require"], "deterministic")
        self.assertNotIn(BEST_DETERMINISTIC, rows[1]["kernelName"])
        found = [(status, detail) for config, status, detail in self.failures() if config == BEST_DETERMINISTIC]
        self.assertEqual([status for status, _ in found], ["wrong_result"])
        self.assertIn("differs from that in another process although its plan states that it is deterministic",
                      found[0][1])

    def test_bits_that_change_later_are_found(self):
        # The first launches verify; then come those that other threads disturb.
        faults = f"*\t{BEST_DETERMINISTIC}\tby_process\trun\tfrom:6\n"
        rows = self.published("--require", "deterministic", faults=faults)
        self.assertNotIn(BEST_DETERMINISTIC, rows[0]["kernelName"])

    def test_a_faster_default_that_does_not_state_it_is_no_winner(self):
        rows = self.published("--require", "deterministic", faults=f"*\t{UNTUNED}\tunstated\tprepare\talways\n",
                              shapes=SQUARE)
        self.assertNotIn(UNTUNED, rows[0]["kernelName"])
        decision = self.results[0]["decision"]
        self.assertEqual(decision["verdict"], "required")
        self.assertLess(decision["speedup"], 1)
        self.assertIn(UNTUNED, decision["default"], "the ratio is over the default that people know")
        shown = self.tune("-i", "shapes.csv", "-o", "t.csv", "--require", "deterministic",
                          env={"ATTUNE_FAKE_FAULTS": str(self.work / "faults.tsv")}).stdout
        self.assertRegex(shown, r"required, \d+\.\d % slower than the default")

    def test_nothing_that_meets_it_is_said(self):
        faults = "".join(f"*\tsplit_k={k};tile_m={m};tile_n={n}\tunstated\tprepare\talways\n"
                         for k, m, n in itertools.product((1, 2), TILES, TILES))
        self.assertEqual(self.published("--require", "deterministic", faults=faults, status=1), [])
        self.assertEqual(self.results[0]["ending"], "unsupported")
        self.assertIn("no candidate on this machine is deterministic, as --require asks", self.results[0]["reason"])

    def test_what_cannot_be_had_is_refused(self):
        self.put("shapes.csv", SHAPES)
        tune = ("tune", "-i", "shapes.csv", "-o", "t.csv", *story.FAKE)
        self.refused(*tune, "--require", "bitwise", says="--require")
        self.refused(*tune, "--require", "deterministic", "--search", "exhaustive", says="compared between processes")
        self.refused(*tune, "--require", "deterministic", "--isolation", "none", says="compared between processes")
        self.put("sizes.yaml", "- {M: 4, N: 8, K: 16, rowMajorA: true, rowMajorB: false}\n")
        self.refused("tune", "--gemm_size_file", "sizes.yaml", "--require", "deterministic", *story.FAKE, says="YAML")

    def test_check_verifies_what_a_row_states(self):
        self.published("--require", "deterministic")
        clean = self.attune("check", "t.csv", *story.FAKE)
        self.assertIn("1 row: 1 ok", clean.stdout)
        faults = self.put("faults.tsv", f"*\t{BEST_DETERMINISTIC}\tby_process\trun\talways\n")
        found = self.attune("check", "t.csv", *story.FAKE, env={"ATTUNE_FAKE_FAULTS": str(faults)}, status=1)
        self.assertIn("in another process", found.stdout)
        self.put("t.csv", self.read("t.csv").replace(BEST_DETERMINISTIC, BEST))
        found = self.attune("check", "t.csv", *story.FAKE, status=1)
        self.assertIn("its plan does not state that it is deterministic", found.stdout)

    def test_bench_verifies_it(self):
        problem = "gemm_a16w16 m=2 n=16 k=256 dtype=fp32"
        names = [f"fake.gemm@1:{config}" for config in (BEST_DETERMINISTIC, BEST)]
        flags = [flag for name in names for flag in ("--candidate", name)]
        run = self.attune("bench", problem, *flags, "--require", "deterministic", "--json", *story.FAKE)
        self.assertEqual([one["status"] for one in run.json["candidates"]], ["ok", "unsupported"])
        faults = self.put("faults.tsv", f"*\t{BEST_DETERMINISTIC}\tby_process\trun\talways\n")
        run = self.attune("bench", problem, *flags, "--require", "deterministic", "--json", *story.FAKE,
                          env={"ATTUNE_FAKE_FAULTS": str(faults)}, status=1)
        self.assertEqual(run.json["candidates"][0]["status"], "wrong_result")

    def test_lookups_see_the_rows_that_state_it(self):
        self.published()
        self.published("--require", "deterministic")
        problem = "gemm_a16w16 m=2 n=16 k=256 dtype=fp32"
        explain = ("explain", problem, "-t", "t.csv", "--devices", "fake:0")
        self.assertIn(BEST, self.attune(*explain, "--json").json["candidate"])
        self.assertIn(BEST_DETERMINISTIC, self.attune(*explain, "--json", "--require", "deterministic").json["candidate"])
        asked = self.attune(*explain, "--json", env={"ATTUNE_REQUIRE": "deterministic"}).json
        self.assertIn(BEST_DETERMINISTIC, asked["candidate"])
        self.put("false.csv", self.read("t.csv").replace(BEST_DETERMINISTIC, BEST))
        false = self.attune("explain", problem, "-t", "false.csv", "--devices", "fake:0", "--json", "--require", "deterministic").json
        self.assertEqual((false["match"], false["steps"][0]["remark"]), ("fallback", "it does not state that it is deterministic"))
        strict = self.attune(*explain, "--require", "batch-invariant")
        self.assertIn("of rows that state batch-invariant: fallback", strict.stdout)
        self.attune(*explain, status=2, env={"ATTUNE_REQUIRE": "determinstic"})
        captured = self.put("captured.csv", "M,N,K,dtype,calls\n2,16,256,fp32,7\n")
        coverage = ("coverage", captured, "-t", "t.csv", "--op", "gemm_a16w16", "--json", "--devices", "fake:0")
        self.assertEqual(self.attune(*coverage, "--require", "deterministic").json["without_row"], [])
        strict = self.attune(*coverage, "--require", "batch-invariant").json
        self.assertEqual(len(strict["without_row"]), 1)
        self.assertIn("--require batch-invariant", strict["commands"][0])


class BatchInvariant(RequiredStory):
    """Rows of one weight, which differ in M alone, have one config that keeps one order over K for all M."""

    SHAPES = "M,N,K,dtype\n16,16,64,fp32\n128,16,64,fp32\n"

    def kernels(self, rows):
        return {int(row["M"]): row["kernelName"].split(":", 1)[1] for row in rows if row.get("require") == "batch-invariant"}

    def test_rows_of_a_weight_share_one_config(self):
        alone = {row["M"]: row["kernelName"] for row in self.published(shapes=self.SHAPES)}
        self.assertNotEqual(alone["16"], alone["128"], "each M has its own best tile")
        shared = self.kernels(self.published("--require", "batch-invariant", shapes=self.SHAPES))
        self.assertEqual(set(shared), {16, 128})
        self.assertEqual(len(set(shared.values())), 1, shared)
        self.assertIn("split_k=1", shared[16])
        self.assertEqual({one["decision"]["winner"].split(":", 1)[1] for one in self.results}, set(shared.values()))
        decided = [payload for kind, payload in self.journal() if kind == "decision"]
        again = self.kernels(self.published("--require", "batch-invariant", shapes=self.SHAPES))
        self.assertEqual(again, shared)
        self.assertEqual([one["ending"] for one in self.results], ["reused", "reused"])
        self.assertEqual(len([payload for kind, payload in self.journal() if kind == "decision"]), len(decided))

    def test_an_interrupt_keeps_the_weights_that_have_one_config(self):
        shapes = [(m, n) for n in (16, 32, 48) for m in (16, 32, 64, 128)]
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},64,fp32\n" for m, n in shapes))
        flags = ("-i", "shapes.csv", "-o", "t.csv", "--require", "batch-invariant")
        for num_decided in (2, 13):  # While the rows are tuned, and while they get the config of their weight.
            run = self.start("tune", *flags, *story.FAKE)
            for _ in range(1200):
                if run.has_ended() or ((self.home / "journal.db").exists() and self.count("decision") >= num_decided):
                    break
                time.sleep(0.05)
            run.send(signal.SIGINT)
            ended = run.wait()
            self.assertEqual(ended.status, 130, str(ended))
            self.assertIn("run again", ended.stderr)
            kernels = {}
            for row in self.rows("t.csv") if (self.work / "t.csv").exists() else []:
                kernels.setdefault(row["N"], set()).add(row["kernelName"])
            self.assertEqual([weight for weight, names in kernels.items() if len(names) > 1], [])
        self.tune(*flags)
        self.assertEqual(len(self.rows("t.csv")), len(shapes))

    def test_another_m_decides_for_the_table_s_rows_too(self):
        first = self.kernels(self.published("--require", "batch-invariant", shapes="M,N,K,dtype\n16,16,64,fp32\n"))
        self.assertIn("tile_m=16", first[16])
        shapes = "M,N,K,dtype\n" + "".join(f"{m},16,64,fp32\n" for m in (128, 256, 512))
        shared = self.kernels(self.published("--require", "batch-invariant", shapes=shapes))
        self.assertEqual(set(shared), {16, 128, 256, 512})
        self.assertEqual(len(set(shared.values())), 1, shared)
        self.assertNotIn("tile_m=16", shared[16])

    def test_a_row_that_depends_on_m_is_found(self):
        best = self.kernels(self.published("--require", "batch-invariant", shapes=self.SHAPES))[16]
        (self.work / "t.csv").unlink()
        faults = f"*\t{best}\tby_batch\trun\talways\n"
        others = self.kernels(self.published("--require", "batch-invariant", "--all", faults=faults, shapes=self.SHAPES))
        self.assertEqual(len(set(others.values())), 1)
        self.assertNotEqual(others[16], best)
        found = [(status, detail) for config, status, detail in self.failures() if config == best]
        self.assertIn("wrong_result", {status for status, _ in found})
        self.assertRegex(found[0][1], r"row \d+ of its result at M = \d+ differs from the same row, \d+, at M = \d+ although "
                                      "its plan states that it is batch-invariant")

    def test_check_compares_rows_over_m(self):
        best = self.kernels(self.published("--require", "batch-invariant", shapes=self.SHAPES))[16]
        self.assertIn("2 rows: 2 ok", self.attune("check", "t.csv", *story.FAKE).stdout)
        faults = self.put("faults.tsv", f"*\t{best}\tby_batch\trun\talways\n")
        found = self.attune("check", "t.csv", *story.FAKE, env={"ATTUNE_FAKE_FAULTS": str(faults)}, status=1)
        self.assertIn("batch-invariant", found.stdout)
        header, first, second, *_ = self.read("t.csv").splitlines()
        self.put("t.csv", "\n".join((header, first, second.replace("tile_n=16", "tile_n=32"))) + "\n")
        found = self.attune("check", "t.csv", *story.FAKE, status=1)
        self.assertIn("another row of its weight names another kernel", found.stdout)
        coverage = ("coverage", "-t", "t.csv", "--op", "gemm_a16w16", "--devices", "fake:0")
        self.assertEqual(self.attune(*coverage, "--json").json["unreachable"], [], "a process that requires nothing takes it")
        strict = self.attune(*coverage, "--json", "--require", "batch-invariant").json
        self.assertEqual([(one["row"], one["reason"], one["detail"]) for one in strict["unreachable"]],
                         [("t.csv:3", "names another kernel than the first row of its weight", "t.csv:2")])
        self.assertIn("2 rows of fake/4, 1 that no lookup for batch-invariant can reach",
                      self.attune(*coverage, "--require", "batch-invariant").stdout)

    def test_every_m_of_the_weight_is_served_by_its_rows(self):
        best = self.kernels(self.published("--require", "batch-invariant", shapes=self.SHAPES))[16]
        for m in (1, 5, 16, 77, 4000):
            found = self.attune("explain", f"gemm_a16w16 m={m} n=16 k=64 dtype=fp32", "-t", "t.csv", "--devices", "fake:0",
                                "--json", env={"ATTUNE_REQUIRE": "batch-invariant", "ATTUNE_MAX_REGRET": "0.01"}).json
            self.assertIn(best, found["candidate"], m)


if __name__ == "__main__":
    story.main()
