#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `--search classic`, which measures as AMD's Triton script did, with the race: time, regret, wrong winners.

    tests/perf/classic_against_race.py ATTUNE [SHAPES [LIBRARIES]]     12 shapes of the CPU and 12 of the fake device

Each method tunes each shape in a process of its own, in an order that rotates from shape to shape; a run before them
compiles the kernels. `attune bench` then verifies the winners and times them in a contest: regret is the time over the
least of it. A second contest has `--inputs warm`, as the script measures; the race is not told of it. On the fake device 2
of a shape's 45 kernels are wrong and take 0.7 of their time.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = {"race": (), "v2": ("--search", "classic", "--classic", "v2"), "v3.4": ("--search", "classic", "--classic", "v3.4")}
CPU_SHAPES = [(1, 1024, 1024), (1, 4096, 512), (4, 768, 768), (8, 2048, 512), (16, 512, 512), (32, 256, 256),
              (33, 1000, 300), (64, 1024, 256), (128, 512, 512), (200, 200, 200), (256, 768, 384), (512, 512, 512)]
FAKE_SHAPES = [(1, 32, 48), (1, 64, 512), (2, 24, 32), (4, 48, 64), (8, 40, 128), (16, 16, 16), (20, 96, 32), (32, 32, 64),
               (48, 24, 32), (64, 64, 16), (64, 16, 64), (96, 32, 32)]
LIBRARIES = "jit_cpu,portable,onednn,openblas"
TILES, PLANTED, ROUNDS = (16, 32, 64, 128), 2, 61


def planted_faults(place):
    """Makes a few of the fake solver's kernels wrong and fast; never the default, as in the script."""
    configs = [f"split_k={s};tile_m={m};tile_n={n}" for m in TILES for n in TILES for s in (1, 2, 4)
               if m * n <= 128 * 64 and (m, n, s) != (64, 64, 1)]
    chosen = random.Random(place).sample(configs, PLANTED)
    return "".join(f"*\t{one}\tfast\tprepare\talways\n*\t{one}\twrong_result\trun\talways\n" for one in chosen)


class Program:
    def __init__(self, attune, folder, device):
        self.attune, self.folder, self.device = attune, folder, device
        self.faults = folder / "faults.tsv"
        self.environment = {**os.environ, "ATTUNE_HOME": str(folder / "home"), "ATTUNE_FAKE_FAULTS": str(self.faults)}
        self.environment.setdefault("ATTUNE_CACHE", str(folder / "kernels"))
        self.faults.write_text("")

    def run(self, *arguments):
        """Its JSON and its seconds. Status 1 is a wrong winner."""
        began = time.monotonic()
        done = subprocess.run([self.attune, *arguments, "--devices", self.device, "--json"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout:
            sys.exit(f"{arguments}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(done.stdout), time.monotonic() - began

    def tune(self, shape, method, libraries):
        """The winner's name, the time that the method states for it, and the seconds of the process."""
        m, n, k = map(str, shape)
        answer, seconds = self.run("tune", "-m", m, "-n", n, "-k", k, "--dtype", "fp32", "--libtype", libraries, "--quiet-wait", "0",
                                   *METHODS[method], *(("--all",) if method == "race" else ()))
        result = answer["results"][0]
        if method == "race":
            return result["decision"]["winner"], result["decision"]["us"], seconds
        return result["winner"], result["us"], seconds

    def contest(self, shape, winners, inputs):
        m, n, k = shape
        names = sorted(set(winners))
        answer, _ = self.run("bench", f"gemm_a16w16 m={m} n={n} k={k} dtype=fp32", "--iters", str(ROUNDS), "--quiet-wait", "10",
                             "--inputs", inputs, *(word for name in names for word in ("--candidate", name)))
        return {one["candidate"]: one for one in answer["candidates"]}


def measure(program, shapes, libraries):
    rows = {method: {"seconds": [], "served": [], "warm": [], "promise": [], "wrong": 0} for method in METHODS}
    for place, shape in enumerate(shapes):
        if program.device.startswith("fake"):
            program.faults.write_text(planted_faults(place))
        else:
            program.tune(shape, "v2", libraries)  # compiles
        order = list(METHODS)[place % 3:] + list(METHODS)[:place % 3]
        found = {method: program.tune(shape, method, libraries) for method in order}
        winners = [winner for winner, _, _ in found.values()]
        timed = {inputs: program.contest(shape, winners, inputs) for inputs in ("served", "warm")}
        line = []
        for method, (winner, promised_us, seconds) in found.items():
            row, one = rows[method], timed["served"][winner]
            row["seconds"].append(seconds)
            row["wrong"] += one["status"] != "ok"
            for inputs, contest in timed.items():
                if contest[winner]["status"] == "ok":
                    row[inputs].append(contest[winner]["us"] / min(x["us"] for x in contest.values() if x["status"] == "ok") - 1)
            if one["status"] == "ok":
                row["promise"].append(promised_us / one["us"])
            times = "/".join(f"{contest[winner].get('us', 0):.2f}" for contest in timed.values())
            line.append(f"{method} {seconds:.1f} s {times} µs {one['status']}")
        print(f"{shape}, load {os.getloadavg()[0]:.1f}: " + "; ".join(line), file=sys.stderr, flush=True)
    return rows


def print_table(rows, device, num_shapes):
    print(f"\n| {num_shapes} shapes on {device} | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))

    def row(title, cell):
        print(f"| {title} | " + " | ".join(cell(rows[method]) for method in METHODS) + " |")

    row("seconds a shape", lambda one: f"{statistics.mean(one['seconds']):.1f}")
    for inputs in ("served", "warm"):
        row(f"regret, {inputs}: mean; worst (%)",
            lambda one: f"{100 * statistics.mean(one[inputs]):.1f}; {100 * max(one[inputs]):.1f}" if one[inputs] else "none right")
    row("stated time over the contest's", lambda one: f"{statistics.geometric_mean(one['promise']):.2f}" if one["promise"] else "none right")
    row("wrong winners", lambda one: str(one["wrong"]))


def main(attune, num_shapes=12, libraries=LIBRARIES):
    num_shapes = int(num_shapes)
    with tempfile.TemporaryDirectory(prefix="classic_against_race") as folder:
        for device, shapes, which in (("cpu:0", CPU_SHAPES, libraries), ("fake:0", FAKE_SHAPES, "all")):
            own = Path(folder) / device.replace(":", "")
            own.mkdir()
            shapes = shapes[:num_shapes]
            print_table(measure(Program(Path(attune).resolve(), own, device), shapes, which), device, len(shapes))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
