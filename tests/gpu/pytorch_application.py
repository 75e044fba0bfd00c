# SPDX-License-Identifier: MIT
"""A program that calls PyTorch on CUDA tensors with attune.torch patched in. Prints a line for each part: its name and a JSON object.

usage: pytorch_application.py PART …     functions below; ATTUNE_CONFIG_GEMM_BF16 and its like name the tables"""
import copy
import ctypes
import json
import os
import random
import statistics
import sys
import threading
import time
import traceback
from pathlib import Path

import torch

import attune
import attune.torch

F = torch.nn.functional
GPU = torch.device(os.environ.get("ATTUNE_GPU", "cuda:0"))
BF16 = torch.bfloat16
# Rows of x, outputs, inputs, bias.
PLAIN = ((1, 1024, 1024, True), (1, 4096, 1024, False), (8, 1024, 4096, True), (8, 333, 1000, False), (128, 1024, 1024, True), (128, 2048, 1024, False))
SMALL = (1, 64, 64, True)
COLD = (16, 8192, 2048, False)
SPLIT = (8, 64, 4096, False)  # In `streams` a row names a kernel that adds parts of K.
WIDTH, BATCHES = 2048, (1, 16, 128)


def numbers(*shape, dtype=BF16, seed=1):
    return (torch.rand(shape, device=GPU, generator=torch.Generator(GPU).manual_seed(seed)) * 2 - 1).to(dtype)


def operands(m, n, k, has_bias, seed=1):
    return numbers(m, k, seed=seed), numbers(n, k, seed=seed + 1), numbers(n, seed=seed + 2) if has_bias else None


LAYERS = 16


class Block(torch.nn.Module):
    """A decoding step of a transformer with the products of one token a sequence; attention itself is over one key."""

    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width, bias=False)
        self.up, self.down = torch.nn.Linear(width, 4 * width, bias=False), torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        x = x + self.out(torch.softmax(q * k, dim=-1) * v)
        return x + self.down(F.silu(self.up(self.norm2(x))))


def block():
    torch.manual_seed(1)
    return Block().to(GPU, BF16).eval()


def encoder():
    torch.manual_seed(1)
    return torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, batch_first=True).to(GPU, BF16)


def changes(call):
    before = attune.torch.calls()
    result = call()
    now = attune.torch.calls()
    return result, {name: now[name] - before[name] for name in now if now[name] != before[name]}


def differs(ones, others):
    """A number on the GPU: 1 if the bits of two lists of tensors of 16-bit types differ, else 0. Waits for nothing."""
    return torch.stack([torch.ne(one.view(torch.int16), other.view(torch.int16)).any() for one, other in zip(ones, others, strict=True)]).any().long()


def same_bits(one, other):
    return not bool(differs([one], [other]))


def largest_difference(one, other):
    return float((one.float() - other.float()).abs().max() / other.float().abs().max())


def all_shapes():
    with torch.inference_mode():
        for shape in (*PLAIN, SMALL, COLD):
            F.linear(*operands(*shape))
        if "modules" not in os.environ.get("ATTUNE_TEST_SKIP", ""):
            encoder().eval()(numbers(2, 20, 256))
        if "blocks" not in os.environ.get("ATTUNE_TEST_SKIP", ""):
            module = block()
            for batch in BATCHES:
                module(numbers(batch, WIDTH))
    torch.cuda.synchronize()


def capture():
    """Calls every shape once; ATTUNE_TUNE_GEMM has them captured."""
    attune.torch.patch("dispatcher")
    _, counted = changes(all_shapes)
    return {"status": attune.torch.status(), "counted": counted}


def serve():
    """Every shape is computed by a row, with PyTorch's result."""
    torch.cuda.synchronize()  # Makes the context of this thread, where no part before has.
    found, before = {}, context()
    for shape in PLAIN:
        x, w, bias = operands(*shape)
        stock = F.linear(x.double(), w.double(), None if bias is None else bias.double())
        with attune.torch.patched("dispatcher"), torch.inference_mode():
            result, counted = changes(lambda: F.linear(x, w, bias))
            into = torch.empty_like(result)
            _, of_mm = changes(lambda: torch.mm(x, w.t(), out=into) if bias is None else torch.addmm(bias, x, w.t(), out=into))
            # A last token; what lies between the rows is wrong.
            last = torch.stack([torch.full_like(x, 7), x], 1)[:, -1]
            sliced, of_slice = changes(lambda: F.linear(last, w, bias))
        same = bool(torch.equal(result, into) and torch.equal(result, sliced))
        found[str(shape)] = {"difference": largest_difference(result, stock), "same": same, "linear": counted, "out": of_mm, "strided": of_slice}
    found["context"] = before == context()
    return found


def context():
    """PyTorch's current device, and the driver's context of this thread."""
    now = ctypes.c_void_p()
    ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(now))
    return torch.cuda.current_device(), now.value


