# SPDX-License-Identifier: MIT
"""What quantising gains: each family's tuned kernel against the best bf16 kernel of the same layer with packed weights.

tests/perf/quantised --pays tunes both for every layer and times them here in turns, in one process, with the weights cold."""
import array
import ctypes
import itertools
import json
import mmap
import random
import subprocess
import time
from pathlib import Path

from paired_rounds import ratio_of
from served_statistics import Ratio, stated_mean
from served_turns import wait_until_quiet

# The ten largest (N, K) of 16 to 64 Mi in the untuned lists of ROCm/aiter (MIT), the largest first.
LAYERS = ((8192, 8192), (16384, 4096), (9216, 7168), (12800, 5120), (7168, 8192), (8192, 7168), (2304, 16384), (6144, 6144),
          (9216, 4096), (16384, 2048))
ROWS = (1, 2, 4, 8)
MAX_FP8_ROWS = 2
WARM_ROUNDS, ROUNDS = 4, 40
QUIET_S = 30  # Longest wait for idle processors.
COLD_BYTES = 128 << 20  # Weights of this size pass before a copy is read again: four times a cache of 32 MiB.
EXACT, COMPILE_BLOCKING = 0, 2


def fp32(count):
    return array.array("f", (random.uniform(0.01, 0.1) for _ in range(count))).tobytes()


def bf16(count):
    """Numbers of magnitude 0.5 to 1."""
    return array.array("H", (random.getrandbits(16) & 0x807F | 0x3F00 for _ in range(count))).tobytes()


def fp8(count):
    """Any numbers, no NaN."""
    return random.randbytes(count).replace(b"\x7f", b"\x3f").replace(b"\xff", b"\x3f")


def e8m0(count):
    return bytes(random.randint(120, 126) for _ in range(count))


