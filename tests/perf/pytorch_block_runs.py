# SPDX-License-Identifier: MIT
"""Runs of tests/perf/pytorch_block: processes of PyTorch in turns, several of one side at once."""
import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from served_runs import environment_of
from served_statistics import Figures, is_clean
from served_turns import PAUSE_S, TICKS_PER_S, Application, Round, ServingFailed, busy_ticks, process_ticks, read, wait_until_quiet

WORKER = Path(__file__).resolve().parent / "pytorch_block_worker.py"
SIDES = ("stock", "untuned", "tuned")
PRODUCTS_A_STEP = 4  # Linear layers of the block.


class Worker(Application):
    """A process of tests/perf/pytorch_block_worker.py."""

    def prepare(self):
        """Returns how many products of a step of each block Attune decided on, and how many had no row."""
        word, arrived, misses = self.line()
        if word != "ready":
            raise ServingFailed(f"a worker answered '{word}'")
        return int(arrived), int(misses)

    def begin(self, block, seconds):
        self.process.stdin.write(f"{block} {seconds}\n")
        self.process.stdin.flush()

    def end(self):
        """Returns (steps, seconds, processor seconds)."""
        steps, seconds, cpu = self.line()
        return int(steps), float(seconds), float(cpu)

    def ticks(self):
        return process_ticks(read(f"/proc/{self.process.pid}/stat"))


class Experiment:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.blocks = options.blocks.split(",")
        self.all_threads = len(os.sched_getaffinity(0))
        self.table = Path(options.table).resolve() if options.table else folder / "tuned.csv"
        self.random = random.Random(options.seed)
        self.cpu = {}  # By number of threads: the highest share of a process over an opening.
        self.misses = set()

    def environment(self, threads, side):
        environment = {**environment_of(self.folder), "OMP_NUM_THREADS": str(threads)}
        if "avx512f" in read("/proc/cpuinfo"):
            environment.setdefault("OPENBLAS_CORETYPE", "SkylakeX")  # Debian's OpenBLAS takes a slow one on recent processors.
        if side == "tuned":
            environment["ATTUNE_CONFIG_GEMM_BF16"] = str(self.table)
        return environment

    def command(self, side, *more):
        return [self.options.python, "-B", str(WORKER), "--mode", "stock" if side == "stock" else "patched", *more, *self.blocks]

    def tune(self):
        """Captures the blocks' shapes under both limits and tunes them, with PyTorch's own operator among the candidates."""
        captures = self.folder / "captures"
        for threads in sorted({1, self.all_threads}):
            done = subprocess.run(self.command("untuned", "--capture", str(captures)), env=self.environment(threads, "untuned"),
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ServingFailed(f"the shapes cannot be captured: {done.stderr.strip()[-300:]}")
        operators = subprocess.run([self.options.python, "-m", "attune.torch"], env=environment_of(self.folder), capture_output=True, text=True, check=False)
        if operators.returncode != 0:
            raise ServingFailed(f"PyTorch is no candidate: {operators.stderr.strip()[-300:]}")
        command = [str(Path(self.options.build) / "attune"), "tune", "-i", str(captures / "bf16_untuned_gemm.csv"), "-o", str(self.table),
                   "--journal", str(self.folder / "journal.db"), "--quiet-wait", str(self.options.quiet_wait)]
        command += ["--max-trials", "2", "--iters", "3"] if self.options.quick else []
        environment = {**environment_of(self.folder), "ATTUNE_TORCH_OPERATORS": operators.stdout.strip()}
        status = subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode
        if status not in (0, 1) or not self.table.exists():
            raise ServingFailed(f"attune tune ended with status {status}")

    def open(self, stack, processes, threads):
        workers = {}
        for side in SIDES:
            workers[side] = [stack.enter_context(Worker(self.command(side), self.environment(threads, side), str(self.folder / f"{side}{i}.log")))
                             for i in range(processes)]
            for arrived, misses in [worker.prepare() for worker in workers[side]]:
                if side != "stock" and arrived < PRODUCTS_A_STEP * len(self.blocks):
                    raise ServingFailed(f"{arrived} products of {PRODUCTS_A_STEP * len(self.blocks)} arrived at the patch")
                if side == "tuned" and misses > 0:
                    self.misses.add(f"{misses} products of a step under a limit of {threads} have no row")
        return workers

    def turn(self, workers, block, used):
        """Returns µs a step and process, and the share of the processors that others used."""
        time.sleep(PAUSE_S)  # Threads of the turn before stop spinning.
        cores = os.sched_getaffinity(0)
        own, busy, began = sum(one.ticks() for one in workers), busy_ticks(read("/proc/stat"), cores), time.monotonic()
        for one in workers:
            one.begin(block, self.options.turn_seconds)
        answers = [one.end() for one in workers]
        own, busy = sum(one.ticks() for one in workers) - own, busy_ticks(read("/proc/stat"), cores) - busy
        wall = (time.monotonic() - began) * TICKS_PER_S * len(cores)
        for total, (_, seconds, cpu) in zip(used, answers):
            total[0] += seconds
            total[1] += cpu
        rate = sum(steps / seconds for steps, seconds, _ in answers)
        return 1e6 * len(workers) / rate, max(0.0, (busy - own) / wall)

    def take_round(self, workers, used):
        times, others = {"default": {}, "tuned": {}}, 0.0
        for block in self.random.sample(self.blocks, len(self.blocks)):
            us = {}
            for side in self.random.sample(SIDES, len(SIDES)):
                us[side], share = self.turn(workers[side], block, used[side])
                others = max(others, share)
            for side in SIDES[1:]:
                times["default"][block, side], times["tuned"][block, side] = us["stock"], us[side]
        return Round(times, others)

    def run(self, processes, threads):
        """Figures of one setting, by (block, side): `default` is stock PyTorch, `tuned` the patched side."""
        options, openings = self.options, []
        wanted = -(-options.rounds // options.openings)
        for _ in range(options.openings):
            with ExitStack() as stack:
                workers = self.open(stack, processes, threads)
                wait_until_quiet(options.quiet_wait)
                began, rounds = time.monotonic(), []
                used = {side: [[0.0, 0.0] for _ in workers[side]] for side in SIDES}
                while sum(map(is_clean, rounds)) < wanted and len(rounds) < 2 * wanted:
                    rounds.append(self.take_round(workers, used))
                    if time.monotonic() - began > options.seconds / options.openings:
                        break
            openings.append(rounds)
            highest = max(cpu / wall for side in SIDES[1:] for wall, cpu in used[side])
            self.cpu[threads] = max(self.cpu.get(threads, 0), highest)
        return Figures(openings, [(block, side) for block in self.blocks for side in SIDES[1:]], options.seed)

    def settings(self):
        everything = self.all_threads
        settings = {"2 processes of 1 thread": (2, 1), f"1 process of {everything} threads": (1, everything), "1 process of 1 thread": (1, 1)}
        return settings if everything > 1 else {"1 process of 1 thread": (1, 1)}

    def measure(self):
        if not self.options.table:
            self.tune()
        figures = {}
        for name, (processes, threads) in self.settings().items():
            print(f"  {name}", file=sys.stderr)
            figures[name] = self.run(processes, threads)
        return figures
