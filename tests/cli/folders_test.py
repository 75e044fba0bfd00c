# SPDX-License-Identifier: MIT
"""Folders that a user may not use: one sentence that says what to set, and one exit status."""
import os
import subprocess

import story

NOBODY = 65534


class ClosedFolders(story.Story):
    """The program runs as another user, because root may use every folder."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.closed = self.folder / "closed"
        self.closed.mkdir()
        if os.geteuid() == 0:
            probe = subprocess.run([story.PROGRAM, "--version"], user=NOBODY, group=NOBODY, extra_groups=[],
                                   capture_output=True) if self.may_be_run() else None
            if probe is None or probe.returncode != 0:
                self.skipTest("another user may not run the program here")
        self.closed.chmod(0)
        self.addCleanup(self.closed.chmod, 0o700)

    def may_be_run(self):
        return all(parent.stat().st_mode & 0o001 for parent in story.PROGRAM.parents)

    def refusal(self, *arguments, **variables):
        """The one sentence with which a command ends with status 2."""
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {**self.environment(), **variables}
        environment = {name: value for name, value in environment.items() if value}
        done = subprocess.run([story.PROGRAM, *arguments], cwd="/", env=environment, capture_output=True, text=True, timeout=30,
                              **other)
        self.assertEqual(done.returncode, 2, f"{arguments}: {done}")
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), f"{arguments}: {done}")
        return done.stderr

    def test_a_cache_that_cannot_be_read_is_not_empty(self):
        for action in ("list", "clear"):
            self.assertIn("cannot access the kernel cache (Permission denied), choose another with ATTUNE_CACHE",
                          self.refusal("kernels", action, "--cache", str(self.closed)))
            self.assertIn("choose another with ATTUNE_CACHE", self.refusal("kernels", action, ATTUNE_CACHE=str(self.closed)))

    def test_a_home_folder_that_cannot_be_used_is_one_error_of_all_commands(self):
        home = {"HOME": str(self.closed), "ATTUNE_HOME": "", "ATTUNE_CACHE": ""}
        for command in (("journal", "show"), ("quarantine", "list"), ("status",), ("capture", "show"), ("coverage",),
                        ("explain", "gemm_a16w16 m=1 n=8 k=8 dtype=fp32", "--devices", "fake:0"),
                        ("tune", "-m", "1", "-n", "8", "-k", "8", "--devices", "fake:0", "-o", "/t.csv")):
            self.assertIn("this user may not use the folder that HOME leads to, set ATTUNE_HOME to a folder for state and "
                          "ATTUNE_CACHE to one for kernels: '", self.refusal(*command, **home))


if __name__ == "__main__":
    story.main()
