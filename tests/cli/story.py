# SPDX-License-Identifier: MIT
"""What the black-box stories share: the program as a user starts it, in a folder and a home of its own.

The program is $ATTUNE_BIN, else build/release/attune. Nothing of the caller's environment reaches it but PATH and the
sanitizers' options. Most stories run on fake:0, whose time is a formula, so that every result is the same on every machine.
"""
import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import mmap
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
PROGRAM = Path(os.environ.get("ATTUNE_BIN", REPOSITORY / "build" / "release" / "attune")).resolve()
HAS_SERVER = (PROGRAM.parent / "modules" / "attune_server.so").exists()  # A build without Boost has none.


def has_address_sanitizer(program):
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(b"__asan_version_mismatch_check") >= 0


# AddressSanitizer keeps freed memory for a while and marks all of it.
HAS_ADDRESS_SANITIZER = PROGRAM.exists() and has_address_sanitizer(PROGRAM)
FAKE = ("--devices", "fake:0", "--quiet-wait", "0")
PASSED_ON = ("ATTUNE_CACHE", "PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
# Small enough for a run of a fraction of a second, large enough that a tile matters: winners beat the default.
SHAPES = "M,N,K,bias,dtype,outdtype\n1,32,48,False,fp32,fp32\n1,40,40,False,fp32,fp32\n2,24,32,True,fp32,fp32\n"
KINDS = ("started", "record", "decision", "pardoned", "run_begin", "run_end", "ban")  # of the journal's rows, by number


@dataclasses.dataclass
class Result:
    """How a run ended. A status below zero is the signal that ended it."""

    command: str
    status: int
    stdout: str
    stderr: str
    seconds: float
    max_rss_kib: int

    @property
    def json(self):
        return json.loads(self.stdout)

    def __str__(self):
        return f"$ {self.command}\nstatus {self.status}\n--- stdout\n{self.stdout}--- stderr\n{self.stderr}"


class Running:
    """A started program; its output goes to files, so that it never waits for a reader."""

    def __init__(self, arguments, folder, environment, stdout=None):
        self.command = "attune " + " ".join(str(a) for a in arguments)
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._began = time.monotonic()
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=stdout or self._out, stderr=self._err)

    def send(self, number):
        """Sends a signal; one that has ended but was not waited for takes no harm."""
        if self.process.returncode is None:
            os.kill(self.process.pid, number)

    def errors(self):
        """What it has written to standard error so far."""
        return os.pread(self._err.fileno(), 1 << 20, 0).decode("utf-8", "replace")

    def has_ended(self):
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def wait(self, timeout=60):
        late = threading.Event()

        def end():
            late.set()
            os.kill(self.process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, end)
        timer.start()
        _, status, usage = os.wait4(self.process.pid, 0)  # Popen.wait() does not tell the memory.
        timer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        result = Result(self.command, self.process.returncode, self._text(self._out), self._text(self._err),
                        time.monotonic() - self._began, usage.ru_maxrss)
        if late.is_set():
            raise AssertionError(f"ran longer than {timeout} s and was ended\n{result}")
        return result

    @staticmethod
    def _text(file):
        file.seek(0)
        text = file.read().decode("utf-8", "replace")
        file.close()
        return text


