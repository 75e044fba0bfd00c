# SPDX-License-Identifier: MIT
"""attune.torch where patch() is interrupted, or a process forks while another thread is inside it."""

import time
import unittest

import attune

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch
from test_torch_processes import START, Processes

FORKS = """
import fcntl, signal, threading, time
from unittest import mock
from attune import _attune, _torch_build

def succeeds_in_a_child(call, seconds=30):
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)  # Ends a child that waits for a lock.
        try:
            call()
        except BaseException as error:
            print(type(error), error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

def join():
    torch.distributed.init_process_group("gloo", init_method="file://" + os.path.abspath("meeting"), rank=0, world_size=1)

def holds_changes():
    return _attune.report_changes()[2] != ""
"""
HAS_GLOO = torch.distributed.is_available() and torch.distributed.is_gloo_available()


class WithForks(Processes):
    def start(self, text, start=START + FORKS, **variables):
        return super().start(text, start=start, **variables)


@unittest.skipUnless(HAS_GLOO, "this PyTorch has no gloo")
class APatchThatFails(WithForks):
    def test_an_interrupted_one_gives_the_group_back(self):
        self.run_script(
            """
            join()
            try:
                with mock.patch.object(_torch_build, "build", side_effect=KeyboardInterrupt):
                    attune.torch.patch("dispatcher", group=True)
                raise SystemExit("it was not interrupted")
            except KeyboardInterrupt:
                pass
            assert not holds_changes()
            assert attune.torch.status()["way"] == ""
            attune.torch.patch("python", group=True)
            assert holds_changes()
            attune.torch.unpatch()
            assert not holds_changes()
            """
        )

    def test_ranks_that_are_gone_leave_pytorch_unpatched(self):
        self.run_script(
            """
            join()
            stock = F.linear
            try:
                with mock.patch.object(attune.torch._torch_group.RankGroup, "exchange", side_effect=RuntimeError("gone")):
                    attune.torch.patch("python", group=True)
                raise SystemExit("nobody noticed")
            except RuntimeError as error:
                assert str(error) == "gone"
            assert F.linear is stock
            assert not holds_changes()
            assert attune.torch.status()["way"] == ""
            """
        )


class AChildOfFork(WithForks):
    """Of a process another thread of which is inside patch()."""

    def test_patches_while_another_thread_of_its_parent_does(self):
        self.run_script(
            """
            compiles, ends = threading.Event(), threading.Event()

            def build(torch):
                compiles.set()
                ends.wait()
                raise _torch_build.NotBuilt("no compiler")

            def patch():
                attune.torch.patch("python")
                assert (F.linear(x, w) == 64).all() and attune.torch.calls()["no_row"] == 1
                attune.torch.unpatch()

            with mock.patch.object(_torch_build, "build", build):
                patching = threading.Thread(target=lambda: attune.torch.patch(), daemon=True)
                patching.start()
                compiles.wait()
                succeeded = succeeds_in_a_child(patch)
                ends.set()
                patching.join()
            assert succeeded
            assert attune.torch.status()["way"] == second_way
            """
        )

    @unittest.skipUnless(HAS_GLOO, "this PyTorch has no gloo")
    def test_gives_back_what_the_other_thread_held(self):
        self.run_script(
            """
            join()
            compiles = threading.Event()

            def build(torch):
                compiles.set()
                time.sleep(600)

            def patch():
                assert holds_changes()
                attune.torch.patch("python")
                assert not holds_changes()

            with mock.patch.object(_torch_build, "build", build):
                threading.Thread(target=lambda: attune.torch.patch(group=True), daemon=True).start()
                compiles.wait()
                assert succeeds_in_a_child(patch)
            os._exit(0)
            """
        )

    def test_reports_changes_while_another_thread_of_its_parent_applies_some(self):
        self.run_script(
            r"""
            ends = threading.Event()

            def apply():
                while not ends.is_set():
                    _attune.apply_changes(["\f" * 2_000_000])  # Takes long, and changes nothing.

            applying = threading.Thread(target=apply)
            applying.start()
            time.sleep(0.1)
            succeeded = all(succeeds_in_a_child(_attune.report_changes) for _ in range(5))
            ends.set()
            applying.join()
            assert succeeded
            """
        )

    def test_keeps_no_lock_of_a_build(self):
        compiler = self.compiler(f'while [ ! -e "{self.folder}/go_on" ]; do sleep 0.05; done\necho "error: no such thing"; exit 1')
        child = self.start(
            """
            def patch():
                try:
                    attune.torch.patch("dispatcher")
                except attune.errors.UnavailableError:
                    pass

            patching = threading.Thread(target=patch)
            patching.start()
            while not os.path.exists("compilations") and patching.is_alive():
                time.sleep(0.01)
            time.sleep(1)  # subprocess closes its own pipe, which a child would keep open, a moment after the compiler began.
            if os.fork() == 0:
                while not os.path.exists("end"):
                    time.sleep(0.05)
                os._exit(0)
            open("go_on", "w").close()
            patching.join()
            open("has_failed", "w").close()
            """,
            ATTUNE_CXX=compiler,
        )
        self.addCleanup((self.folder / "end").touch)
        deadline = time.monotonic() + 180
        while not (self.folder / "has_failed").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.run_script(
            """
            signal.alarm(30)
            try:
                attune.torch.patch("dispatcher")
                raise SystemExit("there is a compiler")
            except attune.errors.UnavailableError as error:
                assert "no such thing" in str(error) or "has no headers here" in str(error), error
            """,
            ATTUNE_CXX=compiler,
        )
        (self.folder / "end").touch()
        self.end(child)
        self.assertLessEqual(self.num_compilations(), 1)


if __name__ == "__main__":
    unittest.main()