def modules():
    """An encoder layer in eval and in training; autocast; settings that want other arithmetic."""
    layer, x = encoder(), numbers(2, 20, 256)
    with torch.inference_mode():
        stock = layer.eval()(x)
        with attune.torch.patched("dispatcher"):
            result, counted = changes(lambda: layer(x))
    found = {"eval": {"difference": largest_difference(result, stock), "counted": counted}}
    layer.train()

    def gradients(one):
        one.zero_grad()
        (one(x).float() ** 2).mean().backward()
        return [parameter.grad.clone() for parameter in one.parameters()]

    stock = gradients(layer)
    with attune.torch.patched("dispatcher"):
        result, counted = changes(lambda: gradients(copy.deepcopy(layer)))
    found["train"] = {"difference": max(largest_difference(a, b) for a, b in zip(result, stock)), "counted": counted}
    x, w, bias = operands(*PLAIN[0])
    with attune.torch.patched("dispatcher"), torch.no_grad():
        with torch.autocast("cuda", dtype=BF16):
            _, found["autocast"] = changes(lambda: F.linear(x.float(), w.float(), bias.float()))
        torch.use_deterministic_algorithms(True, warn_only=True)
        _, found["deterministic"] = changes(lambda: F.linear(x, w, bias))
        torch.use_deterministic_algorithms(False)
        _, found["fp32"] = changes(lambda: F.linear(x.float(), w.float()))
        torch.backends.cuda.matmul.allow_tf32 = True
        _, found["tf32"] = changes(lambda: F.linear(x.float(), w.float()))
        torch.backends.cuda.matmul.allow_tf32 = False
        _, found["no row"] = changes(lambda: F.linear(numbers(3, 777), numbers(55, 777)))
        _, found["bmm"] = changes(lambda: torch.bmm(numbers(2, 4, 8), numbers(2, 8, 4)))
        try:
            F.linear(x, w.cpu(), bias)
            found["two devices"] = "computed"
        except RuntimeError as error:
            found["two devices"] = str(error)[:100]
    return found


def compiled():
    """torch.compile's graphs call the same operators."""
    x, w, bias = operands(*PLAIN[0])
    with attune.torch.patched("dispatcher"), torch.no_grad():
        result, counted = changes(lambda: torch.compile(lambda a, b, c: F.silu(F.linear(a, b, c)))(x, w, bias))
    return {"difference": largest_difference(result, F.silu(F.linear(x, w, bias))), "counted": counted}


def arrays():
    """attune.gemm_a16w16 and run on CUDA tensors, on the current stream, on another one, and into a given result."""
    found = {}
    shape = PLAIN[0]
    x, w, bias = operands(*shape)
    stock = F.linear(x, w, bias)
    found["current"] = largest_difference(attune.gemm_a16w16(x, w, bias), stock)
    stream, out = torch.cuda.Stream(), torch.empty_like(stock)
    stream.wait_stream(torch.cuda.current_stream())
    for name, given in (("object", stream), ("address", stream.cuda_stream)):
        out.zero_()
        stream.wait_stream(torch.cuda.current_stream())
        attune.gemm_a16w16(x, w, bias, out=out, stream=given)
        stream.synchronize()
        found[name] = largest_difference(out, stock)
    with torch.cuda.stream(stream):
        found["entered"] = largest_difference(attune.gemm_a16w16(x, w, bias), stock)
    m, n, k, _ = shape
    attune.run(f"gemm_a16w16 m={m} n={n} k={k} dtype=bf16 bias=1", None, [x, w, bias, out])
    found["run"] = largest_difference(out, stock)
    for name, arguments in (("mixed", (x, w.cpu())), ("host weights packed", None)):
        try:
            attune.gemm_a16w16(*arguments) if arguments else attune.pack_weights(w)
            found[name] = "computed"
        except (TypeError, ValueError) as error:
            found[name] = f"{type(error).__name__}: {error}"
    calls = attune.counts("cuda:0")["calls"]
    attune.gemm_a16w16(numbers(2, 8).cpu(), numbers(8, 8).cpu())
    found["host calls of the GPU"] = attune.counts("cuda:0")["calls"] - calls
    return found


def streams():
    """Two streams of one thread run the same plans side by side; the results are those of one stream."""
    attune.torch.patch("dispatcher")
    found = {}
    with torch.inference_mode():
        for shape in (*PLAIN, SPLIT):
            ways = [operands(*shape, seed=10 * i) for i in range(2)]
            alone, counted = changes(lambda: [F.linear(*one) for one in ways])
            both = [torch.cuda.Stream(), torch.cuda.Stream()]
            torch.cuda.synchronize()
            wrong = 0
            results = [[], []]
            for _ in range(200):
                for i, stream in enumerate(both):
                    with torch.cuda.stream(stream):
                        results[i].append(F.linear(*ways[i]))
            torch.cuda.synchronize()
            for i in range(2):
                wrong += sum(largest_difference(one, alone[i]) > 2e-2 for one in results[i])
            found[str(shape)] = {"wrong": wrong, "bits differ": sum(not same_bits(one, alone[i]) for i in range(2) for one in results[i]), "counted": counted}
    return found