def snapshot(folder):
    """Name, kind, mode, time and content of everything below a folder, but for what SQLite makes and tidies up beside a
    journal that somebody reads."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name.endswith((".db-shm", ".db-wal")):
            continue
        status = path.lstat()
        content = ""
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file() and status.st_size < 64 << 20:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        stamp = status.st_mtime_ns if not path.is_dir() else 0
        found[str(path.relative_to(folder))] = (oct(status.st_mode), status.st_size, stamp, content)
    return found


class Story(unittest.TestCase):
    """A test with a folder to work in (self.work), a home for the program's state (self.home) and the program."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune_story_"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.home, self.work = self.folder / "home", self.folder / "work"
        self.work.mkdir()

    # -- running ---------------------------------------------------------------------------------------------------

    def environment(self, **more):
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        # Kernels are compiled once for all stories.
        kept.setdefault("ATTUNE_CACHE", str(self.folder / "kernels"))
        return {**kept, "HOME": str(self.folder / "nobody"), "ATTUNE_HOME": str(self.home), "LC_ALL": "C.UTF-8", **more}

    def start(self, *arguments, env=None, stdout=None):
        running = Running(arguments, self.work, self.environment(**(env or {})), stdout)
        self.addCleanup(running.send, signal.SIGKILL)
        return running

    def serve(self, *arguments):
        """Starts `attune serve` on a port that is free; returns it and its port."""
        output = self.work / "served"
        with open(output, "wb") as file:
            server = self.start("serve", "--listen", "127.0.0.1:0", *arguments, stdout=file)
        end = time.monotonic() + 20
        while not (said := re.match(r"http://127\.0\.0\.1:(\d+)/ shows ", output.read_text())):
            self.assertLess(time.monotonic(), end, "the server does not say where it is")
            self.assertFalse(server.has_ended(), "the server has ended")
            time.sleep(0.02)
        return server, int(said.group(1))

    def attune(self, *arguments, status=0, timeout=60, env=None, stdout=None):
        """Runs the program to its end and asserts the exit status (None: any)."""
        result = self.start(*arguments, env=env, stdout=stdout).wait(timeout)
        if status is not None:
            self.assertEqual(result.status, status, str(result))
        return result

    def tune(self, *arguments, **how):
        return self.attune("tune", *arguments, *FAKE, **how)

    def refused(self, *arguments, says=(), status=2, timeout=20, env=None):
        """Asserts that the program refuses with one sentence that holds every text of `says` (with --json the same on
        standard output), and touches no file."""
        before = snapshot(self.folder)
        result = self.attune(*arguments, status=status, timeout=timeout, env=env)
        self.assertEqual(snapshot(self.folder), before, f"a file was touched\n{result}")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, f"not one sentence\n{result}")
        self.assertTrue(lines[0].startswith("attune: "), str(result))
        if "--json" in arguments:
            self.assertEqual(f"attune: {result.json['error']['message']}", lines[0], str(result))
        else:
            self.assertEqual(result.stdout, "", str(result))
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, lines[0], str(result))
        return result

    # -- files -----------------------------------------------------------------------------------------------------

    def put(self, name, content):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def read(self, name):
        return (self.work / name).read_bytes().decode()

    def rows(self, name):
        """A table as a list of dictionaries."""
        return rows_of(self.read(name))

    @contextlib.contextmanager
    def untouched(self, *names):
        before = {name: snapshot(self.work)[name] for name in names}
        yield
        after = snapshot(self.work)
        self.assertEqual({name: after.get(name) for name in names}, before)

    # -- the journal -------------------------------------------------------------------------------------------------

    def journal(self, file=None, runs=False):
        """What was found out, in order: (kind, payload); `runs`: with the entries about the runs themselves."""
        entries = journal_entries(file or self.home / "journal.db")
        return [one for one in entries if runs or not one[0].startswith("run_")]

    def count(self, kind, file=None):
        return sum(one == kind for one, _ in self.journal(file))


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))


def candidate_name(candidate):
    return json.dumps(candidate, sort_keys=True)


def journal_entries(file):
    if not Path(file).exists():
        return []
    with contextlib.closing(sqlite3.connect(file)) as database:
        tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        rows = database.execute("SELECT kind, payload FROM entries ORDER BY id").fetchall() if tables else []
    return [(KINDS[kind], json.loads(payload)) for kind, payload in rows]


class SkipsAreSaid(unittest.TextTestResult):
    """A line for each test that was skipped, with its reason, for tools/check_skipped."""

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"SKIPPED {test.id()}: {reason}", flush=True)


def main():
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=SkipsAreSaid))
