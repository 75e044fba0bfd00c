# SPDX-License-Identifier: MIT
"""What the tests of ranks share: rank_program.py as the ranks of a process group, the last with a slow compiler."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PYTHON = os.environ.get("ATTUNE_PYTHON", sys.executable)
PROGRAM = Path(__file__).resolve().parent / "rank_program.py"
# Shapes by number of rows; w has 96 rows of 256.
N, K, SHAPES = 96, 256, (3, 4)
PROBLEM = "gemm_a16w16 m={} n=96 k=256 dtype=fp32"


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune_group_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def slow_compiler(self):
        """Variables with which a rank's kernels take a second more."""
        slow = self.script("slow_cc", 'case "$*" in *--version*) ;; *) sleep 1;; esac\nexec gcc "$@"\n')
        return {"ATTUNE_CC": str(slow)}

    def script(self, name, text):
        file = self.folder / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o700)
        return file

    def device_of(self, rank):
        return "cpu"

    def operators(self):
        """The library of PyTorch's operators, compiled if need be."""
        made = subprocess.run([PYTHON, "-m", "attune.torch"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        return Path(made.stdout.strip())

    def start(self, size, program=(PROGRAM,), **variables):
        """Starts the ranks, each with state and kernels of its own."""
        ranks, slow = [], self.slow_compiler()
        # The ranks get a copy, each into its own cache.
        kernels = self.operators().parents[1] if variables.get("WAY") == "dispatcher" else None
        path = os.pathsep.join(filter(None, (str(PROGRAM.parent), os.environ.get("PYTHONPATH"))))
        for rank in range(size):
            own = self.folder / f"rank{rank}"
            own.mkdir()
            if kernels:
                shutil.copytree(kernels, own / "kernels" / "torch")
            environment = dict(
                os.environ, RANK=str(rank), SIZE=str(size), SHARED=str(self.folder), ATTUNE_HOME=str(own / "home")
            )
            environment.update(variables, ATTUNE_CACHE=str(own / "kernels"), DEVICE=self.device_of(rank))
            environment.update(GLOO_SOCKET_IFNAME="lo", PYTHONPATH=path)
            if rank == size - 1:
                environment.update(slow)
            ranks.append(
                subprocess.Popen(
                    [PYTHON, *program],
                    env=environment,
                    cwd=own,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            self.addCleanup(self.end, ranks[-1])
        return ranks

    def end(self, rank):
        if rank.poll() is None:
            rank.kill()
            rank.communicate()

    def output(self, rank):
        output, log = rank.communicate(timeout=150)
        self.assertEqual(rank.returncode, 0, output + log)
        return output


class RanksOnADevice(Ranks):
    """Two tables one after the other, with generated kernels for a device (`attune list devices`)."""

    device = "cpu:0"
    solver = "jit_cpu.gemm"
    # Each table has the first kernel of either shape whose name has such a part.
    parts = ("unroll=1;width=1", "unroll=4;width=1")
    threads = ("--threads", "1")

    def ask(self, program, *what):
        done = subprocess.run([program, *what], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def candidates(self, program):
        """Two generated kernels for each shape; they need a compiler each."""
        by_shape = []
        for m in SHAPES:
            listed = self.ask(program, "list", "candidates", PROBLEM.format(m), *self.threads, "--device", self.device)
            generated = [line.split()[0] for line in listed.splitlines() if line.strip().startswith(self.solver + "@")]
            found = [[one for one in generated if part in one][:1] for part in self.parts]
            by_shape.append([one[0] for one in found if one])
        if any(len(kernels) < 2 for kernels in by_shape):
            self.skipTest(f"there are no generated kernels for {self.device}")
        return by_shape

    def trace(self, program, size, grouped, way="python", backend="gloo"):
        """Of each rank, what served its shapes in each step; and the kernels of the first and of the second table."""
        by_shape = self.candidates(program)
        devices = json.loads(self.ask(program, "list", "devices", "--json"))
        here = next(one for one in devices if one["id"] == self.device)
        units = 1 if self.threads else here["cu_num"]
        # The second table gives each shape another kernel.
        kernels = [[of_shape[which] for of_shape in by_shape] for which in (0, 1)]
        for name, of_shapes in zip(("tuned.csv", "next.csv"), kernels):
            rows = [
                f"{here['gfx']},{units},{m},{N},{K},torch.float32,torch.float32,1,{kernel}\n"
                for m, kernel in zip(SHAPES, of_shapes)
            ]
            (self.folder / name).write_text("gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + "".join(rows))
        table = str(self.folder / "tuned.csv")
        tables = json.dumps({"kernels": kernels, "file": table, "next": str(self.folder / "next.csv")})
        grouped = "1" if grouped else "0"
        ranks = self.start(
            size, TABLES=tables, ATTUNE_CONFIG_GEMM_BF16=table, GROUPED=grouped, WAY=way, BACKEND=backend
        )
        # PyTorch's gloo writes lines of its own before (2.9).
        return [json.loads(self.output(rank).splitlines()[-1]) for rank in ranks], kernels

    def check_that_they_agree(self, program, size, **how):
        ranks, kernels = self.trace(program, size, True, **how)
        self.assertEqual({len(steps) for steps in ranks}, {len(ranks[0])})
        for at, of_ranks in enumerate(zip(*ranks)):
            for m in map(str, SHAPES):
                served = {tuple(one[m]) for one in of_ranks if m in one}
                self.assertLessEqual(len(served), 1, f"step {at}, {m} rows")
        of_first_shape = [step["3"][0] for step in ranks[0]]
        changes = [kernel for at, kernel in enumerate(of_first_shape) if at == 0 or of_first_shape[at - 1] != kernel]
        self.assertEqual([changes[1], changes[-1]], [kernels[0][0], kernels[1][0]], changes)
        self.assertEqual(ranks[0][-1]["4"][0], kernels[1][1])
        return len(ranks[0]), changes

    def check_that_they_differ(self, program, size, **how):
        ranks, _ = self.trace(program, size, False, **how)
        different = [at for at, of_ranks in enumerate(zip(*ranks)) if len({one["3"][0] for one in of_ranks}) > 1]
        self.assertGreater(len(different), 5, "this is what a group is there for")
        return len(different), len(ranks[0])
