#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tunes six shapes on a GPU of which another process holds all but some MiB, and compares verdicts and time with an empty GPU.

    tests/gpu/nearly_full.py --attune build/ci/attune [--free 900 1500 2200 3000] [--runs 3] [--device cuda:0] [--json FILE]
    tests/gpu/nearly_full.py --attune build/ci/attune --just-enough       memory for one context and the smallest of three shapes
    tests/gpu/nearly_full.py --attune new/attune --pair old/attune        tuning time of two builds on an empty GPU, in turn

Exit status 1: a run aborted; a shape's verdict differs from the empty GPU's in more than a tie; with --just-enough, the smallest
shape is not decided, or another is left without a reason."""
import argparse
import contextlib
import ctypes
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

SHAPES = "M,N,K\n1,2048,7168\n2,7168,1536\n64,2304,6144\n192,512,4096\n480,384,7168\n512,8704,4096\n"
SMALLEST = "M,N,K\n1,2048,7168\n4096,16384,16384\n8192,16384,16384\n"  # The first needs least by far.
MIB = 1 << 20
T_95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}  # By degrees of freedom.


@contextlib.contextmanager
def hog(ordinal, left_mib):
    """Holds the memory of a GPU but for some MiB; None: nothing. Yields what is free, its own context counted."""
    if left_mib is None:
        yield None
        return
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        if status := getattr(cuda, name)(*arguments):
            raise SystemExit(f"{name}: error {status} of the driver")

    device, context, free, all_of_it = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxPushCurrent_v2", context)
    blocks = []
    try:
        for step in (1024, 64, 2):
            while True:
                call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(all_of_it))
                if free.value < (left_mib + step) * MIB:
                    break
                block = ctypes.c_uint64()
                call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(step * MIB))
                blocks.append(block)
        yield free.value // MIB
    finally:
        for block in blocks:
            cuda.cuMemFree_v2(block)
        cuda.cuDevicePrimaryCtxRelease_v2(device)


def tune(args, budget, shapes=SHAPES, program=None):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "shapes.csv").write_text(shapes)
        began = time.monotonic()
        done = subprocess.run([program or args.attune, "tune", "-i", work / "shapes.csv", "-o", work / "tuned.csv", "--journal", work / "journal.db",
                               "--devices", args.device, "--quiet-wait", "0", "--budget", f"{budget}s", "--json"],
                              capture_output=True, text=True)
        seconds = time.monotonic() - began
    verdicts = {}
    if done.stdout.strip():
        for one in json.loads(done.stdout)["results"]:
            decision = one.get("decision") or {}
            verdicts[one["problem"]] = decision.get("verdict") or f"undecided: {one.get('reason', '')}"
    return {"status": done.returncode, "seconds": round(seconds, 1), "verdicts": verdicts, "errors": done.stderr[-600:]}


def lack(reason):
    """What a shape needs and what was free, in MiB, as its reason says; None: it says neither."""
    found = re.search(r"needs (\d+) MiB of \S+, (\d+) MiB are free", reason)
    return tuple(map(int, found.groups())) if found else None


def just_enough(args, ordinal):
    """Finds out what a context and the smallest shape need from the reasons of runs that lack it, then gives that much."""
    def run(left):
        with hog(ordinal, left) as free:
            one = {"free_mib": free, **tune(args, 60, SMALLEST)}
        lacks = [lack(verdict) for verdict in one["verdicts"].values()]
        print(f"{free} MiB free: status {one['status']}, {one['verdicts'] or one['errors']}", flush=True)
        return one, lacks

    one, lacks = run(1500)
    if not lacks or not lacks[-1]:
        print("the largest shape did not say what it lacks")
        return [one], True
    context = one["free_mib"] - lacks[-1][1]
    results = [one]
    for more in (16, 48, 80):  # The driver opens no device with too little.
        one, lacks = run(context + more)
        results.append(one)
        if lacks and lacks[0]:
            break
    else:
        print("the smallest shape never said what it lacks")
        return results, True
    need = lacks[0][0]
    print(f"a context takes {context} MiB, the smallest shape {need} MiB", flush=True)
    one, lacks = run(context + need + 24)
    results.append(one)
    verdicts = list(one["verdicts"].values())
    return results, one["status"] < 0 or not verdicts or verdicts[0].startswith("undecided") or not all(lacks[1:])


def pair(args):
    """Runs of two builds in turn, after one of each that fills the kernel cache."""
    programs, results, logs = (args.attune, args.pair), [], []
    for run in range(args.runs + 1):
        seconds = {}
        for program in programs if run % 2 else programs[::-1]:
            one = tune(args, 120, program=program)
            results.append({"program": program, "run": run, **one})
            seconds[program] = one["seconds"]
            if one["status"] not in (0, 1):
                print(one["errors"])
                return results, True
        print(f"{'warm-up' if run == 0 else f'pair {run}'}: {seconds[args.attune]} s, {seconds[args.pair]} s", flush=True)
        if run > 0:
            logs.append(math.log(seconds[args.attune] / seconds[args.pair]))
    half = T_95.get(len(logs) - 1, 2.1) * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    mean = statistics.fmean(logs)
    print(f"{args.attune} takes {math.exp(mean):.3f}× the time of {args.pair} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]")
    return results, False


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--attune", required=True)
    ask.add_argument("--device", default="cuda:0")
    ask.add_argument("--free", type=int, nargs="*", default=[900, 1500, 2200, 3000])
    ask.add_argument("--runs", type=int, default=3)
    ask.add_argument("--json")
    ask.add_argument("--just-enough", action="store_true")
    ask.add_argument("--pair", metavar="PROGRAM")
    args = ask.parse_args()
    ordinal = int(args.device.rpartition(":")[2])
    results, failed = [], False
    if args.pair or args.just_enough:
        results, failed = pair(args) if args.pair else just_enough(args, ordinal)
    for left in [] if args.pair or args.just_enough else [None, *args.free]:
        for run in range(1 if left is None else args.runs):
            with hog(ordinal, left) as free:
                one = {"free_mib": free, "run": run + 1, **tune(args, 60)}
            results.append(one)
            empty = results[0]["verdicts"]
            odd = {problem: (verdict, empty.get(problem)) for problem, verdict in one["verdicts"].items()
                   if verdict != empty.get(problem) and "tie" not in (verdict, empty.get(problem))}
            decided = sum(not verdict.startswith("undecided") for verdict in one["verdicts"].values())
            print(f"{'all' if free is None else free} MiB free, run {run + 1}: status {one['status']}, {decided} of 6 decided in {one['seconds']} s", flush=True)
            for problem, verdict in odd.items():
                print(f"  {problem}: {verdict[0]}; empty: {verdict[1]}", flush=True)
            if one["status"] not in (0, 3):
                print(one["errors"])
            failed = failed or bool(odd) or one["status"] < 0 or decided < 6
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
