#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tunes six shapes on a GPU of which another process holds all but some MiB, and compares verdicts and time with an empty GPU.

    tests/gpu/nearly_full.py --attune build/ci/attune [--free 900 1500 2200 3000] [--runs 3] [--device cuda:0] [--json FILE]

Exit status 1: a run aborted, or a shape's verdict differs from the empty GPU's in more than a tie."""
import argparse
import contextlib
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SHAPES = "M,N,K\n1,2048,7168\n2,7168,1536\n64,2304,6144\n192,512,4096\n480,384,7168\n512,8704,4096\n"
MIB = 1 << 20


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


def tune(args, budget):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "shapes.csv").write_text(SHAPES)
        began = time.monotonic()
        done = subprocess.run([args.attune, "tune", "-i", work / "shapes.csv", "-o", work / "tuned.csv", "--journal", work / "journal.db",
                               "--devices", args.device, "--quiet-wait", "0", "--budget", f"{budget}s", "--json"],
                              capture_output=True, text=True)
        seconds = time.monotonic() - began
    verdicts = {}
    if done.stdout.strip():
        for one in json.loads(done.stdout)["results"]:
            decision = one.get("decision") or {}
            verdicts[one["problem"]] = decision.get("verdict") or f"undecided: {one.get('reason', '')}"
    return {"status": done.returncode, "seconds": round(seconds, 1), "verdicts": verdicts, "errors": done.stderr[-600:]}


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--attune", required=True)
    ask.add_argument("--device", default="cuda:0")
    ask.add_argument("--free", type=int, nargs="*", default=[900, 1500, 2200, 3000])
    ask.add_argument("--runs", type=int, default=3)
    ask.add_argument("--json")
    args = ask.parse_args()
    ordinal = int(args.device.rpartition(":")[2])
    results, failed = [], False
    for left in [None, *args.free]:
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
