# SPDX-License-Identifier: MIT
"""attune.torch.patch(group=...): ranks of a process group, one with a slow compiler, run the same kernels."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import attune
from attune._tune import program
from scripts import run_script

try:
    import torch.distributed
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    raise unittest.SkipTest("this PyTorch has no gloo")

# Shapes by number of rows; w has 96 rows of 256.
N, K, SHAPES = 96, 256, (3, 4)
PROBLEM = "gemm_a16w16 m={} n=96 k=256 dtype=fp32"

START = """
import datetime, hashlib, json, os, sys, time
import torch, torch.distributed as dist
import attune, attune.torch

def join(timeout_s=60):
    meeting = os.path.abspath(os.path.join(os.environ["SHARED"], "meeting"))
    dist.init_process_group(
        "gloo", init_method="file://" + meeting, rank=int(os.environ["RANK"]), world_size=int(os.environ["SIZE"]),
        timeout=datetime.timedelta(seconds=timeout_s),
    )

torch.set_num_threads(1)
torch.set_grad_enabled(False)
numbers = torch.Generator().manual_seed(1)
w = torch.rand(96, 256, generator=numbers) - 0.5
rows = {m: torch.rand(m, 256, generator=numbers) - 0.5 for m in (3, 4)}

def step(m):
    '''What served the shape, and a digest of the result's bits.'''
    y = torch.nn.functional.linear(rows[m], w)
    lines = attune.explain(f"gemm_a16w16 m={m} n=96 k=256 dtype=fp32").splitlines()
    by = lines[-1].removeprefix("served by").strip()
    kernel = lines[0].split()[-1] if by == "exact" else by.removeprefix("the untuned config ").split()[0]
    if os.environ.get("GROUPED") == "1":  # Else what serves may change between the two.
        # What explain() says is what has computed it: the kernel gives the same bits when it is called by its name.
        again = torch.empty_like(y)
        attune.run(f"gemm_a16w16 m={m} n=96 k=256 dtype=fp32", kernel, [rows[m], w, again])
        assert torch.equal(again, y), kernel
    return kernel, hashlib.sha256(y.numpy().tobytes()).hexdigest()
"""

STEPS = """
tables = json.loads(os.environ["TABLES"])
final = dict(zip((3, 4), tables["kernels"][1]))
join()
is_grouped = os.environ["GROUPED"] == "1"
attune.torch.patch(os.environ["WAY"], group=True if is_grouped else None)
seen, at, changed_at, deadline = [], 0, None, time.monotonic() + (90 if is_grouped else 15)
while True:
    # The second shape is called later, and on the first rank first.
    served = {m: step(m) for m in ((3,) if at < 10 + 5 * int(os.environ["RANK"]) else (3, 4))}
    seen.append(served)
    if is_grouped:
        attune.torch.sync()
    has_first = served[3][0] == tables["kernels"][0][0]
    has_last = all(served.get(m, [None])[0] == kernel for m, kernel in final.items())
    # This is the application's own collective, which ends the loop on all ranks in the same step.
    state = torch.tensor([has_first, has_last, time.monotonic() < deadline], dtype=torch.int64)
    dist.all_reduce(state, dist.ReduceOp.MIN)
    if state[0] and changed_at is None:
        changed_at = at
        if os.environ["RANK"] == "0":
            os.replace(tables["next"], tables["file"])
    if state[1] or not state[2]:
        break
    at += 1
    time.sleep(0.02)
