# SPDX-License-Identifier: MIT
"""A PyTorch process of tests/perf/pytorch_block: steps of a transformer block, with or without Attune's patch.

    python pytorch_block_worker.py --mode stock|patched [--capture FOLDER] BLOCK …      BLOCK: fp32:16 (type and batch)

It prepares every block, writes `ready ARRIVED MISSES` (products of one step of each block that Attune computed, or that a row or
the want of one left to PyTorch, and those of them that no row served) and answers lines of standard input until it ends:

    BLOCK SECONDS    makes steps for that long, after an untimed one; answers `STEPS WALL_SECONDS CPU_SECONDS`

With --capture it records the shapes of one step of each block instead, and ends. The environment decides everything else: OMP_NUM_THREADS
and Attune's own variables.
"""
import argparse
import contextlib
import os
import sys
import time

import torch

# Sizes of SmolLM-135M: 9 heads of 64, 3 of keys and values.
WIDTH, HEADS, KV_HEADS, HEAD, INNER, CONTEXT = 576, 9, 3, 64, 1536, 32
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class Block(torch.nn.Module):
    """One decoding step of `batch` sequences, with CONTEXT tokens of each in the cache."""

    def __init__(self, batch):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, (HEADS + 2 * KV_HEADS) * HEAD, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_up = torch.nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.down = torch.nn.Linear(INNER, WIDTH, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.rand(batch, KV_HEADS, CONTEXT, HEAD))

    def forward(self, x):
        batch = x.size(0)
        q, k, v = self.qkv(self.norm1(x)).split((HEADS * HEAD, KV_HEADS * HEAD, KV_HEADS * HEAD), dim=-1)
        self.keys[:, :, 0], self.values[:, :, 0] = k.view(batch, KV_HEADS, HEAD), v.view(batch, KV_HEADS, HEAD)
        scores = q.reshape(batch, KV_HEADS, HEADS // KV_HEADS, HEAD) @ self.keys.transpose(-1, -2) / HEAD**0.5
        x = x + self.out((torch.softmax(scores, dim=-1) @ self.values).reshape(batch, WIDTH))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(torch.nn.functional.silu(gate) * up)


def make(name):
    """A block and its input, from `fp32:16`."""
    dtype, _, batch = name.partition(":")
    torch.manual_seed(1)
    return Block(int(batch)).to(TYPES[dtype]).eval(), torch.rand(int(batch), WIDTH).to(TYPES[dtype])


def answer(block, x, seconds):
    block(x)
    steps, cpu, began = 0, time.process_time(), time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds or steps == 0:
        block(x)
        steps += 1
    return steps, elapsed, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", choices=("stock", "patched"), required=True)
    parser.add_argument("--capture", metavar="FOLDER")
    parser.add_argument("blocks", nargs="+", metavar="BLOCK")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    blocks = {name: make(name) for name in options.blocks}
    arrived = misses = 0
    with torch.inference_mode():
        if options.mode == "patched":
            import attune  # A stock process has nothing of it.
            import attune.torch

            attune.torch.patch()
            with attune.capture(options.capture) if options.capture else contextlib.nullcontext():
                for block, x in blocks.values():
                    block(x)
            calls, misses = attune.torch.calls(), attune.counts()["misses"]
            arrived = calls["routed"] + calls["stock_row"] + calls["no_row"]
        if options.capture:
            return
        for block, x in blocks.values():
            for _ in range(3):
                block(x)
        print("ready", arrived, misses, flush=True)
        for line in sys.stdin:
            name, seconds = line.split()
            print(*answer(*blocks[name], float(seconds)), flush=True)


if __name__ == "__main__":
    main()
