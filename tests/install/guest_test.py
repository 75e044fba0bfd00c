# SPDX-License-Identifier: MIT
"""libattune as a guest of programs that fork, that end while threads are in it, or that have lost their standard error:
guest.c, against the build. $ATTUNE_GUEST_ENDS: how many processes end in the midst of plans (default 25)."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import story

BUILD = Path(os.environ["ATTUNE_BUILD_FOLDER"])
CC = os.environ.get("CC", "cc")
HERE = Path(__file__).resolve().parent
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
PROBLEM = "gemm_a16w16 m=48 n=256 k=256 dtype=fp32"  # As in guest.c.


class AGuest(story.Story):
    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="attune_guest_"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)
        cls.guest = cls.shared / "guest"
        subprocess.run([CC, *STRICT, f"-I{story.REPOSITORY}/include", HERE / "guest.c", "-o", cls.guest, f"-L{BUILD}",
                        "-lattune", f"-Wl,-rpath,{BUILD}", "-lpthread"], check=True, timeout=120)

    def act(self, *arguments, timeout=120, prefix=(), env=None, **how):
        done = subprocess.run([*prefix, str(self.guest), *map(str, arguments)], cwd=self.work, timeout=timeout, text=True,
                              env=self.environment(**(env or {})), capture_output=True, **how)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def candidates(self):
        """One of each solver, of two threads where it has such."""
        listed = self.attune("list", "candidates", PROBLEM, "--json").json
        every = {one["solver"]: one["candidates"] for one in listed if one["supported"] and one["candidates"]}
        return [next((name for name in names if "threads=2" in name), names[0]) for names in every.values()]

    # -- fork() ------------------------------------------------------------------------------------------------------

    def test_children_of_fork_compute_after_every_solver(self):
        candidates = self.candidates()
        self.assertTrue(any("portable" in name for name in candidates))
        for candidate in candidates:
            with self.subTest(candidate):
                self.act("fork", candidate)

    # -- the end of the process ----------------------------------------------------------------------------------------

    def test_processes_end_while_threads_make_plans(self):
        for i in range(int(os.environ.get("ATTUNE_GUEST_ENDS", "25"))):
            self.act("exit", i * 7 % 60)

    def test_a_process_that_joins_its_threads_at_its_end_ends(self):
        for after_ms in (0, 1, 40):
            self.act("join", after_ms, timeout=60)


if __name__ == "__main__":
    story.main()