print(json.dumps([{str(m): one for m, one in served.items()} for served in seen]))
"""


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune_group_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, text, size, **variables):
        """Starts the ranks, each with state and kernels of its own. The compiler of the last one takes a second more."""
        slow = self.folder / "slow_cc"
        slow.write_text('#!/bin/sh\ncase "$*" in *--version*) ;; *) sleep 1;; esac\nexec gcc "$@"\n')
        slow.chmod(0o700)
        ranks = []
        for rank in range(size):
            own = self.folder / f"rank{rank}"
            own.mkdir()
            if variables.get("WAY") == "dispatcher":
                shutil.copytree(Path(attune.torch.operators()).parents[1], own / "kernels" / "torch")
            environment = dict(
                os.environ, RANK=str(rank), SIZE=str(size), SHARED=str(self.folder), ATTUNE_HOME=str(own / "home")
            )
            environment.update(variables, ATTUNE_CACHE=str(own / "kernels"), GLOO_SOCKET_IFNAME="lo")
            if rank == size - 1:
                environment["ATTUNE_CC"] = str(slow)
            ranks.append(
                subprocess.Popen(
                    [sys.executable, "-c", START + text],
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


class TheSameKernels(Ranks):
    def candidates(self):
        """Two generated kernels for each shape; they need a compiler each."""
        by_shape = []
        for m in SHAPES:
            listed = subprocess.run(
                [program(), "list", "candidates", PROBLEM.format(m), "--threads", "1", "--device", "cpu:0"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            all_of_jit = [line.strip() for line in listed.splitlines() if line.strip().startswith("jit_cpu.gemm@")]
            unrolled = [[one for one in all_of_jit if f"unroll={by};width=1" in one][:1] for by in (1, 4)]
            by_shape.append([one[0] for one in unrolled if one])
        if any(len(kernels) < 2 for kernels in by_shape):
            self.skipTest("there are no generated kernels for this processor")
        return by_shape

    def trace(self, size, grouped, way="python"):
        """Of each rank, what served its shapes in each step; and the kernels of the first and of the second table."""
        by_shape = self.candidates()
        devices = subprocess.run([program(), "list", "devices", "--json"], capture_output=True, text=True, check=True)
        gfx = next(one["gfx"] for one in json.loads(devices.stdout) if one["id"] == "cpu:0")
        # The second table gives each shape another kernel.
        kernels = [[of_shape[which] for of_shape in by_shape] for which in (0, 1)]
        for name, of_shapes in zip(("tuned.csv", "next.csv"), kernels):
            rows = [f"{gfx},1,{m},{N},{K},torch.float32,torch.float32,1,{k}\n" for m, k in zip(SHAPES, of_shapes)]
            (self.folder / name).write_text("gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + "".join(rows))
        table = str(self.folder / "tuned.csv")
        tables = json.dumps({"kernels": kernels, "file": table, "next": str(self.folder / "next.csv")})
        ranks = self.start(
            STEPS, size, TABLES=tables, ATTUNE_CONFIG_GEMM_BF16=table, GROUPED="1" if grouped else "0", WAY=way
        )
        # PyTorch's gloo writes lines of its own before (2.9).
        return [json.loads(self.output(rank).splitlines()[-1]) for rank in ranks], kernels

    def check(self, size, way="python"):
        ranks, kernels = self.trace(size, True, way)
        self.assertEqual({len(steps) for steps in ranks}, {len(ranks[0])})
        for at, of_ranks in enumerate(zip(*ranks)):
            for m in map(str, SHAPES):
                served = {tuple(one[m]) for one in of_ranks if m in one}
                self.assertLessEqual(len(served), 1, f"step {at}, {m} rows")
        of_first_shape = [step["3"][0] for step in ranks[0]]
        changes = [kernel for at, kernel in enumerate(of_first_shape) if at == 0 or of_first_shape[at - 1] != kernel]
        self.assertEqual([changes[1], changes[-1]], [kernels[0][0], kernels[1][0]], changes)
        self.assertEqual(ranks[0][-1]["4"][0], kernels[1][1])

    def test_two_ranks(self):
        self.check(2)

    def test_two_ranks_with_kernels_at_the_dispatcher(self):
        try:
            attune.torch.operators()  # The ranks get a copy, each into its own cache.
        except attune.errors.UnavailableError as error:
            self.skipTest(f"the kernels cannot be built (libtorch-dev): {error}")
        self.check(2, "dispatcher")

    def test_four_ranks(self):
        self.check(4)

    def test_without_a_group_they_differ(self):
        ranks, _ = self.trace(2, grouped=False)
        different = [at for at, (one, other) in enumerate(zip(*ranks)) if one["3"] != other["3"]]
        self.assertGreater(len(different), 5, "this is what a group is there for")


class ARankThatDies(Ranks):
    def test_the_others_get_an_error_and_serve_as_before(self):
        ranks = self.start(
            """
join(timeout_s=10)
attune.torch.patch("python", group=True)
for at in range(3):
    before = step(3)
    attune.torch.sync()
if os.environ["RANK"] == "1":
    os._exit(0)
began = time.monotonic()
try:
    attune.torch.sync()
    raise SystemExit("nobody noticed")
except RuntimeError:
    pass
assert time.monotonic() - began < 30
assert step(3) == before
attune.torch.unpatch()
os._exit(0)
""",
            2,
        )
        for rank in ranks:
            self.output(rank)


class AGroup(unittest.TestCase):
    def run_program(self, text):
        return run_script(self, START, text, {**os.environ, "RANK": "0", "SIZE": "1", "SHARED": "."})

    def test_is_named_once_and_needed_for_sync(self):
        self.run_program(
            """
            def refused(call):
                try:
                    call()
                except ValueError as error:
                    return str(error)
                raise SystemExit("it was taken")

            assert "init_process_group" in refused(lambda: attune.torch.patch("python", group=True))
            assert "there is no group" in refused(attune.torch.sync)
            join()
            attune.torch.patch("python")
            assert "without this group" in refused(lambda: attune.torch.patch(group=True))
            assert "there is no group" in refused(attune.torch.sync)
            attune.torch.unpatch()
            with attune.torch.patched("python", group=True):
                attune.torch.patch("python", group=True)
                assert "without this group" in refused(lambda: attune.torch.patch(group=object()))
                step(3)
                attune.torch.sync()
                assert attune.torch.sync() is False
            assert "there is no group" in refused(attune.torch.sync)
            """
        )

    def test_different_tables_serve_no_rows_and_are_named(self):
        self.run_program(
            """
            from attune import _attune
            _attune.hold_changes()
            own = _attune.report_changes()[2]
            lines = own.splitlines(keepends=True)
            other = "".join("waiting\\t0\\n" if line.startswith("waiting") else line for line in lines)
            has_changed, differences = _attune.apply_changes([own, other])
            assert not has_changed
            assert differences == ["no rows serve, because rank 1 reads other tables or bans than rank 0"], differences
            try:
                _attune.apply_changes([own, "hello\\f"])
                raise SystemExit("it was taken")
            except attune.errors.InvalidInputError:
                pass
            _attune.release_changes()
            """
        )


if __name__ == "__main__":
    unittest.main()
