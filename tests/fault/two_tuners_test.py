# SPDX-License-Identifier: MIT
"""Several programs on one table and one journal: no row is lost."""
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402
from story import FAKE  # noqa: E402


class Together(story.Story):
    def shapes(self, name, sizes):
        self.put(name, "M,N,K,dtype\n" + "".join(f"{m},{n},16,fp32\n" for m, n in sizes))

    def run_together(self, commands):
        for result in [running.wait() for running in [self.start(*command) for command in commands]]:
            self.assertEqual(result.status, 0, str(result))

    def test_two_tuners_of_one_table_and_one_journal_lose_no_row(self):
        self.shapes("a.csv", [(m, 8) for m in range(1, 21)])
        self.shapes("b.csv", [(m, 12) for m in range(1, 21)])
        self.run_together([("tune", "-i", name, "-o", "t.csv", "--batch", "1", *FAKE) for name in ("a.csv", "b.csv")])
        rows = [(int(r["M"]), int(r["N"])) for r in self.rows("t.csv")]
        self.assertEqual(sorted(rows), sorted((m, n) for m in range(1, 21) for n in (8, 12)))
        self.assertEqual(self.count("decision"), 40)

    def test_four_tuners_of_the_same_shapes_leave_one_row_each(self):
        self.shapes("a.csv", [(m, 8) for m in range(1, 9)])
        self.run_together([("tune", "-i", "a.csv", "-o", "t.csv", "--batch", "1", *FAKE)] * 4)
        self.assertEqual(sorted(int(r["M"]) for r in self.rows("t.csv")), list(range(1, 9)))

    def test_journals_of_their_own_share_a_table(self):
        self.shapes("a.csv", [(m, 8) for m in range(1, 11)])
        self.shapes("b.csv", [(m, 12) for m in range(1, 11)])
        self.run_together([("tune", "-i", f"{name}.csv", "-o", "t.csv", "--batch", "1", "--journal", f"{name}.db", *FAKE)
                           for name in "ab"])
        self.assertEqual(len(self.rows("t.csv")), 20)

    def test_readers_see_a_whole_table_at_any_time(self):
        self.shapes("a.csv", [(m, 8) for m in range(1, 31)])
        tuner = self.start("tune", "-i", "a.csv", "-o", "t.csv", "--batch", "1", *FAKE)
        seen, end = 0, time.monotonic() + 60
        while seen < 30 and time.monotonic() < end:
            if (self.work / "t.csv").exists():
                text = self.read("t.csv")
                self.assertTrue(text.endswith("\n"))
                rows = story.rows_of(text)
                self.assertTrue(all(r["layout"] == "plain" for r in rows))
                self.assertGreaterEqual(len(rows), seen, "rows only come")
                seen = len(rows)
            time.sleep(0.001)
        self.assertEqual(tuner.wait().status, 0)
        self.assertEqual(seen, 30)

    def test_vacuum_waits_for_a_tuner_and_a_tuner_for_vacuum(self):
        self.shapes("a.csv", [(m, 8) for m in range(1, 31)])
        self.attune("tune", "-i", "a.csv", "-o", "t.csv", *FAKE, "--max-m", "2")
        tuner = self.start("tune", "-i", "a.csv", "-o", "t.csv", *FAKE)
        for _ in range(5):
            self.attune("journal", "vacuum")
            self.attune("journal", "show")
        result = tuner.wait()
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.count("decision"), 30)


if __name__ == "__main__":
    story.main()
