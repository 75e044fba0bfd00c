# SPDX-License-Identifier: MIT
"""Measures the cost of a call from Python, against a bare nanobind function, NumPy and PyTorch's own operators.

usage: python call_overhead.py [--json] [--rounds N] [--torch] [--way WAY] [--served row|none|untuned]     on a quiet machine

Products of 1x16x16 fp32 by all ways in rounds of changing order: medians. Operators of PyTorch, 1x64x64 fp32, one
thread: stock and patched in turns within each round; the median of the rounds' differences and ratios, with its interval
(95 %, from the order of the rounds). --torch: these alone. --way: how PyTorch is patched (dispatcher, library, python).
--served: by rows, which are tuned first; by PyTorch's own kernel, as there is no row (the default); or untuned by a library
of Attune's.
"""

import argparse
import json
import math
import os
import random
import statistics
import tempfile
import time

import numpy as np

import attune
from attune import _attune

CALLS, ROUNDS = 20000, 25


def time_ns(call, arguments, calls=CALLS):
    began = time.perf_counter_ns()
    for _ in range(calls):
        call(*arguments)
    return (time.perf_counter_ns() - began) / calls


def kernel_alone(x, w, out):
    description = [(one.ctypes.data, 1, one.shape, tuple(step // 4 for step in one.strides)) for one in (x, w)]
    product = _attune.examine_linear(*description, None, attune.get_num_threads())
    return _attune.run_product, (product, x.ctypes.data, w.ctypes.data, 0, out.ctypes.data)


def numpy_cases():
    x, w, bias, out = (np.zeros(shape, np.float32) for shape in ((1, 16), (16, 16), (16,), (1, 16)))
    return {
        "bare nanobind call": (_attune.bare, (x, w, None, out)),
        "NumPy, out given": (attune.gemm_a16w16, (x, w, None, out)),
        "NumPy, bias, out given": (attune.gemm_a16w16, (x, w, bias, out)),
        "NumPy, out made": (attune.gemm_a16w16, (x, w)),
        "numpy.matmul, out given": (np.matmul, (x, w, out)),
        "kernel alone (addresses)": kernel_alone(x, w, out),
    }


def torch_cases():
    try:
        import torch

        import attune.torch
    except ImportError:
        return {}
    torch.set_grad_enabled(False)
    x, w, out = torch.zeros(1, 16), torch.zeros(16, 16), torch.zeros(1, 16)
    return {
        "PyTorch by DLPack, out given": (attune.gemm_a16w16, (x, w, None, out)),
        "PyTorch by DLPack, out made": (attune.gemm_a16w16, (x, w)),
        "linear, function replaced": (attune.torch.linear, (x, w)),
    }


def operators():
    import torch

    x, w, bias, out = torch.rand(1, 64), torch.rand(64, 64), torch.rand(64), torch.empty(1, 64)
    of, transposed = torch.nn.functional, w.t().contiguous()
    return {
        "linear with bias": lambda: of.linear(x, w, bias),  # The name, which one of the ways replaces.
        "linear": lambda: of.linear(x, w),
        "addmm": lambda: torch.addmm(bias, x, transposed),
        "mm": lambda: torch.mm(x, transposed),
        "mm, out given": lambda: torch.mm(x, transposed, out=out),
    }


def interval(values):
    """The order statistics between which the median lies in at least 95 of 100 cases."""
    values, count = sorted(values), len(values)
    below, tail = 0, 0.0
    while tail + math.comb(count, below) / 2**count <= 0.025:
        tail += math.comb(count, below) / 2**count
        below += 1
    below = max(below - 1, 0)
    return statistics.median(values), values[below], values[count - 1 - below]


def serve_rows(folder):
    """Tunes rows of a library for the operators' products."""
    import attune.torch

    with attune.torch.patched(), attune.capture(folder):
        for call in operators().values():
            call()
    shapes, table = f"{folder}/bf16_untuned_gemm.csv", f"{folder}/tuned.csv"
    attune.tune(shapes, table, libtype="onednn", max_trials=4, quiet_wait=0)
    os.environ["ATTUNE_CONFIG_GEMM_BF16"] = table
    attune.reload()


def measure_operators(rounds, way=None, served="none"):
    """For each operator its times in ns: stock, patched, and interval() of differences and ratios."""
    import torch

    import attune.torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    if served == "row":
        folder = tempfile.TemporaryDirectory(prefix="attune_overhead_")
        with torch.no_grad():
            serve_rows(folder.name)
    untuned = served == "untuned"
    before = attune.torch.calls()
    results = {}
    with torch.no_grad():
        for name, call in operators().items():
            stock, patched = [], []
            for _ in range(rounds):
                for is_patched in random.sample((False, True), 2):
                    attune.torch.patch(way, untuned=untuned) if is_patched else attune.torch.unpatch()
                    call()
                    (patched if is_patched else stock).append(time_ns(call, (), CALLS // 4))
            pairs = list(zip(stock, patched))
            results[name] = {
                "stock_ns": statistics.median(stock),
                "patched_ns": statistics.median(patched),
                "difference_ns": interval([after - before for before, after in pairs]),
                "ratio": interval([after / before for before, after in pairs]),
            }
        with attune.torch.patched(way):
            results["way"] = attune.torch.status()["way"]
        attune.torch.unpatch()
    now = attune.torch.calls()
    results["counted"] = {name: now[name] - before[name] for name in now if now[name] != before[name]}
    torch.set_num_threads(threads)
    return results


def print_operators(results):
    print(f"PyTorch's operators, patched by way of: {results.pop('way')}; counted: {results.pop('counted')}")
    print(f"{'1x64x64':<20} {'stock':>8} {'patched':>8}   {'difference in ns (95 %)':<26} ratio (95 %)")
    for name, one in results.items():
        difference = "{:+.0f} ({:+.0f} to {:+.0f})".format(*one["difference_ns"])
        ratio = "{:.2f} ({:.2f} to {:.2f})".format(*one["ratio"])
        print(f"{name:<20} {one['stock_ns']:5.0f} ns {one['patched_ns']:5.0f} ns   {difference:<26} {ratio}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--torch", action="store_true")
    options.add_argument("--way")
    options.add_argument("--served", choices=("row", "none", "untuned"), default="none")
    chosen = options.parse_args()
    _attune.serve_untuned(True)  # The cases of all ways; patch() says it anew for the operators.
    cases = {} if chosen.torch else {**numpy_cases(), **torch_cases()}
    samples = {name: [] for name in cases}
    for _ in range(chosen.rounds):
        for name in random.sample(list(cases), len(cases)):
            samples[name].append(time_ns(*cases[name]))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    try:
        of_torch = measure_operators(chosen.rounds, chosen.way, chosen.served)
    except ImportError:
        of_torch = {}
    if chosen.json:
        print(json.dumps({"ways": medians, "operators": of_torch}, indent=2))
        return
    for name, median in medians.items():
        above = median - medians["bare nanobind call"]
        print(f"{name:<30} {median:7.0f} ns   above the bare call {above:7.0f} ns")
    if of_torch:
        print_operators(of_torch)


if __name__ == "__main__":
    main()
