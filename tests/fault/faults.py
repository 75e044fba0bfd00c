# SPDX-License-Identifier: MIT
"""What becomes of candidates by what they do, and how the tests of planted faults read it from a run."""
import collections
import csv
import statistics

RUN_DEADLINE_S, LOAD_DEADLINE_S = 0.2, 0.5
WALL = ("--isolation", "process", "--run-deadline", str(RUN_DEADLINE_S), "--load-deadline", str(LOAD_DEADLINE_S))

# Of what a candidate does in a launch.
STATUSES = {
    "segfault": {"crashed"}, "abort": {"crashed"}, "exit0": {"crashed"}, "stack": {"crashed"},
    "garbage": {"crashed"}, "close": {"crashed"}, "breaks_device": {"crashed"},
    "loop": {"timed_out"}, "sleep": {"timed_out"}, "stop": {"timed_out"}, "slow": {"timed_out"},
    # It meets the limit of memory, the kernel, or the deadline, whichever is nearest.
    "bomb": {"out_of_memory", "crashed", "timed_out"},
    # With SIGXFSZ blocked or ignored the write fails instead.
    "file_limit": {"crashed", "launch_failed"},
    # Inputs that cannot be written to make a crash of it; so may what lies behind an output.
    "scribble_inputs": {"wrong_result", "crashed"}, "scribble_after": {"wrong_result", "crashed"},
    "wrong_result": {"wrong_result"}, "nan": {"wrong_result"},
    "throws": {"launch_failed"}, "huge_result_time": {"implausible_time"}, "unsupported": {"launch_failed"},
    "double_fork": {"ok"}, "signal_mask": {"ok"}, "chdir": {"ok"},
}
ONLY_OF_LAUNCHES = {"breaks_device", "scribble_inputs", "scribble_after", "wrong_result", "nan", "huge_result_time"}
# The worker is lost: tried once again in a fresh one, so what happens once only is forgiven.
LOSES_THE_WORKER = {"segfault", "abort", "exit0", "stack", "garbage", "close", "breaks_device", "loop", "sleep", "stop", "slow"}


def verifications(story, name, solver, *journal):
    """Statuses of every verification in a journal, in order, by problem and config of a solver."""
    story.attune("journal", "export", "--csv", name, *journal)
    found = collections.defaultdict(list)
    for row in csv.DictReader(story.read(name).splitlines()):
        if row["stage"] == "verify" and row["candidate"].startswith(solver):
            found[row["problem"], row["candidate"].removeprefix(solver)].append(row["status"])
    return found


def configs(story, problem, device, solver):
    """Every config of a solver that a run may ask for."""
    listed = story.attune("list", "candidates", problem, "--devices", device, "--json").json
    names = [name for one in listed for name in one.get("candidates", [])]
    return [name.removeprefix(solver) for name in names if name.startswith(solver)]


def recoveries(report):
    """Of each worker that was lost: ms until a fresh one was up, and until it had everything again, where the program says so."""
    return list(zip(report.get("recoveries_ms", []), report.get("restorations_ms", [])))


def tell_recoveries(both_ms):
    if not both_ms:
        return
    print(f"  {len(both_ms)} workers lost; ms from a death")
    for until, times_ms in zip(("to a fresh one", "to all that was open"), zip(*both_ms)):
        ordered = sorted(times_ms)
        print(f"    {until}: median {statistics.median(ordered):.0f}, 99 % {ordered[len(ordered) * 99 // 100]:.0f}, "
              f"most {ordered[-1]:.0f}", flush=True)