def blocks(k):
    return -(-k // 32)


class Side:
    """One of the two products of a layer. Operands are (bytes, source of data); `weights`: those that a layer keeps."""

    def __init__(self, op, stem, header, cells, attributes, weights, activations, is_packed):
        self.op, self.stem, self.header, self.cells, self.attributes = op, stem, header, cells, attributes
        self.weights, self.activations, self.is_packed = weights, activations, is_packed

    def problem(self, m, n, k):
        return f"{self.op} m={m} n={n} k={k} {self.attributes}".rstrip()


BF16 = Side("gemm_a16w16", "bf16", "bias,dtype,outdtype,scaleAB,bpreshuffle", "False,torch.bfloat16,torch.bfloat16,False,True",
            "dtype=bf16 bpreshuffle=1", lambda n, k: [(2 * n * k, bf16)], lambda m, k: [(2 * m * k, bf16)], True)
FAMILIES = {
    "int8": Side("gemm_a8w8", "a8w8_int8", "q_dtype_w", "torch.int8", "q_dtype_w=int8",
                 lambda n, k: [(n * k, random.randbytes), (4 * n, fp32)], lambda m, k: [(m * k, random.randbytes), (4 * m, fp32)], False),
    "fp8": Side("gemm_a8w8", "a8w8_fp8", "q_dtype_w", "torch.float8_e4m3fn", "q_dtype_w=e4m3fn",
                lambda n, k: [(n * k, fp8), (4 * n, fp32)], lambda m, k: [(m * k, fp8), (4 * m, fp32)], False),
    "mxfp4": Side("gemm_a4w4_blockscale", "a4w4_blockscale", "bpreshuffle", "True", "bpreshuffle=1",
                  lambda n, k: [(n * k // 2, random.randbytes), (n * blocks(k), e8m0)],
                  lambda m, k: [(m * k // 2, random.randbytes), (m * blocks(k), e8m0)], True),
}


def rows_of(family):
    return [m for m in ROWS if family != "fp8" or m <= MAX_FP8_ROWS]


class Key(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("op", ctypes.c_uint32), ("num_values", ctypes.c_uint32), ("values", ctypes.c_int64 * 32)]


class Hit(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("match", ctypes.c_uint32), ("row", ctypes.c_uint32), ("ready", ctypes.c_uint8),
                ("is_stand_in", ctypes.c_uint8), ("drifted", ctypes.c_uint8), ("regret_percent", ctypes.c_uint8),
                ("reserved", ctypes.c_uint8 * 4)]


class Table(ctypes.Structure):
    _fields_ = [("op", ctypes.c_char_p), ("file", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("capture", ctypes.c_char_p),
                ("tables", ctypes.POINTER(Table)), ("num_tables", ctypes.c_size_t), ("poll_interval_ms", ctypes.c_int64),
                ("max_plans", ctypes.c_uint64), ("compile_mode", ctypes.c_uint32), ("lookup_only", ctypes.c_uint8),
                ("log_hits", ctypes.c_uint8), ("online_tuning", ctypes.c_uint8), ("reserved", ctypes.c_uint8),
                ("max_regret", ctypes.c_double), ("max_plan_bytes", ctypes.c_uint64), ("threads", ctypes.c_int32),
                ("require", ctypes.c_uint32), ("workspaces", ctypes.c_void_p), ("graph_wait_ms", ctypes.c_int64)]


class Unserved(Exception):
    """No row of the tables serves a problem."""


class Library:
    """libattune with a dispatcher over these tables [(op, file)]."""

    def __init__(self, file, tables):
        self.calls = ctypes.CDLL(str(file))
        self.calls.attune_last_error.restype = ctypes.c_char_p
        named = (Table * len(tables))(*(Table(op.encode(), str(path).encode()) for op, path in tables))
        options = Options(ctypes.sizeof(Options), tables=named, num_tables=len(tables), compile_mode=COMPILE_BLOCKING)
        self.dispatcher = ctypes.c_void_p()
        self.check(self.calls.attune_open(ctypes.byref(options), ctypes.byref(self.dispatcher)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.calls.attune_last_error().decode())

    def key(self, problem):
        key = Key(ctypes.sizeof(Key))
        self.check(self.calls.attune_parse_key(problem.encode(), ctypes.byref(key)))
        return key

    def pack(self, key, operands):
        packed = ctypes.c_void_p()
        self.check(self.calls.attune_pack_weights_key(self.dispatcher, ctypes.byref(key), pointers(operands),
                                                      ctypes.c_size_t(len(operands)), None, ctypes.byref(packed)))
        return packed

    def require(self, key, packed, problem):
        hit = Hit(ctypes.sizeof(Hit))
        self.check(self.calls.attune_require_key(self.dispatcher, ctypes.byref(key), packed, ctypes.byref(hit)))
        if hit.match != EXACT or not hit.ready or hit.is_stand_in:
            raise Unserved(f"no row serves {problem}")

    def close(self):
        self.check(self.calls.attune_close(self.dispatcher))


def pointers(operands):
    return (ctypes.c_void_p * len(operands))(*(ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in operands))


def filled(count, source):
    """A memory map, whose pages align it, with data that repeats after 64 KiB."""
    memory = mmap.mmap(-1, count, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece = source(1 << 16)[: 1 << 16]
    for start in range(0, count, len(piece)):
        memory[start : start + len(piece)] = piece[: count - start]
    return memory


class Served:
    """A layer whose product is served from the tables: copies of its weights, packed if its side packs them."""

    def __init__(self, library, side, n, k):
        self.library, self.side, self.n, self.k = library, side, n, k
        first = library.key(side.problem(1, n, k))
        self.plain, self.packed = [], []
        total = sum(size for size, _ in side.weights(n, k))
        for _ in range(max(2, -(-COLD_BYTES // total))):
            weights = [filled(*one) for one in side.weights(n, k)]
            if side.is_packed:
                self.packed.append(library.pack(first, weights))
            else:
                self.plain.append(weights)

    def calls(self, m):
        """An endless iterator of calls, each on the next copy of the weights."""
        problem = self.side.problem(m, self.n, self.k)
        key, out = self.library.key(problem), filled(2 * m * self.n, bf16)
        activations = [filled(*one) for one in self.side.activations(m, self.k)]
        copies = self.packed or [None] * len(self.plain)
        self.library.require(key, copies[0], problem)
        run, dispatcher = self.library.calls.attune_run_key, self.library.dispatcher
        bound = []
        for number, packed in enumerate(copies):
            operands = [*activations, out]
            if packed is None:  # In the order of the op: a, b, a_scale, b_scale, c.
                pairs = zip(activations, self.plain[number])
                operands = [*itertools.chain.from_iterable(pairs), out]
            bound.append((packed, pointers(operands), ctypes.c_size_t(len(operands)), operands))

        def call(packed, addresses, count, _):
            self.library.check(run(dispatcher, ctypes.byref(key), packed, addresses, count, None))

        return (lambda one=one: call(*one) for one in itertools.cycle(bound))

    def close(self):
        for packed in self.packed:
            self.library.check(self.library.calls.attune_free_weights(packed))


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def time_pairs(quantised, unquantised, m):
    """[(quantised, bf16)] seconds of calls in turns; the first of a turn is drawn."""
    sides, order, pairs = (quantised.calls(m), unquantised.calls(m)), random.Random(m), []
    wait_until_quiet(QUIET_S)
    for number in range(WARM_ROUNDS + ROUNDS):
        times = {}
        for side in order.sample((0, 1), 2):
            times[side] = seconds(next(sides[side]))
        if number >= WARM_ROUNDS:
            pairs.append((times[0], times[1]))
    return pairs


def tune(options, side, ms, layer):
    """Tunes one layer; a row that is there is not tuned again. Returns the table."""
    n, k = layer
    shapes, table = (options.folder / f"{side.stem}_{n}x{k}_{kind}_gemm.csv" for kind in ("untuned", "tuned"))
    shapes.write_text(f"M,N,K,{side.header}\n" + "".join(f"{m},{n},{k},{side.cells}\n" for m in ms))
    subprocess.run([options.attune, "tune", "--op", side.op, "-i", shapes, "-o", table, "--budget",
                    f"{60 * options.minutes // options.layers}s", "--max-trials", str(options.trials), "--quiet-wait", str(QUIET_S),
                    "--journal", options.folder / "journal.sqlite"], check=False)
    return table


def read_results(file):
    """{(family, m, n, k): Ratio}"""
    if not file.exists():
        return {}
    lines = map(json.loads, file.read_text().splitlines())
    return {(one["family"], one["m"], one["n"], one["k"]): Ratio(*one["ratio"]) for one in lines}


def report(results):
    for family in FAMILIES:
        for m in ROWS:
            ratios = {key[2:]: ratio for key, ratio in results.items() if key[:2] == (family, m)}
            if ratios:
                worst = min(ratios, key=lambda layer: ratios[layer].value)
                print(f"{family} M={m}: {stated_mean(list(ratios.values()))}× over bf16 with packed weights, {len(ratios)} layers, "
                      f"worst {ratios[worst]}× ({worst[0]}×{worst[1]})", flush=True)


def time_layer(options, layer, families, file):
    """Tunes and times what one layer lacks, and appends each ratio to the file."""
    library = Path(options.attune).resolve().parent / "libattune.so"
    bf16_table = tune(options, BF16, ROWS, layer)
    for family, ms in families.items():
        side = FAMILIES[family]
        tables = [(side.op, tune(options, side, rows_of(family), layer)), (BF16.op, bf16_table)]
        opened = Library(library, [one for one in tables if one[1].exists()])
        served = []
        try:
            served += [Served(opened, side, *layer)]
            served += [Served(opened, BF16, *layer)]
            for m in ms:
                try:
                    pairs = time_pairs(*served, m)
                except Unserved as left_out:
                    print(f"{left_out}: start again to tune it", flush=True)
                    continue
                ratio = ratio_of(pairs)
                line = {"family": family, "m": m, "n": layer[0], "k": layer[1], "ratio": [ratio.value, ratio.low, ratio.high], "pairs": pairs}
                with file.open("a") as results:
                    results.write(json.dumps(line) + "\n")
                print(f"{family} {m}×{layer[0]}×{layer[1]}: {ratio}× over bf16", flush=True)
        finally:
            for one in served:
                one.close()
            opened.close()


def run(options):
    """`options`: folder, attune, family, layers, minutes, trials. A second start continues where the first ended."""
    file = options.folder / "pays.jsonl"
    for layer in LAYERS[: options.layers]:
        done = read_results(file)
        open_rows = {family: [m for m in rows_of(family) if (family, m, *layer) not in done] for family in options.family
                     if family in FAMILIES}
        open_rows = {family: ms for family, ms in open_rows.items() if ms}
        if open_rows:
            time_layer(options, layer, open_rows, file)
        report(read_results(file))
