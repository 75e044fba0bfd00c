# SPDX-License-Identifier: MIT
"""A C compiler that does as the real one does but for some sources: it misbehaves, or compiles a corrupted kernel.

Started by a launcher (generated_faults_test.py) that names a plan. It runs for every kernel, so it must start fast.
"""
import os
import signal
import sys

FAULT_ACTIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fault_actions.c")
OUTPUT, SOURCE = "kernel.so", "kernel.c"


def key_of(source):
    """What a kernel was generated from, read from its text: `dot rows=2 width=4 unroll=1 prefetch=0`; `pack`."""
    if "void dot(" in source:
        steps = [int(part.split()[0]) for part in source.split("for (; i + ")[1:]]
        key = (source.count("const x_t* x"), source.count("const in_t* w"), steps[0] // steps[-1])
        kind, fetched = "dot", "__builtin_prefetch(w0 + i + "
    elif "void tile(" in source:
        key = (source.count("  const float* r"), source.count("  vf s0_"), "-")
        is_across_n = "  const struct out_args* o = " in source
        kind, fetched = ("tile_n", "_prefetch(p0 + ") if is_across_n else ("tile_m", "_prefetch(r0 + ")
    else:
        return "pack"
    return "{} rows={} width={} unroll={} prefetch={}".format(kind, *key, 128 if fetched in source else 0)


def corrupted(source, deed, step, more):
    """The text of a kernel whose entry, or whose loading, does the deed."""
    entry, last, given = ("dot", "1", "t->w") if "void dot(" in source else ("tile", "(t)->last", "t->row")
    with open(FAULT_ACTIONS) as file:
        text = file.read()
    lines = [f"#define {entry} original", source, f"#undef {entry}", f"#define ENTRY {entry}",
             f"#define ARGUMENTS {entry}_args", f"#define IS_LAST(t) ({last})", f"#define INPUT(t) ({given})",
             f"#define DEED {deed}", f"#define {step}", *(f"#define {one}" for one in more), text]
    return "\n".join(lines)


def rewrite(text):
    with open(SOURCE, "w") as file:
        file.write(text)


def compile_really(command):
    """Returns when it is done; does not return when it failed."""
    status = os.spawnv(os.P_WAIT, command[0], command)
    if status != 0:
        sys.exit(status if status > 0 else 1)


def say(*pieces):
    for piece in pieces:
        os.write(2, piece if isinstance(piece, bytes) else piece.encode())


def put(content):
    with open(OUTPUT, "wb") as file:
        file.write(content)


def end_by(number, group=False):
    os.kill(0 if group else os.getpid(), number)


def eat_memory():
    import mmap
    pieces = []
    try:
        while True:
            pieces.append(mmap.mmap(-1, 256 << 20))  # Not touched: the limit is one of addresses.
    except OSError:
        say("virtual memory exhausted: Cannot allocate memory\n")
        sys.exit(1)


def write_a_huge_file():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    file = os.open("huge", os.O_CREAT | os.O_WRONLY)
    for gib in range(64):
        os.pwrite(file, b"x", gib << 30)


def leave_a_grandchild():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", "1000"])
        os._exit(0)
    os.wait()


def remove_everything():
    for name in os.listdir("."):
        os.unlink(name)
    os.rmdir(os.getcwd())


def truncate():
    os.truncate(OUTPUT, os.path.getsize(OUTPUT) // 2)


def sleep(seconds):
    import time
    time.sleep(seconds)


def turn_for_ever():
    while True:
        pass


JUNK = bytes((i * 197 + 31) & 255 for i in range(4096))
# What it does instead of compiling; exit status 0 unless it says otherwise.
INSTEAD = {
    "cc_segfault": lambda: end_by(signal.SIGSEGV),
    "cc_killed": lambda: end_by(signal.SIGKILL),
    "cc_kills_its_group": lambda: end_by(signal.SIGTERM, group=True),
    "cc_junk": lambda: (say(JUNK), sys.exit(1)),
    "cc_flood": lambda: ([say(JUNK * 16) for _ in range(40)], sys.exit(3)),
    "cc_silent": lambda: sys.exit(1),
    "cc_internal_error": lambda: (say("kernel.c: internal compiler error: in f, at g.cc:1\n"), sys.exit(4)),
    "cc_refuses": lambda: (say("kernel.c:1:1: error: no such thing, out of memory\n"), sys.exit(1)),
    "cc_nothing": lambda: None,
    "cc_empty": lambda: put(b""),
    "cc_garbage": lambda: put(JUNK),
    "cc_pipe": lambda: os.mkfifo(OUTPUT),
    "cc_link": lambda: os.symlink("/proc/self/exe", OUTPUT),
    "cc_folder": lambda: os.mkdir(OUTPUT),
    "cc_removes_everything": remove_everything,
    "cc_memory": eat_memory,
    "cc_huge_file": write_a_huge_file,
    "cc_hangs": lambda: sleep(1000),
    "cc_loops": turn_for_ever,
    "cc_stops": lambda: end_by(signal.SIGSTOP),
}
# What it does after compiling.
AFTERWARDS = {
    "cc_deletes": lambda: os.unlink(OUTPUT),
    "cc_truncates": truncate,
    "cc_grandchild": leave_a_grandchild,
    "cc_slow": lambda: sleep(1.5),
}


def planned(plan, key):
    """(deed, step, macros …) of a kernel, or nothing."""
    with open(plan) as file:
        for line in file:
            words = line.rstrip("\n").split("\t")
            if words[0] == key:
                return words[1:]
    return None


def main(compiler, plan, log, arguments):
    command = [compiler, *arguments]
    if SOURCE not in arguments:
        os.execv(compiler, command)
    with open(SOURCE) as file:
        source = file.read()
    key = key_of(source)
    file = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.write(file, f"{key}\n".encode())
    os.close(file)
    deed, step, *more = planned(plan, key) or ("", "")
    if deed in INSTEAD:
        INSTEAD[deed]()
        return
    if deed in AFTERWARDS:
        compile_really(command)
        AFTERWARDS[deed]()
        return
    if deed == "cc_wrong_entry":
        rewrite("void another(void) {}\n")
    elif deed:
        rewrite(corrupted(source, deed, step, more))
    os.execv(compiler, command)
