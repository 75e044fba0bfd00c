# SPDX-License-Identifier: MIT
"""Models that people know, with random weights, before and after: time, results, and products that Attune computes.

usage: python models.py [--models llama,qwen_moe,vit,bert] [--dtypes fp32,bf16] [--batches 1,16,128] [--device cpu]
                        [--layers 2] [--graphs] [--threads N] [--budget 10m] [--max-trials 96] [--rounds 15]
                        [--table FILE] [--keep DIR] [--json FILE]

The sizes are those of models/NAME.json: Llama 3.2 1B, Qwen1.5-MoE-A2.7B, ViT-Base/16 at 224 pixels and BERT-Base with
128 tokens. A language model that writes takes one token of each sequence, so that the rows of its products are the
batch. --layers N keeps the first N layers of each, which are alike; 0 keeps all. It captures the shapes of one pass of
each model, tunes them into one table, and times passes with and without the patch in rounds of changing order.
On a GPU a pass of few rows takes as long as the host needs to launch it; --graphs times replays of a captured one, as
servers do; the mixture of experts, which cannot be captured, is timed without.
The exit status is 1 if the results of a model differ by more than the tolerance, or less than 95 % of its products are
computed by Attune or passed on for a counted reason. Needs transformers (PyPI) and a PyTorch that it supports.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

import torch
import transformers

import attune
import attune.torch
from kept_folder import end_with

CONFIGS = Path(__file__).resolve().parent / "models"
DTYPES = {"fp32": (torch.float32, 1e-3), "bf16": (torch.bfloat16, 5e-2)}  # And the tolerance, of the largest result.
BERT_TOKENS = 128
NOT_CAPTURED = ("qwen_moe",)  # The host reads which experts the tokens go to.
ROUND_S, READY_S = 0.2, 60
BOOTSTRAPS = 2000


class Case:
    """A model with its inputs on a device."""

    def __init__(self, name, dtype, batch, options):
        self.name, self.dtype, self.batch, self.device = name, dtype, batch, options.device
        config = self._config(name, options.layers)
        torch.manual_seed(1)
        torch.set_default_dtype(DTYPES[dtype][0])
        with torch.device(options.device):
            self.model = self._class_of(name)(config).eval()
            self.inputs = self._inputs(config)
        torch.set_default_dtype(torch.float32)

    @staticmethod
    def _config(name, layers):
        values = json.loads((CONFIGS / f"{name}.json").read_text())
        if layers:
            values["num_hidden_layers"] = min(layers, values["num_hidden_layers"])
        return transformers.AutoConfig.for_model(values.pop("model_type"), **values)

    @staticmethod
    def _class_of(name):
        return {
            "llama": transformers.LlamaForCausalLM,
            "qwen_moe": transformers.Qwen2MoeForCausalLM,
            "vit": transformers.ViTModel,
            "bert": transformers.BertModel,
        }[name]

    def _inputs(self, config):
        if self.name == "vit":
            return {"pixel_values": torch.rand(self.batch, config.num_channels, config.image_size, config.image_size)}
        tokens = BERT_TOKENS if self.name == "bert" else 1
        return {"input_ids": torch.randint(config.vocab_size, (self.batch, tokens))}

    def run(self):
        output = self.model(**self.inputs)
        return output.logits if hasattr(output, "logits") else output.last_hidden_state

    def captured(self):
        """A function that replays a pass as a graph, with the kernels of now."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph.replay

    def time_s(self, run, passes):
        self.wait()
        began = time.perf_counter()
        for _ in range(passes):
            run()
        self.wait()
        return (time.perf_counter() - began) / passes

    def wait(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    def num_products(self):
        """The linear layers and plain products of one pass without the patch, as PyTorch's profiler counts them."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            self.run()
        counts = {event.key: event.count for event in profile.key_averages()}
        linear, inner = counts.get("aten::linear", 0), counts.get("aten::addmm", 0) + counts.get("aten::mm", 0)
        return max(linear, inner)  # A linear layer is a product inside as well.


@contextlib.contextmanager
def served_as(mode):
    if mode == "stock":
        yield
    else:
        with attune.torch.patched("dispatcher"):
            yield


def compare(case, options):
    """Seconds of a pass by mode, each once a round, and whether they are those of graphs."""
    runs = {"stock": case.run, "tuned": case.run}
    is_captured = options.graphs and case.name not in NOT_CAPTURED
    for mode in runs if is_captured else ():
        with served_as(mode):
            case.run()
            runs[mode] = case.captured()
    samples = {mode: [] for mode in runs}
    passes = max(1, int(ROUND_S / case.time_s(runs["stock"], 1)))
    for _ in range(options.rounds):
        for mode in random.sample(list(runs), len(runs)):
            with served_as(mode):
                if passes > 1:  # A long pass warms itself up.
                    runs[mode]()
                samples[mode].append(case.time_s(runs[mode], passes))
    return samples, is_captured


def interval(ratios):
    """95 % of the median, by resampling rounds."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(BOOTSTRAPS))
    return medians[int(0.025 * BOOTSTRAPS)], medians[int(0.975 * BOOTSTRAPS)]


def counted(case):
    """The result of a pass, and its calls by who computed them and why."""
    before = attune.torch.calls()
    result = case.run().float()
    return result, {name: number - before.get(name, 0) for name, number in attune.torch.calls().items()}


def judge(case, options):
    """One row of the report."""
    products = case.num_products()
    wanted = case.run().float()
    with attune.torch.patched("dispatcher"):
        result, counts = counted(case)
        deadline = time.monotonic() + READY_S
        while counts.get("not_ready") and time.monotonic() < deadline:  # Kernels are compiled beside the program.
            time.sleep(0.2)
            result, counts = counted(case)
    samples, is_graph = compare(case, options)
    ratios = [stock / tuned for stock, tuned in zip(samples["stock"], samples["tuned"])]
    low, high = interval(ratios)
    return {
        "model": case.name,
        "dtype": case.dtype,
        "batch": case.batch,
        "graph": is_graph,
        "stock_ms": statistics.median(samples["stock"]) * 1e3,
        "tuned_ms": statistics.median(samples["tuned"]) * 1e3,
        "speedup": statistics.median(ratios),
        "interval": [low, high],
        "difference": ((result - wanted).abs().max() / wanted.abs().max()).item(),
        "tolerance": DTYPES[case.dtype][1],
        "products": products,
        "counts": {name: number for name, number in counts.items() if number},
        "counted_share": (counts["routed"] + counts["passed_on"]) / products if products else 1.0,
    }


def cases(options):
    for name in options.models.split(","):
        for dtype in options.dtypes.split(","):
            for batch in options.batches.split(","):
                yield Case(name, dtype, int(batch), options)


def tune(options, folder):
    """Captures the shapes of all cases and tunes them. Returns the table."""
    attune.torch.patch("dispatcher")
    with attune.capture(folder / "captures") as shapes:
        for case in cases(options):
            case.run()
    attune.torch.unpatch()
    table = folder / "tuned.csv"
    try:
        results = attune.tune(
            folder / "captures" / "bf16_untuned_gemm.csv",
            table,
            budget=options.budget,
            max_trials=options.max_trials,
            devices="cpu:0" if options.device == "cpu" else options.device,
            quiet_wait=0,
            journal=folder / "journal.db",
            progress=lambda now: print(f"  {now.decided} of {now.shapes}: {now.doing}", file=sys.stderr),
        )
        decided = sum("decision" in result for result in results)
        print(f"{decided} of {shapes.num_shapes} shapes decided", file=sys.stderr)
    except attune.errors.Error as error:  # A budget that decides some shapes only: PyTorch computes the others.
        print(error, file=sys.stderr)
    return table


def show(row):
    totals = ("routed", "passed_on")
    counts = ", ".join(f"{name} {number}" for name, number in row["counts"].items() if name not in totals)
    low, high = row["interval"]
    print(
        f"| {row['model']}{', graph' if row['graph'] else ''} | {row['dtype']} | {row['batch']} "
        f"| {row['stock_ms']:.2f} | {row['tuned_ms']:.2f} "
        f"| {row['speedup']:.3f} [{low:.3f}, {high:.3f}] | {row['counts'].get('routed', 0)} of {row['products']} "
        f"| {counts or '–'} | {row['difference']:.1e} |",
        flush=True,
    )


def run(options, folder):
    if options.threads:
        torch.set_num_threads(options.threads)  # Shapes are captured, and tuned, for the threads of their calls.
    # For the whole run and not while it is patched alone: PyTorch's operators are candidates of the tuning, and rows
    # that name them serve from the first look at the table.
    os.environ.setdefault("ATTUNE_TORCH_OPERATORS", attune.torch.operators())
    os.environ["ATTUNE_CONFIG_GEMM_BF16"] = str(options.table or tune(options, folder))
    attune.reload()
    where = f"{torch.get_num_threads()} threads" if options.device == "cpu" else torch.cuda.get_device_name()
    print(f"PyTorch {torch.__version__}, {where}\n")
    print("| model | type | batch | stock, ms | tuned, ms | speed | routed | without a row, passed on | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    for case in cases(options):
        rows.append(judge(case, options))
        show(rows[-1])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return int(any(row["difference"] > row["tolerance"] or row["counted_share"] < 0.95 for row in rows))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", default="llama,qwen_moe,vit,bert")
    options.add_argument("--dtypes", default="fp32,bf16")
    options.add_argument("--batches", default="1,16,128")
    options.add_argument("--device", default="cpu", help="cpu or cuda:0")
    options.add_argument("--layers", type=int, default=0, help="first layers of each model to keep; 0: all")
    options.add_argument("--graphs", action="store_true", help="time replays of captured passes, on a GPU")
    options.add_argument("--threads", type=int, default=0, help="of PyTorch; default: its own number")
    options.add_argument("--budget", default="10m", help="of the tuning")
    options.add_argument("--max-trials", type=int, default=96, help="candidates of a solver for one shape")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--table", type=Path, help="a table that serves, in place of tuning one")
    options.add_argument("--keep", type=Path, help="folder for captures, journal and table")
    options.add_argument("--json", type=Path, help="file for the rows")
    end_with(run, options.parse_args())


if __name__ == "__main__":
    main()
