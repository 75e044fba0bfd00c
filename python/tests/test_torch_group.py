# SPDX-License-Identifier: MIT
"""attune.torch.patch(group=...): ranks of a process group, one with a slow compiler, run the same kernels."""

import os
import unittest

import attune
from attune._tune import program
from scripts import run_script

try:
    import torch.distributed
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch
import ranks

if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    raise unittest.SkipTest("this PyTorch has no gloo")

START = "from rank_program import *\n"


class TheSameKernels(ranks.RanksOnADevice):
    def test_two_ranks(self):
        self.check_that_they_agree(program(), 2)

    def test_two_ranks_with_kernels_at_the_dispatcher(self):
        try:
            attune.torch.operators()
        except attune.errors.UnavailableError as error:
            self.skipTest(f"the kernels cannot be built (libtorch-dev): {error}")
        self.check_that_they_agree(program(), 2, way="dispatcher")

    def test_four_ranks(self):
        self.check_that_they_agree(program(), 4)

    def test_without_a_group_they_differ(self):
        self.check_that_they_differ(program(), 2)


class ARankThatDies(ranks.Ranks):
    def test_the_others_get_an_error_and_serve_as_before(self):
        program = """
join(timeout_s=10)
attune.torch.patch("python", group=True, untuned=True)
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
"""
        for rank in self.start(2, ("-c", START + program)):
            self.output(rank)


class AGroup(unittest.TestCase):
    def run_program(self, text):
        folder = str(ranks.PROGRAM.parent)
        return run_script(
            self, START, text, {**os.environ, "RANK": "0", "SIZE": "1", "SHARED": ".", "PYTHONPATH": folder}
        )

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
