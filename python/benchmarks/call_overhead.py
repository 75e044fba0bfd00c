# SPDX-License-Identifier: MIT
"""Measures the cost of a call from Python: gemm_a16w16 of 1x16x16 fp32, and a bare nanobind function for comparison.

usage: python call_overhead.py [--json]        on a quiet machine; medians of rounds in changing order
"""

import argparse
import json
import random
import statistics
import time

import numpy as np

import attune
from attune import _attune

CALLS, ROUNDS = 20000, 25


def time_ns(call, arguments):
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        call(*arguments)
    return (time.perf_counter_ns() - began) / CALLS


def numpy_cases():
    x, w, bias, out = (np.zeros(shape, np.float32) for shape in ((1, 16), (16, 16), (16,), (1, 16)))
    return {
        "bare nanobind call": (_attune.bare, (x, w, None, out)),
        "NumPy, out given": (attune.gemm_a16w16, (x, w, None, out)),
        "NumPy, bias, out given": (attune.gemm_a16w16, (x, w, bias, out)),
        "NumPy, out made": (attune.gemm_a16w16, (x, w)),
        "numpy.matmul, out given": (np.matmul, (x, w, out)),
        "kernel alone (addresses)": (
            _attune.run_addresses,
            (x.ctypes.data, w.ctypes.data, 0, out.ctypes.data, 1, 16, 16, 1),
        ),
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
        "patched linear": (attune.torch.linear, (x, w)),
        "PyTorch's linear": (torch.nn.functional.linear, (x, w)),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true")
    as_json = options.parse_args().json
    cases = {**numpy_cases(), **torch_cases()}
    samples = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name in random.sample(list(cases), len(cases)):
            samples[name].append(time_ns(*cases[name]))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    if as_json:
        print(json.dumps(medians, indent=2))
        return
    bare = medians["bare nanobind call"]
    for name, median in medians.items():
        print(f"{name:<30} {median:7.0f} ns   above the bare call {median - bare:7.0f} ns")


if __name__ == "__main__":
    main()
