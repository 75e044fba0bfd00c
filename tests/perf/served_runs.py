# SPDX-License-Identifier: MIT
"""Runs of tests/perf/served: a table in one application, no table in another, the same layers in both."""
import os
import time
from contextlib import ExitStack
from pathlib import Path

from served_report import Run
from served_statistics import Figures, is_clean
from served_turns import SIDES, Application, Turns, wait_until_quiet

PASSED_ON = ("ATTUNE_CACHE", "ATTUNE_CC", "ATTUNE_MODULES", "ATTUNE_THREADS")


def models_of(rows):
    """Indexes of the rows that one model calls one after the other: those of one type and one M, in the order of the list."""
    models = {}
    for index, row in enumerate(rows):
        models.setdefault((row.dtype, row.m), []).append(index)
    return list(models.values())


def environment_of(folder):
    """As an application has it, but for tables and state of the user."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("ATTUNE_", "AITER_")) or name in PASSED_ON}
    for name in ("home", "configs"):
        (folder / name).mkdir(exist_ok=True)
    return {**kept, "ATTUNE_HOME": str(folder / "home"), "ATTUNE_CONFIG_DIR": str(folder / "configs")}


class Server:
    """Runs of the two applications over one list of rows; `tables`: those of each side, which must have every row."""

    def __init__(self, options, rows, tables, folder):
        self.options, self.rows, self.tables, self.folder = options, rows, tables, folder
        self.unserved = {}
        (folder / "layers.txt").write_text("".join(row.problem + "\n" for row in rows))

    def start(self, stack, side, activations, gap_ms):
        command = [str(Path(self.options.build) / "attune_served"), "--layers", str(self.folder / "layers.txt"),
                   "--activations", activations, "--gap-us", str(round(1000 * gap_ms)), "--threads", str(self.options.threads)]
        for table in self.tables.get(side, []):
            command += ["--table", str(table)]
        return stack.enter_context(Application(command, environment_of(self.folder), str(self.folder / f"{side}.log")))

    def open(self, stack, activations, gap_ms):
        """A fresh pair of applications. One after the other: neither prepares its layers beside the other's."""
        applications = {}
        for side in SIDES:
            applications[side] = self.start(stack, side, activations, gap_ms)
            for index, (match, state) in enumerate(applications[side].prepare()):
                wanted = "exact" if side in self.tables else "fallback"
                if match != wanted or state != "own":
                    self.unserved[index] = f"the {side} process got a match '{match}', its kernel is '{state}'"
        return applications

    def run(self, activations, gap_ms, seed):
        options, openings, num_rounds, passes = self.options, [], 0, 0
        for opening in range(options.openings):
            with ExitStack() as stack:
                applications = self.open(stack, activations, gap_ms)
                wait_until_quiet(options.quiet_wait)
                turns = Turns(applications, models_of(self.rows), seed * 1000 + opening, options.turn_seconds)
                began, rounds = time.monotonic(), []
                wanted = -(-options.rounds // options.openings)
                while sum(map(is_clean, rounds)) < wanted and len(rounds) < 2 * wanted:
                    rounds.append(turns.take())
                    if time.monotonic() - began > options.seconds / options.openings:
                        break
            openings.append(rounds)
            num_rounds, passes = num_rounds + len(rounds), turns.passes
        figures = Figures(openings, range(len(self.rows)), seed)
        pause = f"{gap_ms:g} ms apart" if gap_ms else "back to back"
        served = [figures.served(i) for i in range(len(self.rows))]
        return Run(f"activations {activations}, calls {pause}", figures, served, num_rounds, passes)
