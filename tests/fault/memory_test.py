# SPDX-License-Identifier: MIT
"""Little memory on the host: a limited address space, a small cgroup, a small /dev/shm. A shape gets a right row, or is left to the next run with a
reason; no run crashes."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402

MIB = 1 << 20
SHAPE = "M,N,K,dtype\n16,512,512,fp32\n"
TUNE = (str(story.PROGRAM), "tune", "-i", "shapes.csv", "-o", "tuned.csv", "--devices", "cpu:0", "--quiet-wait", "0", "--max-trials", "3",
        "--budget", "8s")
CRASHES = ("bug at", "terminate called", "Segmentation", "Traceback", "std::bad_alloc")


class LittleMemory(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPE)

    def tune_under(self, *prefix, suffices=False):
        """Tunes in a process that the prefix limits. A row that it makes is checked without the limit. `suffices`: it lacks no memory."""
        (self.work / "tuned.csv").unlink(missing_ok=True)
        shutil.rmtree(self.home, ignore_errors=True)
        done = subprocess.run([*prefix, *TUNE], cwd=self.work, env=self.environment(), capture_output=True, text=True, timeout=120)
        said = f"{prefix}: status {done.returncode}\n{done.stdout}{done.stderr}"
        self.assertIn(done.returncode, (0, 1, 3), said)
        for crash in CRASHES:
            self.assertNotIn(crash, done.stderr, said)
        has_row = (self.work / "tuned.csv").exists() and len(self.rows("tuned.csv")) > 0
        if has_row:
            self.assertRegex(self.attune("check", "tuned.csv", "--devices", "cpu:0", "--quiet-wait", "0", status=None).stdout, "1 row: 1 (ok|slower)", said)
        else:
            self.assertNotEqual(done.returncode, 0, said)
            self.assertRegex(done.stderr, "memory|MiB|address space|--budget|the budget", said)
        if suffices:
            self.assertNotRegex(done.stderr, "memory|MiB", said)

    @unittest.skipIf(story.HAS_ADDRESS_SANITIZER, "AddressSanitizer reserves terabytes of address space")
    @unittest.skipUnless(shutil.which("prlimit"), "prlimit is not installed")
    def test_a_limited_address_space(self):
        self.tune_under("prlimit", f"--as={8192 * MIB}", suffices=True)
        for mib in (48, 160, 384, 768, 1536):
            self.tune_under("prlimit", f"--as={mib * MIB}")

    def test_a_small_folder_of_shared_memory(self):
        small = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64m attune-test /dev/shm && exec "$@"', "sh")
        if subprocess.run([*small, "true"], capture_output=True).returncode != 0:
            self.skipTest("mounting a small /dev/shm is not permitted here")
        self.tune_under(*small, suffices=True)

    def test_a_small_cgroup(self):
        root = Path("/sys/fs/cgroup")
        first, second = root / "memory" / f"attune_test_{os.getpid()}", root / f"attune_test_{os.getpid()}"
        group, limit = (first, "memory.limit_in_bytes") if first.parent.exists() else (second, "memory.max")
        try:
            group.mkdir()
            self.addCleanup(group.rmdir)
            (group / limit).write_text(str(1024 * MIB))
        except OSError as error:
            self.skipTest(f"a cgroup with a limit is not permitted here: {error.strerror}")
        enter = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group))
        for mib in (1024, 384, 96):
            (group / limit).write_text(str(mib * MIB))
            self.tune_under(*enter)


if __name__ == "__main__":
    unittest.main()
