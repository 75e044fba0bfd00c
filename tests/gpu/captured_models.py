#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Transformers whose passes are captured after one warm-up call, with an empty cache of kernels and with a filled one, through the patch of PyTorch.

    captured_models.py [--program attune] [--device cuda:0] [--budget 120s] [--rounds 21] [--table FILE] [--json FILE] [--markdown FILE]

A decoder of 8 layers with hidden size 4096 and one of 28 layers with 1024, random weights, bf16, one token of each of 1, 16 and 64 sequences. It captures
their shapes, tunes them into a table unless --table names one, and fills a cache with `attune kernels build`. Of each case two processes hold a graph, one
began with an empty cache; they replay in turns, eager and, where torch.compile works here, compiled. Exit status: 0 all ratios of the medians are 0.98 to
1.02 and no launch keeps PyTorch's kernel for want of the row's; 1 not so.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = {"8 x 4096": (8, 4096), "28 x 1024": (28, 1024)}
BATCHES, WAYS = (1, 16, 64), ("eager", "compiled")
RATIO, REPLAYS_S = (0.98, 1.02), 0.2


def decoder(name):
    import torch

    class Layer(torch.nn.Module):
        """A decoding step with the products of one token a sequence; attention itself is over one key."""

        def __init__(self, width):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.RMSNorm(width), torch.nn.RMSNorm(width)
            self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width, bias=False)
            self.up, self.down = torch.nn.Linear(width, 4 * width, bias=False), torch.nn.Linear(4 * width, width, bias=False)

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            x = x + self.out(torch.softmax(q * k, dim=-1) * v)
            return x + self.down(torch.nn.functional.silu(self.up(self.norm2(x))))

    layers, width = MODELS[name]
    torch.manual_seed(1)
    with torch.device(os.environ["ATTUNE_GPU"]):
        model = torch.nn.Sequential(*(Layer(width) for _ in range(layers))).to(torch.bfloat16).eval()
        inputs = {batch: torch.randn(batch, width, dtype=torch.bfloat16) for batch in BATCHES}
    return model, inputs


def serve(name, way):
    """A process that holds graphs: prints what the captures took, then for each line of input the µs of a replay of each batch."""
    import torch

    import attune.torch

    torch.cuda.set_device(os.environ["ATTUNE_GPU"])
    attune.torch.patch("dispatcher")
    model, inputs = decoder(name)
    call = torch.compile(model, dynamic=False) if way == "compiled" else model
    graphs, capture_s = {}, 0.0
    with torch.inference_mode():
        for x in inputs.values():  # The one warm-up call of each shape.
            call(x)
        torch.cuda.synchronize()
        for batch, x in inputs.items():
            graphs[batch] = torch.cuda.CUDAGraph()
            began = time.monotonic()
            with torch.cuda.graph(graphs[batch]):
                call(x)
            capture_s += time.monotonic() - began
    calls = {reason: number for reason, number in attune.torch.calls().items() if number}
    print(json.dumps({"capture_s": capture_s, "stand_ins": attune.torch.status()["captured_stand_ins"], "calls": calls}), flush=True)
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def replay_us(graph, times):
        marks[0].record()
        for _ in range(times):
            graph.replay()
        marks[1].record()
        torch.cuda.synchronize()
        return 1e3 * marks[0].elapsed_time(marks[1]) / times

    times = {batch: max(3, int(1e6 * REPLAYS_S / replay_us(graph, 5))) for batch, graph in graphs.items()}
    for _ in sys.stdin:
        print(json.dumps({batch: replay_us(graph, times[batch]) for batch, graph in graphs.items()}), flush=True)


class Server:
    def __init__(self, name, way, cache, errors):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "--serve", name, way], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=errors, text=True, env={**os.environ, "ATTUNE_CACHE": str(cache)})
        self.captured = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def replay(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)


