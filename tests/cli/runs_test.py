# SPDX-License-Identifier: MIT
"""What a run leaves in the journal about itself, and what a later run reuses of it."""
import socket
import time

import story
from story import FAKE, SHAPES

PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"


class Runs(story.Story):
    def runs(self):
        return [(kind, entry) for kind, entry in self.journal(runs=True) if kind.startswith("run_")]

    def test_a_tuning_says_when_where_and_how_it_ran(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv", env={"OMP_NUM_THREADS": "2", "ATTUNE_SECRET_TOKEN": "x"})
        (first, begin), (last, end) = self.runs()
        self.assertEqual((first, last), ("run_begin", "run_end"))
        self.assertEqual(begin["command"][1:4], ["tune", "-i", "shapes.csv"])
        self.assertEqual(begin["host"], socket.gethostname())
        self.assertRegex(begin["fingerprint"], "^[0-9a-f]{32}$")
        self.assertTrue(begin["description"].startswith("fake fake/4"), begin["description"])
        self.assertEqual(begin["environment"]["OMP_NUM_THREADS"], "2")
        self.assertNotIn("ATTUNE_SECRET_TOKEN", begin["environment"], "a journal travels")
        self.assertEqual((end["ending"], end["exit_status"]), ("done", 0))
        self.assertIn("fake.gemm", end["versions"])
        entries = self.journal(runs=True)
        self.assertEqual((entries[0][0], entries[-1][0]), ("run_begin", "run_end"))
        for kind, entry in self.journal():
            self.assertEqual(entry["fingerprint"], begin["fingerprint"], kind)

    def test_bench_and_check_are_noted_and_go_on_without_a_journal(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.attune("bench", PROBLEM, *FAKE)
        self.attune("check", "t.csv", *FAKE)
        self.attune("check", "t.csv", "--no-run", "--device", "fake:0")
        self.assertEqual([entry["command"][1] for kind, entry in self.runs() if kind == "run_begin"], ["tune", "bench", "check"])
        self.assertEqual([entry["exit_status"] for kind, entry in self.runs() if kind == "run_end"], [0, 0, 0])
        (self.home / "journal.db").unlink()
        (self.home / "journal.db").mkdir()
        noted = self.attune("bench", PROBLEM, *FAKE)
        self.assertIn("note: this run is not recorded: ", noted.stderr)
        self.refused("bench", PROBLEM, *FAKE, "--journal", str(self.home / "journal.db"), status=None)

    def test_a_run_that_is_interrupted_says_so_and_one_that_is_killed_has_no_end(self):
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{256},{512},fp32\n" for m in range(1, 40)))
        for number, ending in ((15, "interrupted"), (9, None)):
            running = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--journal", f"{number}.db")
            end = time.monotonic() + 30
            while not self.journal(self.work / f"{number}.db") and time.monotonic() < end:
                time.sleep(0.01)
            running.send(number)
            running.wait()
            ends = [entry["ending"] for kind, entry in self.journal(self.work / f"{number}.db", runs=True) if kind == "run_end"]
            self.assertEqual(ends, [ending] if ending else [])

    def test_a_larger_search_verifies_nothing_again(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "u.csv", "--max-trials", "8")
        first = self.verified()
        self.tune("-i", "shapes.csv", "-o", "v.csv", "--max-trials", "40")
        self.assertGreater(len(self.verified()), len(first))
        self.assertEqual(len(self.verified()), len(set(self.verified())), "each candidate once")

    def verified(self):
        return [(entry["problem"], story.candidate_name(entry["candidate"])) for kind, entry in self.journal()
                if kind == "record" and entry["stage"] == "verify"]

    def test_a_decision_says_what_it_cost_and_whom_it_beat(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--all", "--max-trials", "40")
        decisions = [entry for kind, entry in self.journal() if kind == "decision"]
        for decision in decisions:
            self.assertGreater(decision["num_candidates"], 1)
            self.assertGreater(decision["seconds"], 0)
            self.assertEqual(decision["strategy"], "auto")
            self.assertGreaterEqual(decision["best_untuned"]["ratio"], 1)
        for decision in decisions[len(decisions) // 2:]:
            incumbent = decision["incumbent"]
            self.assertGreater(incumbent["us"], 0)
            self.assertIn(incumbent["candidate"]["config"], incumbent["row"])


if __name__ == "__main__":
    story.main()
