# SPDX-License-Identifier: MIT
"""attune.torch with kernels that torch.library registers: the tests of the compiled ones, and what only these have."""

import threading
import unittest
import warnings

import attune
import test_torch_dispatcher as compiled
from test_torch_dispatcher import F, torch
from torch_patches import Patched, numbers


class WhatArrives(compiled.WhatArrives):
    way = "library"


class WhatIsPyTorchs(compiled.WhatIsPyTorchs):
    way = "library"


class Gradients(compiled.Gradients):
    way = "library"


class OfThisWay(Patched):
    way = "library"

    def test_what_status_says(self):
        wanted = {"way": "library", "why": "the way 'library' was asked for"}
        wanted |= {"why_no_cuda": "the way 'library' serves host tensors alone", "captured_stand_ins": 0}
        self.assertEqual(attune.torch.status(), wanted)

    def test_pytorch_does_not_warn_of_what_was_asked_for(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                attune.torch.unpatch()
                self.patch()
        self.assertEqual([str(one.message) for one in caught], [])

    def test_the_gil_is_free_while_a_product_runs(self):
        x, w, has_run = numbers(1500, 1500), numbers(1500, 1500), threading.Event()
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        turns, ends = 0, threading.Event()

        def count():
            nonlocal turns
            has_run.set()
            while not ends.is_set():
                turns += 1

        counting = threading.Thread(target=count)
        counting.start()
        has_run.wait()
        before = turns
        for _ in range(5):
            torch.mm(x, w)
        during = turns - before
        ends.set()
        counting.join()
        # Five changes of the GIL's owner, of 5 ms each, would be a tenth of it.
        self.assertGreater(during, 200_000)

    def test_threads_that_a_product_changes_are_pytorchs_own_again(self):
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        x, w, bias = numbers(64, 256), numbers(128, 256), numbers(128)
        for threads in (1, 2, 1, before):
            torch.set_num_threads(threads)
            _, counted = self.counted(lambda: F.linear(x, w, bias))
            self.assertEqual(counted, {"routed": 1})
            self.assertEqual(torch.get_num_threads(), threads)


if __name__ == "__main__":
    unittest.main()
