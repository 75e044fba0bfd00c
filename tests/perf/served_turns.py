# SPDX-License-Identifier: MIT
"""Two applications that take turns on a machine, and what other programs did to it meanwhile."""
import dataclasses
import os
import random
import statistics
import subprocess
import time

SIDES = ("tuned", "default")
PAUSE_S = 0.02  # Between two turns: threads of the one before stop spinning.
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServingFailed(Exception):
    """An application ended or answered something else; the text is one sentence."""


def busy_ticks(stat, cores):
    """Clock ticks for which `cores` worked, from the text of /proc/stat. A virtual machine's stolen time counts."""
    busy = 0
    for line in stat.splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cores:
            user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
            busy += user + nice + system + irq + softirq + steal
    return busy


def process_ticks(stat):
    """Clock ticks that a process's threads have used, from the text of /proc/PID/stat."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def wait_until_quiet(most_s, share=0.05, window_s=0.5):
    """Waits until the processors are idle in two windows in a row, at most `most_s`."""
    cores, began, quiet = os.sched_getaffinity(0), time.monotonic(), 0
    while quiet < 2 and time.monotonic() - began < most_s:
        busy = busy_ticks(read("/proc/stat"), cores)
        time.sleep(window_s)
        busy = busy_ticks(read("/proc/stat"), cores) - busy
        quiet = quiet + 1 if busy < share * window_s * TICKS_PER_S * len(cores) else 0


class Application:
    """A process that serves layers: tests/perf/served_application.cpp describes what it is asked and answers."""

    def __init__(self, command, environment, log):
        self.log = log
        with open(log, "w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise ServingFailed(f"an application ended: {read(self.log).strip()[-500:] or 'without a word'}")
        return text.split()

    def prepare(self):
        """Waits until its layers are prepared; returns (match, state) of each."""
        matches = []
        while (words := self.line()) != ["ready"]:
            matches.append((words[1], words[2]))
        return matches

    def serve(self, passes, order):
        """One turn; returns {layer: µs}."""
        self.process.stdin.write(f"{passes} {' '.join(map(str, order))}\n")
        self.process.stdin.flush()
        times = [float(word) for word in self.line()]
        if len(times) != len(order) or min(times) <= 0:
            raise ServingFailed(f"an application answered {len(times)} times for {len(order)} layers")
        return dict(zip(order, times))


@dataclasses.dataclass
class Round:
    """One turn of each side: µs by side and layer, and the share of the processors that others used in the worse turn."""

    times: dict
    others: float


class Turns:
    """Rounds of one pair of applications. Each round has a fresh order of the two and of the models."""

    def __init__(self, applications, models, seed, turn_s):
        self.applications = applications
        self.models = models  # Lists of layers that follow each other.
        self.random = random.Random(seed)
        self.turn_s = turn_s
        self.cores = os.sched_getaffinity(0)
        self.passes = None

    def take(self):
        order = [layer for model in self.random.sample(self.models, len(self.models)) for layer in model]
        if self.passes is None:
            self.passes = self.find_passes(order)
        times, others = {}, 0.0
        for side in self.random.sample(SIDES, len(SIDES)):
            time.sleep(PAUSE_S)
            times[side], share = self.watched(self.applications[side], order)
            others = max(others, share)
        return Round(times, others)

    def find_passes(self, order):
        """Passes of a turn of `turn_s`, at least 3: the clock of /proc/stat is coarse, and a median wants some."""
        seconds = []
        for side in SIDES:
            passes = []
            for _ in range(3):  # The shortest counts: it was disturbed least.
                began = time.monotonic()
                self.applications[side].serve(1, order)  # And one untimed.
                passes.append((time.monotonic() - began) / 2)
            seconds.append(min(passes))
        return max(3, min(1000, round(self.turn_s / statistics.mean(seconds))))

    def watched(self, application, order):
        """A turn's times, and the share of the processors that others used in it."""
        own_file = f"/proc/{application.process.pid}/stat"
        began, busy, own = time.monotonic(), busy_ticks(read("/proc/stat"), self.cores), process_ticks(read(own_file))
        times = application.serve(self.passes, order)
        busy = busy_ticks(read("/proc/stat"), self.cores) - busy
        own = process_ticks(read(own_file)) - own
        wall = (time.monotonic() - began) * TICKS_PER_S * len(self.cores)
        return times, max(0.0, (busy - own) / wall)