def compare(name, way, folder, rounds):
    """The rows of the report for a model: one for each batch."""
    errors = folder / f"{name}_{way}.txt"
    with open(errors, "w") as log:
        servers = {"empty": Server(name, way, folder / f"empty_{name}_{way}".replace(" ", ""), log), "filled": Server(name, way, folder / "filled", log)}
        if any(one.captured is None for one in servers.values()):
            for one in servers.values():
                one.process.kill()
            lines = errors.read_text().strip().splitlines()
            return [{"model": name, "way": way, "skipped": lines[-1][:300] if lines else "it ends"}]
        times = {side: {batch: [] for batch in BATCHES} for side in servers}
        for _ in range(rounds):
            for side in random.sample(list(servers), len(servers)):
                for batch, us in servers[side].replay().items():
                    times[side][int(batch)].append(us)
        for one in servers.values():
            one.end()
    rows = []
    for batch in BATCHES:
        empty, filled = (statistics.median(times[side][batch]) for side in ("empty", "filled"))
        ratio = statistics.median(one / other for one, other in zip(times["empty"][batch], times["filled"][batch]))
        rows.append({"model": name, "way": way, "batch": batch, "empty_us": empty, "filled_us": filled, "ratio": ratio,
                     **{f"{side}_{what}": servers[side].captured[what] for side in servers for what in ("capture_s", "stand_ins", "calls")}})
    return rows


def tuned(options, folder):
    """The shapes of both models, tuned."""
    capture = ("import sys, torch, attune, attune.torch\nsys.path.insert(0, sys.argv[1])\nimport captured_models as own\nattune.torch.patch('dispatcher')\n"
               "with attune.capture(sys.argv[2]), torch.inference_mode():\n"
               "    for name in own.MODELS:\n        model, inputs = own.decoder(name)\n        [model(x) for x in inputs.values()]\n")
    subprocess.run([sys.executable, "-B", "-c", capture, Path(__file__).parent, folder / "captures"], check=True)
    table = folder / "bf16_tuned_gemm.csv"
    subprocess.run([options.program.resolve(), "tune", "-i", folder / "captures" / "bf16_untuned_gemm.csv", "-o", table, "--journal", folder / "journal.db", "--quiet-wait", "0",
                    "--devices", options.device, "--budget", options.budget, "--max-trials", "48", "--libraries-of", sys.executable], stdout=subprocess.DEVNULL, check=False)
    if not table.exists():
        sys.exit("captured_models: nothing was tuned, give more time with --budget")
    return table


def markdown(rows, missed):
    lines = ["All bars are met." if not missed else f"**Missed**: {'; '.join(missed)}.", "",
             "| model | way | batch | empty µs | filled µs | ratio | kept PyTorch's | capture s, empty | capture s, filled |", "|" + "---|" * 9]
    for row in rows:
        if "skipped" in row:
            lines.append(f"| {row['model']} | {row['way']} | skipped: {row['skipped']} |" + " |" * 6)
        else:
            lines.append(f"| {row['model']} | {row['way']} | {row['batch']} | {row['empty_us']:.1f} | {row['filled_us']:.1f} | {row['ratio']:.4f} | "
                         f"{row['empty_stand_ins']} | {row['empty_capture_s']:.2f} | {row['filled_capture_s']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "bin" / "attune")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    os.environ["ATTUNE_GPU"] = options.device
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = options.table or tuned(options, folder)
        os.environ["ATTUNE_CONFIG_GEMM_BF16"] = str(table)
        subprocess.run([options.program.resolve(), "kernels", "build", "--table", table, "--cache", folder / "filled", "--devices", options.device,
                        "--libraries-of", sys.executable], check=False)
        rows = [row for model in MODELS for way in WAYS for row in compare(model, way, folder, options.rounds)]
        if not options.table and options.json:
            options.json.with_suffix(".csv").write_bytes(table.read_bytes())
    compared = [row for row in rows if "skipped" not in row]
    missed = [f"{row['model']} {row['way']} batch {row['batch']}: {row['ratio']:.4f}" for row in compared if not RATIO[0] <= row["ratio"] <= RATIO[1]]
    missed += [f"{row['model']} {row['way']}: {row['empty_stand_ins']} launches keep PyTorch's kernel" for row in compared
               if row["batch"] == BATCHES[0] and row["empty_stand_ins"] > 0]
    missed += [f"{row['model']} {row['way']} does not run: {row['skipped']}" for row in rows if "skipped" in row and row["way"] == "eager"]
    text = markdown(rows, missed)
    print(text, end="")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "missed": missed}, indent=1))
    if options.markdown:
        options.markdown.write_text(text)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
