#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Graphs that are captured on a GPU before the kernels of their rows are compiled, in one table.

    captured_graphs.py --table tune.csv [--device cuda:0] [--shapes 34] [--rounds 15] [--json FILE] [--markdown FILE]

Takes up to --shapes rows of a table of products, those that name generated kernels first. attune_served_in_graphs calls each row once and then captures a
graph of each: with an empty cache, with the cache that this has filled, and with compilers that hang, fail and are missing. Exit status: 0 all bars are met;
1 one is missed; 2 it cannot run here.

Bars: with an empty cache no launch keeps a default kernel, served over stated time is 0.97 to 1.03 in the geometric mean, and capturing takes at most 20 s
longer than with a filled cache. With a broken compiler the graphs are valid, each shape has one notice, and no capture takes longer than its wait and 2 s.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEAN, MORE_S, BROKEN_WAIT_S, SLACK_S = (0.97, 1.03), 20, 3, 2
KEEPS = "a captured graph keeps the default kernel of "


def stop(sentence):
    print(f"captured_graphs: {sentence}", file=sys.stderr)
    sys.exit(2)


def rows_of(options):
    """The columns and the chosen rows of a table, and which of these name generated kernels."""
    with open(options.table, newline="") as text:
        reader = csv.DictReader(text)
        rows = list(reader)
    rows.sort(key=lambda row: options.solver not in row["kernelName"])  # Stable.
    rows = rows[:options.shapes]
    generated = [row for row in rows if options.solver in row["kernelName"]]
    if not generated:
        stop(f"no row of {options.table} names a kernel of {options.solver}")
    return reader.fieldnames, rows, generated


def write(file, columns, rows):
    with open(file, "w", newline="") as text:
        writer = csv.DictWriter(text, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


class Run:
    """One process that calls each row once and captures a graph of each."""

    def __init__(self, options, table, cache, wait_s, **variables):
        command = [options.program.resolve(), table, options.device, str(options.rounds), str(wait_s)]
        began = time.monotonic()
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                              env={**os.environ, "ATTUNE_CACHE": str(cache), **variables})
        self.wall_s, self.status, self.errors = time.monotonic() - began, done.returncode, done.stderr
        self.rows = list(csv.DictReader(done.stdout.splitlines()))

    def numbers(self, column):
        return [float(row[column]) for row in self.rows]

    def figures(self):
        ratios = self.numbers("served_of_stated")
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
        return {"shapes": len(self.rows), "status": self.status, "served_of_stated": round(mean, 4), "capture_s": round(sum(self.numbers("capture_s")), 3),
                "longest_capture_s": round(max(self.numbers("capture_s"), default=0), 3), "stand_ins": int(sum(self.numbers("stand_ins"))),
                "notices": self.errors.count(KEEPS), "wall_s": round(self.wall_s, 1)}


def broken_programs(folder):
    """Programs in place of `attune` by name: they run, and compile nothing."""
    programs = {"hangs": "#!/bin/sh\nexec sleep 600\n", "fails": "#!/bin/sh\nexit 1\n"}
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {name: folder / name for name in (*programs, "missing")}


def measure(options, folder):
    columns, rows, generated = rows_of(options)
    table, few = folder / "bf16_tuned_gemm.csv", folder / "few" / "bf16_tuned_gemm.csv"
    few.parent.mkdir()
    write(table, columns, rows)
    write(few, columns, generated[:3])
    cache = folder / "cache"
    runs = {"empty cache": Run(options, table, cache, 30), "filled cache": Run(options, table, cache, 30)}
    for name, program in broken_programs(folder).items():
        runs[f"compiler {name}"] = Run(options, few, folder / f"cache_{name}", BROKEN_WAIT_S, ATTUNE_PROGRAM=str(program))
    figures = {name: run.figures() for name, run in runs.items()}
    empty, filled = figures["empty cache"], figures["filled cache"]
    missed = []
    for name, one in figures.items():
        if one["status"] != 0:
            missed.append(f"{name}: a graph is not valid, status {one['status']}: {runs[name].errors.strip()[-300:]}")
    if empty["shapes"] != len(rows) or empty["stand_ins"] > 0:
        missed.append(f"{empty['stand_ins']} launches keep a default kernel, {empty['shapes']} of {len(rows)} shapes were captured")
    if not MEAN[0] <= empty["served_of_stated"] <= MEAN[1]:
        missed.append(f"served over stated is {empty['served_of_stated']}, not {MEAN[0]} to {MEAN[1]}")
    more_s = empty["capture_s"] - filled["capture_s"]
    if more_s > MORE_S:
        missed.append(f"capturing takes {more_s:.1f} s longer than with a filled cache")
    for name in figures:
        one = figures[name]
        if name.startswith("compiler ") and (one["notices"] != one["shapes"] or one["stand_ins"] == 0 or one["longest_capture_s"] > BROKEN_WAIT_S + SLACK_S):
            missed.append(f"{name}: {one['notices']} notices for {one['shapes']} shapes, a capture took {one['longest_capture_s']} s")
    return {"num_generated": len(generated), "cores": len(os.sched_getaffinity(0)), "more_s": round(more_s, 2), "figures": figures, "missed": missed,
            "rows": {name: run.rows for name, run in runs.items()}}


def markdown(result):
    names = ("shapes", "served_of_stated", "capture_s", "longest_capture_s", "stand_ins", "notices")
    lines = [f"{result['num_generated']} of the rows name generated kernels; {result['cores']} cores. Capturing took {result['more_s']} s longer with an empty cache. "
             + ("All bars are met." if not result["missed"] else "**Missed**: " + "; ".join(result["missed"]) + "."),
             "", f"| | {' | '.join(names)} |", "|" + "---|" * (len(names) + 1)]
    lines += [f"| {name} | {' | '.join(str(one[column]) for column in names)} |" for name, one in result["figures"].items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--shapes", type=int, default=34)
    parser.add_argument("--solver", default="jit_cuda", help="whose kernels are generated")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--program", type=Path, default=ROOT / "bin" / "attune_served_in_graphs")
    options = parser.parse_args()
    for file in (options.table, options.program):
        if not file.is_file():
            stop(f"there is no file {file}")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(options, Path(folder))
    text = markdown(result)
    print(text, end="")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))
    if options.markdown:
        options.markdown.write_text(text)
    return int(bool(result["missed"]))


if __name__ == "__main__":
    sys.exit(main())
