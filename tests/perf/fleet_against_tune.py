#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares an agent with `attune tune` on 24 GEMM shapes, in interleaved pairs: time, and whether they choose alike.

    tests/perf/fleet_against_tune.py ATTUNE [PAIRS [TRIALS [SHAPES]]]     3 pairs, 8 candidates a solver, all shapes

A run before the pairs compiles the kernels. Each run has a journal of its own. The agent's time is that of `fleet run`.
Winners are alike if they are equal or one run's winner is among the ties of the other. Exit status 1: a bar is missed.
"""
import contextlib
import itertools
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHAPES = list(itertools.product((1, 8, 64, 256), (256, 768, 1536), (512, 1024)))
MAX_MORE, MIN_ALIKE = 0.03, 0.9
DECISION = 2  # The kind of the journal's rows.


def name_of(candidate):
    return json.dumps(candidate, sort_keys=True)


class Run:
    """A folder with a journal and a store of its own."""

    def __init__(self, attune, folder, trials):
        self.folder, self.attune = folder, attune
        folder.mkdir()
        self.flags = ["--devices", "cpu:0", "--quiet-wait", "30", "--max-trials", str(trials), "--journal", folder / "journal.db"]
        self.environment = {**os.environ, "ATTUNE_HOME": str(folder / "home"), "ATTUNE_CACHE": str(folder.parent / "kernels"),
                            "ATTUNE_STORE": f"sqlite:{folder / 'fleet.db'}"}
        (folder / "shapes.csv").write_text("M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in SHAPES))

    def call(self, *arguments):
        began = time.monotonic()
        done = subprocess.run([self.attune, *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{arguments}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return time.monotonic() - began

    def tune(self):
        return self.call("tune", "-i", "shapes.csv", "-o", "t.csv", *self.flags)

    def fleet(self):
        device = ("--devices", "cpu:0")
        self.call("configs", "import", "-t", "t", "-f", "shapes.csv", "--op", "gemm_a16w16")
        self.call("solvers", "update", *device)
        self.call("session", "init", "-l", "compare", *device)
        self.call("applicability", "update", "--session", "1")
        self.call("jobs", "load", "--session", "1", "-t", "t", "--steps", "perf_compile,perf_eval", "-o", "-l", "compare")
        return self.call("fleet", "run", "--session", "1", *self.flags)

    def winners(self):
        """By problem: the winner, and all that tie with it."""
        with contextlib.closing(sqlite3.connect(self.folder / "journal.db")) as journal:
            rows = journal.execute("SELECT payload FROM entries WHERE kind = ? ORDER BY id", (DECISION,)).fetchall()
        decisions = [json.loads(row[0]) for row in rows]
        return {one["problem"]: (name_of(one["winner"]), {name_of(one["winner"]), *map(name_of, one["tied"])}) for one in decisions}


def main(attune, pairs=3, trials=8, shapes=len(SHAPES)):
    del SHAPES[int(shapes):]
    attune = Path(attune).resolve()
    with tempfile.TemporaryDirectory(prefix="fleet_against_tune") as folder:
        folder = Path(folder)
        print(f"load {os.getloadavg()[0]:.1f}; the kernels: {Run(attune, folder / 'first', trials).tune():.0f} s", flush=True)
        more, alike = [], []
        for pair in range(int(pairs)):
            tuned, agent = Run(attune, folder / f"tune{pair}", trials), Run(attune, folder / f"fleet{pair}", trials)
            steps = [("tune", tuned.tune), ("fleet", agent.fleet)]
            seconds = {name: step() for name, step in (steps if pair % 2 == 0 else steps[::-1])}
            one, other = tuned.winners(), agent.winners()
            if not len(one) == len(other) == len(SHAPES):
                sys.exit(f"{len(one)} and {len(other)} of {len(SHAPES)} shapes are decided")
            same = [one[shape][0] == other[shape][0] for shape in one]
            tied = [one[shape][0] in other[shape][1] or other[shape][0] in one[shape][1] for shape in one]
            more.append(seconds["fleet"] / seconds["tune"] - 1)
            alike.append(sum(tied) / len(tied))
            print(f"load {os.getloadavg()[0]:.1f}; tune {seconds['tune']:.1f} s, agent {seconds['fleet']:.1f} s ({100 * more[-1]:+.1f} %),"
                  f" winners: {sum(same)} equal, {sum(tied)} equal or tied of {len(tied)}", flush=True)
    print(f"median {100 * statistics.median(more):+.1f} % of time, {100 * statistics.mean(alike):.0f} % alike")
    return 0 if statistics.median(more) <= MAX_MORE and statistics.mean(alike) >= MIN_ALIKE else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
