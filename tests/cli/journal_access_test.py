# SPDX-License-Identifier: MIT
"""Journals that cannot be written, locked or waited for: readers read, and every wait has a reason and an end."""
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

import story
from story import FAKE

SIZE = ("-m", "4", "-n", "64", "-k", "64", "--dtype", "fp32")
PROBLEM = "gemm_a16w16 m=4 n=64 k=64 dtype=fp32"
NOBODY = 65534
# fcntl() as on a network file system whose lock daemon is not there.
NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#define REFUSING(name)                                                             \\
  int name(int file, int command, ...) {                                           \\
    va_list all;                                                                   \\
    va_start(all, command);                                                        \\
    void* argument = va_arg(all, void*);                                           \\
    va_end(all);                                                                   \\
    if ((command == F_SETLK || command == F_SETLKW) && ((struct flock*)argument)->l_type != F_UNLCK) \\
      return errno = ENOLCK, -1;                                                   \\
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #name))(file, command, argument); \\
  }
REFUSING(fcntl)
REFUSING(fcntl64)
"""


class Journals(story.Story):
    def setUp(self):
        super().setUp()
        self.tune(*SIZE)
        self.journal = self.home / "journal.db"


@unittest.skipUnless(os.geteuid() == 0, "only root can read as another user")
class OfAnotherUser(Journals):
    def setUp(self):
        super().setUp()
        self.kept = self.folder / "kept"
        self.kept.mkdir()
        shutil.copy(self.journal, self.kept / "journal.db")
        for path in (self.folder, self.kept):
            path.chmod(0o755)
        (self.kept / "journal.db").chmod(0o644)
        self.theirs = self.folder / "theirs"
        self.theirs.mkdir()
        os.chown(self.theirs, NOBODY, NOBODY)

    def as_nobody(self, *arguments):
        """Runs the program as a user who may read the journal and write nothing beside it."""
        environment = {"PATH": os.environ["PATH"], "ATTUNE_HOME": str(self.home), "ATTUNE_CACHE": str(self.theirs), "HOME": str(self.theirs), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
        return subprocess.run([story.PROGRAM, *arguments], user=NOBODY, group=NOBODY, extra_groups=[], env=environment, cwd=self.theirs, capture_output=True, text=True, timeout=60)

    def test_readers_read(self):
        file = str(self.kept / "journal.db")
        for command in (("journal", "show", "--journal", file), ("quarantine", "list", "--journal", file), ("report", file, "--format", "md"),
                        ("explain", PROBLEM, "--journal", file, "--devices", "fake:0")):
            with self.subTest(command):
                done = self.as_nobody(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout)
        self.assertEqual(sorted(path.name for path in self.kept.iterdir()), ["journal.db"], "nothing is written beside it")

    def test_the_reason_is_the_systems_own(self):
        (self.kept / "journal.db").chmod(0o600)
        refused = self.as_nobody("journal", "show", "--journal", str(self.kept / "journal.db"))
        self.assertIn("(Permission denied)", refused.stderr)
        self.assertEqual(refused.returncode, 2)

    def test_a_table_is_explained_without_the_journal(self):
        self.put("t.csv", "gfx,cu_num,M,N,K,us,kernelName\n")
        (self.work / "t.csv").chmod(0o644)
        self.work.chmod(0o755)
        done = self.as_nobody("explain", PROBLEM, "-t", str(self.work / "t.csv"), "--devices", "fake:0")
        self.assertEqual(done.returncode, 0, done.stderr)


class Damaged(Journals):
    def test_one_decision_is_skipped_with_a_note(self):
        for payload in ("{", "{}", "null", '"x"', 5, "[" * 10000):
            with self.subTest(payload):
                with contextlib.closing(sqlite3.connect(self.journal)) as journal:
                    journal.execute("UPDATE entries SET payload = ? WHERE kind = 2", (payload,))
                    journal.commit()
                for command in (("explain", PROBLEM, *FAKE[:2]), ("journal", "show")):
                    self.assertIn("the journal is damaged, 1 row skipped", self.attune(*command).stderr)


    def test_a_record_of_no_problem_is_left_out_of_a_report(self):
        with contextlib.closing(sqlite3.connect(self.journal)) as journal:
            journal.execute("UPDATE entries SET problem = 'm=' WHERE id = (SELECT max(id) FROM entries WHERE kind = 1 AND stage = 'screen')")
            journal.commit()
        done = self.attune("report", "--format", "md", "-o", "-")
        self.assertIn("the journal is damaged, 1 row skipped", done.stderr)


class Locked(Journals):
    @contextlib.contextmanager
    def held(self):
        """Another program holds the journal's write lock."""
        other = sqlite3.connect(self.journal)
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()
        other.close()

    def test_a_wait_gives_its_reason_and_ends_with_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), self.held():
                run = self.start("tune", *SIZE, *FAKE, "--all")
                while "waiting up to a minute for the journal" not in run.errors() and not run.has_ended():
                    time.sleep(0.05)
                begun = time.monotonic()
                run.send(number)
                self.assertEqual(run.wait(30).status, 128 + number)
                self.assertLess(time.monotonic() - begun, 20, "the bound of the wait is a minute")

    def test_a_file_system_without_locks_is_said_at_once(self):
        (self.folder / "no_locks.c").write_text(NO_LOCKS)
        library = self.folder / "no_locks.so"
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, self.folder / "no_locks.c", "-ldl"], check=True)
        preload = {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        refused = self.attune("tune", *SIZE, *FAKE, "--all", env=preload, status=None)
        self.assertIn("the journal's file system grants no locks (No locks available)", refused.stderr)
        self.assertNotEqual(refused.status, 0)
        self.assertIn("1 decision", self.attune("journal", "show", env=preload).stdout)


class ClosedPipe(Journals):
    def test_a_run_goes_on_without_the_reader_of_its_output(self):
        reading, writing = os.pipe()
        os.close(reading)
        run = self.start("tune", "-m", "5", *SIZE[2:], *FAKE, stdout=writing)
        os.close(writing)
        self.assertEqual(run.wait(60).status, 0)
        self.assertIn("2 decisions", self.attune("journal", "show").stdout)


if __name__ == "__main__":
    story.main()