def graphs():
    """A graph over patched calls, replayed while the tables change and larger shapes are called."""
    attune.torch.patch("dispatcher")
    replays = int(os.environ.get("ATTUNE_TEST_REPLAYS", "10000"))
    ways = [operands(*shape) for shape in PLAIN[1:]]
    unready = operands(*PLAIN[0])  # Called in the capture first.
    x, *weights = ways[1]
    ways.append((torch.stack([x, x], 1)[:, -1], *weights))  # Its rows are copied in the graph.
    found = {}
    with torch.inference_mode():
        torch.cuda.synchronize()
        warm = torch.cuda.Stream()
        with torch.cuda.stream(warm):
            for one in ways:
                F.linear(*one)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()

        def run():
            return [F.linear(*one) for one in (*ways, unready)]

        def captured():
            with torch.cuda.graph(graph):
                return run()

        results, found["counted"] = changes(captured)
        graph.replay()
        torch.cuda.synchronize()
        first = [one.clone() for one in results]
        found["difference"] = max(largest_difference(a, F.linear(*b)) for a, b in zip(first, (*ways, unready)))
        ends, reloads = threading.Event(), [0]
        table = Path(os.environ["ATTUNE_CONFIG_GEMM_BF16"])
        lines = table.read_text().splitlines(keepends=True)

        def change_tables():
            while not ends.is_set():
                kept = lines[1:]
                random.Random(reloads[0]).shuffle(kept)
                fresh = table.with_suffix(".fresh")
                fresh.write_text("".join([lines[0], *kept[: len(kept) - reloads[0] % 3]]))
                fresh.replace(table)
                reloads[0] += attune.reload()
                ends.wait(0.02)

        changer = threading.Thread(target=change_tables)
        changer.start()
        # Counted on the GPU and read at the end, so that replays follow each other as in an application.
        differing, compared, larger = torch.zeros((), dtype=torch.int64, device=GPU), 0, [operands(*COLD), operands(*PLAIN[4]), operands(2048, 4096, 2048, False)]
        for i in range(replays):
            graph.replay()
            if i % 50 == 0:
                for one in larger:
                    F.linear(*one)
            differing += differs(results, first)
            compared += 1
            for one in results:
                one.zero_()  # What a replay does not write is seen.
        results[-1][-1, -1] = 1
        noticed = differs(results[-1:], [torch.zeros_like(results[-1])])
        ends.set()
        changer.join()
        table.write_text("".join(lines))
        found |= {"compared": compared, "differing": int(differing), "noticed": int(noticed), "reloads": reloads[0], "captured plans": attune.counts("cuda:0")["captured_plans"]}
    return found


def memory():
    """A hit allocates its result and nothing else."""
    attune.torch.patch("dispatcher")
    ways = [operands(*shape) for shape in PLAIN]
    with torch.inference_mode():
        outs = [F.linear(*one) for one in ways]
        for _ in range(3):
            [F.linear(*one) for one in ways]
        torch.cuda.synchronize()

        def state():
            stats = torch.cuda.memory_stats()
            return {"allocations": stats["allocation.all.allocated"], "segments": stats["segment.all.allocated"], "free": torch.cuda.mem_get_info()[0]}

        before = state()
        for _ in range(500):
            for one in ways:
                F.linear(*one)
        middle = state()
        for _ in range(500):
            for (x, w, bias), out in zip(ways, outs):
                torch.mm(x, w.t(), out=out) if bias is None else torch.addmm(bias, x, w.t(), out=out)
        torch.cuda.synchronize()
        after = state()
    calls = 500 * len(ways)
    return {"a call": (middle["allocations"] - before["allocations"]) / calls, "with a result given": after["allocations"] - middle["allocations"],
            "segments": after["segments"] - before["segments"], "bytes": before["free"] - after["free"]}


