# SPDX-License-Identifier: MIT
"""kill -9 at random points and again: nothing is lost, nothing is measured twice, the table can always be read, and the
Decisions are those of a run that nobody killed.

ATTUNE_FAULT_RUNS: how many kills (12); ATTUNE_FAULT_SEED: of their times (1).
"""
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402
from story import FAKE, candidate_name  # noqa: E402

KILLS = int(os.environ.get("ATTUNE_FAULT_RUNS", "12"))
SEED = int(os.environ.get("ATTUNE_FAULT_SEED", "1"))
KILLS_A_CAMPAIGN = 4
SHAPES = [(m, n, k) for m in (1, 2, 3) for n, k in ((32, 64), (48, 64), (24, 96), (64, 32))]


class Killed(story.Story):
    """Campaigns of a few kills each: tune, kill, look, go on, until a run comes to its end."""

    FLAGS = ("-i", "shapes.csv", "-o", "t.csv", *FAKE)
    FOREIGN_ROWS = 0
    NUM_KILLS = KILLS
    MAY_DIFFER = ("seconds", "launches", "dropped_samples")  # Of a Decision: what the last of several runs did for it.

    def more_environment(self):
        return {}

    def check_after_kill(self):
        """For what a subclass expects of a killed program beyond its files."""

    def check_after_campaign(self):
        """The same for one that came to its end."""

    def setUp(self):
        super().setUp()
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in SHAPES))

    def fresh(self, campaign):
        """A folder, a journal and a table that no other campaign has."""
        header = ("gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
                  "tflops,bw,device,layout\n")
        self.foreign = [f"gfx942,304,{i},8,8,False,torch.float32,torch.float32,False,False,x,1,0,5.0,native,0.0,1.0,1.0,,\n"
                        for i in range(1, self.FOREIGN_ROWS + 1)]
        self.put("t.csv", header + "".join(self.foreign))
        self.file = self.folder / f"{campaign}.db"
        return ("tune", *self.FLAGS, "--journal", str(self.file))

    def length_of_a_full_run(self):
        seconds = []
        for i in range(2):  # The first one reads the program from the disk.
            began = time.monotonic()
            self.attune(*self.fresh(f"measured{i}"), timeout=120, env=self.more_environment())
            seconds.append(time.monotonic() - began)
        self.expected, self.decided = self.read("t.csv"), self.decisions(self.journal(self.file))
        self.assertEqual(len(self.own_rows()), len(SHAPES))
        return min(seconds)

    def own_rows(self):
        text = self.read("t.csv")
        self.assertTrue(text.endswith("\n"), "a torn table")
        lines = text.splitlines(keepends=True)
        self.assertEqual(lines[1:1 + self.FOREIGN_ROWS], self.foreign, "foreign rows stay byte for byte")
        rows = story.rows_of(lines[0] + "".join(lines[1 + self.FOREIGN_ROWS:]))
        for row in rows:
            self.assertEqual(row["gfx"], "fake")
            self.assertGreater(float(row["us"]), 0)
            self.assertIn(row["layout"], ("plain",), "a row is whole")
        return {(int(r["M"]), int(r["N"]), int(r["K"])): (r["us"], r["kernelName"]) for r in rows}

    def decisions(self, entries):
        """By problem: what a Decision says. Lists of equals are sorted, because they are in the order of admission."""
        def said(decision):
            lists = {name: sorted(decision[name], key=str) for name in ("finalists", "tied")}
            return {name: value for name, value in {**decision, **lists}.items() if name not in self.MAY_DIFFER}

        return {entry["problem"]: said(entry) for kind, entry in entries if kind == "decision"}

    def check_no_work_was_done_twice(self, entries, kills):
        """`kills`: how long the journal was at each of them."""
        seen, started = set(), set()
        for number, (kind, entry) in enumerate(entries):
            if number in kills:
                started.clear()  # What was under way then is begun again.
            if kind == "started":
                key = (entry["problem"], candidate_name(entry["candidate"]))
                self.assertNotIn(key, started, "begun twice in one run")
                self.assertNotIn((*key, "verify"), seen, "begun again although its record was there")
                started.add(key)
            if kind == "record" and entry["stage"] in ("verify", "screen"):
                key = (entry["problem"], candidate_name(entry["candidate"]), entry["stage"])
                self.assertNotIn(key, seen, "measured twice")
                seen.add(key)
            if kind == "decision":
                self.assertNotIn(entry["problem"], seen, "decided twice")
                seen.add(entry["problem"])

    def wait_for_work(self, running):
        """Until something was journalled, or the run is over."""
        def written():
            return [path.stat().st_mtime_ns for path in self.folder.glob(self.file.name + "-wal")]

        before, end = written(), time.monotonic() + 30
        while written() == before and not running.has_ended() and time.monotonic() < end:
            time.sleep(0.001)

    def campaign(self, number, kills, full_s, dice):
        command = self.fresh(f"campaign{number}")
        entries, rows, phases, lengths = [], {}, [], []
        for kill in range(kills):
            running = self.start(*command, env=self.more_environment())
            if kill % 2:  # The others hit the start as well: modules, the table that is read, a torn journal's recovery.
                self.wait_for_work(running)
            time.sleep(dice.uniform(0, full_s / (kills / 2 + 1)))
            running.send(signal.SIGKILL)
            result = running.wait()
            self.check_after_kill()
            now = self.journal(self.file)
            self.assertEqual(now[:len(entries)], entries, "what was there before the kill is still there")
            self.check_no_work_was_done_twice(now, lengths)
            lengths.append(len(now))
            published = self.own_rows()
            self.assertEqual({k: v for k, v in published.items() if k in rows}, rows, "published rows are not lost")
            decided = {e["problem"] for kind, e in now if kind == "decision"}
            self.assertLessEqual(len(published), len(decided), "only decisions are published")
            phases.append("ended" if result.status == 0 else now[-1][0] if len(now) > len(entries) else "start")
            entries, rows = now, published
        self.attune(*command, timeout=120, env=self.more_environment())
        self.check_after_campaign()
        now = self.journal(self.file)
        self.assertEqual(now[:len(entries)], entries)
        self.check_no_work_was_done_twice(now, lengths)
        self.assertEqual(sum(kind == "decision" for kind, _ in now), len(SHAPES), "every shape is decided")
        self.assertEqual(self.decisions(now), self.decided, "the Decisions are those of a run that nobody killed")
        self.assertEqual(self.read("t.csv"), self.expected, "the table is the one of a run that nobody killed")
        return phases

    def run_campaigns(self):
        dice = random.Random(SEED)
        full_s = self.length_of_a_full_run()
        phases = []
        while len(phases) < self.NUM_KILLS:
            kills = min(KILLS_A_CAMPAIGN, self.NUM_KILLS - len(phases))
            phases += self.campaign(len(phases), kills, full_s, dice)
        hits = {phase: phases.count(phase) for phase in sorted(set(phases))}
        print(f"{type(self).__name__}: {self.NUM_KILLS} kills of runs of {full_s:.2f} s, last journal entry before: {hits}", flush=True)
        hit = self.NUM_KILLS - hits.get("ended", 0) - hits.get("start", 0)
        self.assertGreater(hit, self.NUM_KILLS // 5, "too few kills hit any work")
        return hits


class WhileTuning(Killed):
    def test_a_killed_run_goes_on_where_it_was(self):
        self.run_campaigns()


class WhilePublishing(Killed):
    """A table of many rows, written after each shape: most of the time is publication."""

    FLAGS = (*Killed.FLAGS, "--batch", "1", "--max-trials", "3")
    FOREIGN_ROWS = 10000
    # Which three candidates are tried depends on what is decided when a problem begins: it starts from neighbours' winners.
    MAY_DIFFER = (*Killed.MAY_DIFFER, "finalists", "tied")

    def test_a_killed_publication_leaves_the_old_table_or_the_new_one(self):
        self.run_campaigns()


if __name__ == "__main__":
    story.main()
