# SPDX-License-Identifier: MIT
"""For tests of attune.torch at PyTorch's dispatcher: PyTorch patched by one of the ways, and calls compared and counted."""

import unittest

import attune

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch


def numbers(*shape, dtype=torch.float32, seed=1):
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1).to(dtype)


class WithKernels(unittest.TestCase):
    """Skipped where this way of having kernels at the dispatcher cannot be had."""

    way = "dispatcher"

    @classmethod
    def setUpClass(cls):
        try:
            with attune.torch.patched(cls.way):
                pass
        except attune.errors.UnavailableError as error:
            raise unittest.SkipTest(str(error))


class Patched(WithKernels):
    """Without tables: untuned, so that what arrives is computed by Attune."""

    untuned = True

    def setUp(self):
        self.patch()
        self.addCleanup(attune.torch.unpatch)

    def patch(self):
        attune.torch.patch(self.way, untuned=self.untuned)

    def counted(self, call):
        """Returns the call's result, and how the calls were counted: names whose number has changed."""
        before = attune.torch.calls()
        result = call()
        now = attune.torch.calls()
        changed = {name: now[name] - before[name] for name in now if now[name] != before[name]}
        if self.untuned:
            changed.pop("untuned", None)
        return result, changed

    def stock(self, call):
        attune.torch.unpatch()
        try:
            return call()
        finally:
            self.patch()

    def check(self, call, tolerance=1e-5, **wanted):
        """The call is counted as wanted, and its result is PyTorch's."""
        result, counted = self.counted(call)
        self.assertEqual(counted, wanted)
        torch.testing.assert_close(result, self.stock(call), rtol=tolerance, atol=tolerance)
        return result