def interval(ratios):
    """The median, and the order statistics that hold it in 95 % of cases."""
    ratios = sorted(ratios)
    n = len(ratios)
    reach = int(0.98 * n**0.5) + 1
    return [round(one, 4) for one in (statistics.median(ratios), ratios[max(0, n // 2 - reach)], ratios[min(n - 1, n // 2 + reach)])]


def overhead():
    """Host time of a call at a small shape, stock and patched in turns."""
    x, w, bias = operands(*SMALL)
    bare = numbers(*w.shape)
    into = torch.empty(1, w.shape[0], device=GPU, dtype=BF16)
    calls = {"linear, bias": lambda: F.linear(x, w, bias), "addmm": lambda: torch.addmm(bias, x, w.t()), "linear, no row": lambda: F.linear(x, bare[:48], bias[:48]),
             "addmm, out given": lambda: torch.addmm(bias, x, w.t(), out=into)}
    found = {}
    with torch.inference_mode():
        for name, call in calls.items():
            times = {False: [], True: []}
            for turn in range(2 * 31):
                is_patched = bool(turn % 2)
                if is_patched:
                    attune.torch.patch("dispatcher")
                else:
                    attune.torch.unpatch()
                for _ in range(50):
                    call()
                torch.cuda.synchronize()
                began = time.perf_counter()
                for _ in range(400):
                    call()
                times[is_patched].append((time.perf_counter() - began) / 400 * 1e6)
                torch.cuda.synchronize()
            attune.torch.unpatch()
            found[name] = {"stock_us": round(statistics.median(times[False]), 3), "patched_us": round(statistics.median(times[True]), 3),
                           "difference_us": interval([b - a for a, b in zip(times[False], times[True])]), "ratio": interval([b / a for a, b in zip(times[False], times[True])])}
    with attune.torch.patched("dispatcher"), torch.inference_mode():
        found["counted"] = changes(lambda: [call() for call in calls.values()])[1]
    return found


def graph_of(call, repeats=1):
    with torch.inference_mode():
        torch.cuda.synchronize()
        warm = torch.cuda.Stream()
        with torch.cuda.stream(warm):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                call()
    return graph


def time_us(graph, replays):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / replays


CAPTURES = 7


def stock_and_patched(call, repeats, replays, rounds=9):
    """Graphs of stock, of the patch, and of stock again, captured several times: two graphs of the same kernels differ by some tenths of a
    percent with where their memory lies, as openings of a tuning do. An interval is that over captures; `again` is stock against itself."""
    times, kept = {"stock": [], "patched": [], "again": []}, []
    for capture_number in range(CAPTURES):
        graphs = {}
        for name in random.Random(capture_number).sample(list(times), len(times)):
            if name == "patched":
                with attune.torch.patched("dispatcher"):
                    graphs[name], counted = changes(lambda: graph_of(call, repeats))
            else:
                attune.torch.unpatch()
                graphs[name] = graph_of(call, repeats)
        kept.append(graphs)  # So that the next ones have other memory.
        of_turns = {name: [] for name in graphs}
        for turn in range(rounds + 1):
            for name in random.Random(turn).sample(list(graphs), len(graphs)):
                of_turns[name].append(time_us(graphs[name], replays) / repeats)
        for name, ours in of_turns.items():
            times[name].append(statistics.median(ours[1:]))  # The first turn brings the graphs to the device.
    return {"stock_us": round(statistics.median(times["stock"]), 3), "patched_us": round(statistics.median(times["patched"]), 3),
            "speed": interval([a / b for a, b in zip(times["stock"], times["patched"])]),
            "again": interval([a / b for a, b in zip(times["stock"], times["again"])]), "counted": counted}


def served():
    """Products alone by graph replay, over copies of the weights that do not fit the L2 cache, as they are tuned. A graph has
    many products, because each replay begins with a gap of a µs or two."""
    found = {}
    for shape in (*PLAIN, COLD):
        m, n, k, _ = shape
        x, w, bias = operands(*shape)
        copies = [(w.clone(), bias if bias is None else bias.clone()) for _ in range(max(2, min(200, int(200e6 / (2 * n * k)))))]

        def call():
            for weights, own_bias in copies:
                F.linear(x, weights, own_bias)

        repeats = -(-96 // len(copies))
        one = stock_and_patched(call, repeats, 6)
        for name in ("stock_us", "patched_us"):
            one[name] = round(one[name] / len(copies), 3)
        found[str(shape)] = one
    return found


def blocks():
    """A transformer block, before and after, by replay of a graph of as many as a model has: a replay begins with a gap, which is
    1.4 µs longer where the graph keeps plans."""
    found, module = {}, block()
    for batch in BATCHES:
        x = numbers(batch, WIDTH)
        with torch.inference_mode():
            stock = module(x)
            with attune.torch.patched("dispatcher"):
                patched, counted = changes(lambda: module(x))
        one = stock_and_patched(lambda: module(x), LAYERS, 4)
        one |= {"difference": largest_difference(patched, stock), "of a step": counted}
        found[str(batch)] = one
    return found


for part in sys.argv[1:]:
    began = time.perf_counter()
    try:
        found = globals()[part]()
    except Exception:
        found = {"error": traceback.format_exc()[-1500:]}
    attune.torch.unpatch()
    torch.use_deterministic_algorithms(False)
    print(part, json.dumps(found | {"seconds": round(time.perf_counter() - began, 1)}), flush=True)
