# SPDX-License-Identifier: MIT
"""What a run left behind: processes, and files in a folder for temporary ones. For tests; one run at a time."""
import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """From now on, whoever of this process's family loses its parent becomes a child of this process: nobody gets away."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _family():
    """(parent, state) of every process there is."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            # The name may hold blanks and brackets: what follows it starts behind the last one.
            fields = Path("/proc", entry, "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        found[int(entry)] = (int(fields[1]), fields[0])
    return found


def descendants():
    """Descendants of this process that are alive. Zombies that are its children are reaped: call it while no child of
    yours is waited for elsewhere."""
    family, alive, parents = _family(), [], [os.getpid()]
    while parents:
        parent = parents.pop()
        for pid, (its_parent, state) in family.items():
            if its_parent != parent:
                continue
            parents.append(pid)
            if state != "Z":
                alive.append(pid)
            elif parent == os.getpid():
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
    return alive


def processes_left(within_s):
    """Command lines of the descendants that are still alive after that time; they are killed then."""
    end = time.monotonic() + within_s
    while (left := descendants()) and time.monotonic() < end:
        time.sleep(0.01)
    told = []
    for pid in left:
        try:
            command = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            told.append(f"{pid}: {command}")
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.01 if left else 0)
    descendants()
    return told


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*"))
