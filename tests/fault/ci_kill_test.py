# SPDX-License-Identifier: MIT
"""kill -9 of `attune ci run` at random points of any of its steps, and again until it comes to its end: the tables and the
verdicts, to the last sample, are those of a run that nobody killed, and nothing is measured twice.

ATTUNE_CI_KILLS: how many kills (8); ATTUNE_FAULT_SEED: of their times (1).
"""
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import kill_test  # noqa: E402
import story  # noqa: E402

KILLS = int(os.environ.get("ATTUNE_CI_KILLS", "8"))
KILLS_A_RUN = 4
LIST, TUNED = "configs/bf16_untuned_gemm.csv", "configs/bf16_tuned_gemm.csv"
SIZES = ("256,32,16", "250,32,16", "240,32,16", "1,40,40", "2,24,32")
SLOW = "fake.gemm@1:split_k=1;tile_m=16;tile_n=16"
REST = ",False,torch.float32,torch.float32,False,False"


class CiKilled(kill_test.Killed):
    # Of a race that was killed and goes on, another of the slower candidates may come along into the final.
    MAY_DIFFER = (*kill_test.Killed.MAY_DIFFER, "finalists", "tied")
    COMMAND = ("ci", "run", "--config-dir", "configs", "--arguments", "--devices fake:0 --quiet-wait 0 --all")

    def fresh(self, campaign):
        """A folder with a list, a table whose rows are slow for three of its shapes, no results, and no journal."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.work)
        self.put(LIST, "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n" + "".join(size + REST + "\n" for size in SIZES))
        self.put(TUNED, "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
                 "tflops,bw\n" + "".join(f"fake,4,{size}{REST},fake,-1,1,5,{SLOW},0.0,1.0,1.0\n" for size in SIZES[:3]))
        self.file = self.home / "journal.db"
        return self.COMMAND

    def outcome(self):
        """All that a run leaves but for what a journal's clock says."""
        results = json.loads(self.read("ci-results/results.json"))
        self.assertEqual((results["ending"], results["status"]), ("done", 0))
        # The rest is what the journal says of runs and times.
        verdicts = {name: results[name] for name in ("version", "inputs", "counts", "families")}
        return verdicts, self.read("ci-results/after.json"), self.read("ci-results/before.json"), self.read(TUNED)

    def measured(self):
        """The whole lines that a killed run left, each as step, problem and number of attempts."""
        file = self.work / "ci-results" / "measured.jsonl"
        if not file.exists():
            return []
        lines = file.read_bytes().split(b"\n")[:-1]  # What is behind the last line end was cut off by the kill.
        return [(one["step"], one["shape"]["problem"], len(one["shape"].get("log_ratios", []))) for one in map(json.loads, lines)]

    def check_measured_once(self, before):
        now = self.measured()
        self.assertEqual(now[:len(before)], before, "what was measured before a kill is still there")
        self.assertEqual(len(set(now)), len(now), "a shape was measured twice")
        return now

    def ending(self):
        results = self.work / "ci-results" / "results.json"
        return json.loads(results.read_bytes())["ending"] if results.exists() else ""

    def step(self):
        """What the run was about when it was killed."""
        if self.ending() in ("", "begun"):
            return "start"
        lines = self.read("ci-results/log.txt").splitlines() if (self.work / "ci-results/log.txt").exists() else []
        said = [line.split(": ")[1] for line in lines if line.startswith("gemm_a16w16: ")]
        return said[-1] if said else "validate"

    def test_killed_at_any_point_and_started_again_it_comes_to_the_same_end(self):
        dice = random.Random(kill_test.SEED)
        seconds = []
        for i in range(2):  # The first one reads the program from the disk.
            began = time.monotonic()
            self.attune(*self.fresh(i), timeout=120)
            seconds.append(time.monotonic() - began)
        expected, decided = self.outcome(), self.decisions(self.journal())
        self.assertEqual([one["verdict"] for one in expected[0]["families"][0]["shapes"]][:3], ["faster"] * 3)
        steps = []
        while len(steps) < KILLS:
            command, lengths, measured = self.fresh("again"), [], []
            for _ in range(min(KILLS_A_RUN, KILLS - len(steps))):
                running = self.start(*command)
                time.sleep(dice.uniform(0, min(seconds) / 2))
                running.send(signal.SIGKILL)
                running.wait()
                if self.ending() == "done":
                    break
                measured = self.check_measured_once(measured)
                lengths.append(len(self.journal()))
                steps.append(self.step())
            if self.ending() != "done":
                result = self.attune(*command, timeout=120)
                self.assertIn("goes on with the run" if steps[-1] != "start" else "", result.stderr)
            self.assertEqual(self.outcome(), expected)
            entries = self.journal()
            self.check_no_work_was_done_twice(entries, lengths)
            differing = {problem: {name: (value, decided[problem][name]) for name, value in one.items() if value != decided[problem][name]}
                         for problem, one in self.decisions(entries).items() if one != decided[problem]}
            self.assertEqual(differing, {}, f"killed at {lengths} of {steps}")
        hits = {step: steps.count(step) for step in sorted(set(steps))}
        print(f"{KILLS} kills of runs of {min(seconds):.2f} s, the last that the run said before: {hits}", flush=True)


if __name__ == "__main__":
    story.main()
