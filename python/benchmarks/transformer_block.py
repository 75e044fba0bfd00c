# SPDX-License-Identifier: MIT
"""A small transformer block in PyTorch: captures its shapes, tunes them, and compares it before and after.

usage: python transformer_block.py [--dtype fp32] [--tokens 64] [--width 512] [--threads N] [--budget 2m] [--keep DIR]

It times PyTorch's own linear, Attune's untuned libraries (patch(untuned=True)) and the tuned table, in rounds of changing
order. The exit status is 1 if the results differ by more than the tolerance, or if the tuned block is more than 5 %
slower than PyTorch's.
PyTorch's own BLAS should run at its best: Debian's OpenBLAS chooses a slow core type on recent processors unless
OPENBLAS_CORETYPE=SkylakeX is set when Python starts.
"""

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

import torch

import attune
import attune.torch
from kept_folder import end_with

F = torch.nn.functional
DTYPES = {"fp32": (torch.float32, 1e-4), "bf16": (torch.bfloat16, 6e-2)}
ROUNDS, ROUND_S = 21, 0.1


class Block(torch.nn.Module):
    def __init__(self, width, heads=8):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.reshape(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def time_us(block, x, calls):
    began = time.perf_counter()
    for _ in range(calls):
        block(x)
    return (time.perf_counter() - began) / calls * 1e6


def switch_to(mode, table, threads):
    """Selects how the block's products are computed."""
    attune.torch.unpatch()
    torch.set_num_threads(threads)
    os.environ.pop("ATTUNE_CONFIG_GEMM_BF16", None)
    if mode == "tuned":
        os.environ["ATTUNE_CONFIG_GEMM_BF16"] = str(table)
    attune.reload()
    if mode != "PyTorch":
        attune.torch.patch(untuned=mode == "untuned")


def compare(block, x, table, threads):
    modes, samples = ["PyTorch", "untuned", "tuned"], {}
    calls = max(1, int(ROUND_S * 1e6 / time_us(block, x, 5)))
    for _ in range(ROUNDS):
        for mode in random.sample(modes, len(modes)):
            switch_to(mode, table, threads)
            block(x)
            samples.setdefault(mode, []).append(time_us(block, x, calls))
    return {mode: samples[mode] for mode in modes}


def show(progress):
    print(f"  {progress.decided} of {progress.shapes}: {progress.doing}", file=sys.stderr)


def run(options, folder):
    dtype, tolerance = DTYPES[options.dtype]
    torch.manual_seed(1)
    block, x = Block(options.width).to(dtype).eval(), torch.rand(1, options.tokens, options.width).to(dtype)
    torch.set_num_threads(options.threads)  # Shapes are captured, and tuned, for the threads of their calls.
    wanted = block(x)
    attune.torch.patch()
    with attune.capture(folder / "captures") as shapes:
        block(x)
    attune.torch.unpatch()
    print(f"{shapes.num_shapes} shapes captured; PyTorch {torch.__version__} with {options.threads} threads")
    table = folder / "tuned.csv"
    for result in attune.tune(
        folder / "captures" / "bf16_untuned_gemm.csv", table, budget=options.budget, progress=show
    ):
        decision = result.get("decision")
        print(
            f"  {result['problem']}: "
            + (f"{decision['speedup']:.2f}x by {decision['winner']}" if decision else result["ending"])
        )
    samples = compare(block, x, table, options.threads)
    switch_to("tuned", table, options.threads)
    before = attune.counts()["misses"]
    difference = (block(x) - wanted).abs().max().item()
    missed = attune.counts()["misses"] - before
    print(f"largest difference {difference:.2g} (tolerance {tolerance:g}), products without a row: {missed}")
    ratios = {}
    for mode, values in samples.items():
        ratios[mode] = statistics.median(a / b for a, b in zip(samples["PyTorch"], values))
        print(f"{mode:<10} {statistics.median(values):9.1f} us a block   {ratios[mode]:.2f}x of PyTorch's speed")
    return 0 if difference <= tolerance and ratios["tuned"] >= 0.95 else 1


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dtype", choices=DTYPES, default="fp32")
    options.add_argument("--tokens", type=int, default=64)
    options.add_argument("--width", type=int, default=512)
    options.add_argument(
        "--threads", type=int, default=len(os.sched_getaffinity(0)), help="of PyTorch; default: all cores"
    )
    options.add_argument("--budget", default="2m")
    options.add_argument("--keep", type=Path, help="folder for captures and table")
    end_with(run, options.parse_args())


if __name__ == "__main__":
    main()
