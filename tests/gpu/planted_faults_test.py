# SPDX-License-Identifier: MIT
"""Kernels that do harm, on a GPU (tests/gpu/faulty): each is blamed for what it did, nobody else is, the worker is back within
two seconds, and no wrong one is published."""
import os

import gpu_story
import story

LIMIT_MS = 2000
CRASHED, WRONG = {"crashed"}, {"wrong_result"}
# Behind the output or the workspace lies a guard band; what changes a reference is found when it is hashed.
STATUSES = {
    "illegal_address": CRASHED, "misaligned": CRASHED, "trap": CRASHED, "stack": CRASHED, "endless": {"timed_out"},
    "reference": CRASHED, "registers": {"launch_failed"}, "wrong_tile": WRONG, "bad_cubin": {"load_failed"},
    "whole_memory": {"out_of_memory"}, "after_output": WRONG, "before_output": WRONG, "after_workspace": WRONG,
    "before_workspace": WRONG, "after_weights": WRONG, "before_weights": WRONG, "after_activations": WRONG,
    "before_activations": WRONG, "changes_activations": WRONG, "changes_weights": WRONG,
}
OUTSIDE = {"after_output": "outside its output", "before_output": "outside its output",
           "after_workspace": "outside its workspace", "before_workspace": "outside its workspace",
           "changes_activations": "changed its input", "changes_weights": "changed its input"}
LATE_STATUSES = {"illegal_address": CRASHED, "endless": {"timed_out"}, "changes_weights": CRASHED, "changes_activations": CRASHED}
DEADLINES = ("--run-deadline", "1", "--max-trials", "40")


class PlantedFaults(gpu_story.GpuStory):
    def tuned(self, name, *problem):
        """Tunes a problem with the harmful solver; its result, and the outcomes of its candidates by fault."""
        journal = self.folder / f"{name}.db"
        result = self.on_gpu("tune", *problem, "--dtype", "fp32", "--json", *DEADLINES, "--journal", str(journal),
                             env={"ATTUNE_MODULES": os.environ["ATTUNE_GPU_MODULES"]})
        entries = self.journal(journal)
        outcomes, order = {}, []
        for kind, entry in entries:
            if entry.get("candidate", {}).get("solver") != "planted.gemm":
                continue
            fault = dict(part.split("=") for part in entry["candidate"]["config"].split(";"))["fault"]
            if kind == "started":
                order.append(fault)
            elif kind == "record" and not entry["outcome"]["status"] == "ok" or fault not in outcomes:
                outcomes[fault] = entry["outcome"]
        return result.json, outcomes, order

    def check(self, title, report, outcomes, statuses):
        recoveries = report["recoveries_ms"]
        print(f"\n{title}: {len(recoveries)} workers lost; ms until a fresh one was up after each: {recoveries}; until it had all that "
              f"was open, the deadlines of others that hung meanwhile included: {report['restorations_ms']}")
        for fault, wanted in statuses.items():
            with self.subTest(fault):
                outcome = outcomes.get(fault)
                self.assertIsNotNone(outcome, f"never tried: {sorted(outcomes)}")
                print(f"  {fault:<20} {outcome['status']:<14} {outcome['detail'][:110]}")
                self.assertIn(outcome["status"], wanted, outcome["detail"])
        self.assertEqual(outcomes["none"]["status"], "ok", "the correct config of the same solver")
        blamed = {fault for fault, outcome in outcomes.items() if outcome["status"] != "ok"}
        self.assertEqual(blamed, set(statuses), "nobody else is blamed")
        winner = report["results"][0]["decision"]["winner"]
        self.assertNotRegex(winner, r"planted\.gemm@1:(?!.*fault=none)", "no wrong one is published")
        deaths = [fault for fault, wanted in statuses.items() if wanted & {"crashed", "timed_out"}]
        if deaths:
            self.assertGreater(len(recoveries), 0, f"a worker was lost by each of {deaths}")
        for number, ms in enumerate(recoveries):
            with self.subTest(f"recovery {number}"):
                self.assertLessEqual(ms, LIMIT_MS, recoveries)

    def test_each_is_blamed_when_it_is_admitted(self):
        report, outcomes, order = self.tuned("always", "-m", "61", "-n", "100", "-k", "72")
        self.check("admission", report, outcomes, STATUSES)
        lethal = [fault for fault in order if STATUSES.get(fault, set()) & {"crashed", "timed_out"}]
        print(f"  order of those that lost a worker, twice each: {lethal}")
        for fault, said in OUTSIDE.items():
            self.assertIn(said, outcomes[fault]["detail"], fault)

    def test_each_is_blamed_when_it_is_sampled(self):
        report, outcomes, _ = self.tuned("late", "-m", "62", "-n", "100", "-k", "72")
        self.check("sampling", report, outcomes, LATE_STATUSES)

    def test_packed_weights_are_guarded_too(self):
        report, outcomes, _ = self.tuned("packed", "-m", "63", "-n", "100", "-k", "72", "--bpreshuffle", "1")
        self.check("packed", report, outcomes, {fault: WRONG for fault in ("after_weights", "before_weights", "changes_weights")})
        for fault in ("after_weights", "before_weights"):
            self.assertIn("outside the packed weights", outcomes[fault]["detail"])


if __name__ == "__main__":
    story.main()
