# SPDX-License-Identifier: MIT
"""Somebody outside stops or kills the workers of a run: it ends within its budget, and says that what it could not find
out is not decided, never that a shape is unsupported or a candidate bad.

ATTUNE_STOPS: how often a worker is stopped (5); the budget of the run is 2.5 s a stop.
"""
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402

STOPS = int(os.environ.get("ATTUNE_STOPS", "5"))
BUDGET_S = 2.5 * STOPS
SHAPES = "M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m in (1, 2, 4, 8) for n, k in ((256, 512), (512, 256)))


def workers_of(pid):
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Outside(story.Story):
    def run_with(self, disturb, *flags, timeout):
        """The program's result while `disturb(pid)` is called for its workers until it ends."""
        running = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", "--quiet-wait", "0", "--json", *flags)
        over = threading.Event()

        def work():
            while not over.is_set():
                for worker in workers_of(running.process.pid):
                    disturb(worker)
                over.wait(0.01)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            return running.wait(timeout)
        finally:
            over.set()
            thread.join()


class Stopped(Outside):
    def test_a_run_whose_workers_are_stopped_ends_soon_after_its_budget(self):
        self.put("shapes.csv", SHAPES)
        left, next_at, born = [STOPS], [time.monotonic() + 1], {}

        def stop(worker):
            # A worker that is young may try a candidate again that the stop before met; two stops in one convict it.
            is_young = time.monotonic() < born.setdefault(worker, time.monotonic()) + 1
            if left[0] == 0 or time.monotonic() < next_at[0] or is_young:
                return
            left[0] -= 1
            next_at[0] = time.monotonic() + BUDGET_S / STOPS / 2
            os.kill(worker, signal.SIGSTOP)

        result = self.run_with(stop, "--devices", "cpu:0", "--libtype", "openblas,portable", "--budget",
                               f"{BUDGET_S}s", timeout=BUDGET_S + 60)
        self.assertIn(result.status, (0, 1), str(result))
        self.assertLess(result.seconds, BUDGET_S + 30, "not long after its budget")
        for one in result.json["results"]:
            self.assertIn(one["ending"], ("decided", "cut"), str(one))
        self.assertNotIn("timed_out", {entry["outcome"]["status"] for kind, entry in self.journal() if kind == "record"},
                         "no candidate is blamed for a worker that was stopped between two of them")
        self.assertLess(left[0], STOPS, "no worker was stopped")
        print(f"{STOPS - left[0]} stops, budget {BUDGET_S:.0f} s: {result.seconds:.0f} s", flush=True)


class KilledAgainAndAgain(Outside):
    def test_a_shape_whose_workers_are_killed_is_not_decided_rather_than_unsupported(self):
        self.put("shapes.csv", "M,N,K,dtype\n1,32,64,fp32\n2,32,64,fp32\n")
        killed, next_at = set(), [0.0]

        def kill(worker):
            # Not before something was announced: without a worker there is no run at all. And not twice within the second
            # try of one candidate, which by the rule convicts it: who killed a worker cannot be known.
            if time.monotonic() < next_at[0] or not self.journal():
                return
            next_at[0] = time.monotonic() + 0.5
            killed.add(worker)
            os.kill(worker, signal.SIGKILL)

        result = self.run_with(kill, "--devices", "fake:0", timeout=120)
        self.assertNotEqual(result.status, 2, str(result))
        self.assertTrue(killed, "no worker was killed")
        if result.status == 3:  # No worker comes up any more: the device is said to be gone.
            self.assertIn("no worker starts on", result.stderr)
        else:
            self.assertNotIn("unsupported", {one["ending"] for one in result.json["results"]}, str(result))
        statuses = {entry["outcome"]["status"] for kind, entry in self.journal() if kind == "record"}
        self.assertLessEqual(statuses, {"ok", "device_lost", "cancelled"}, "nobody is convicted")


if __name__ == "__main__":
    story.main()
