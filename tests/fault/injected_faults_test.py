# SPDX-License-Identifier: MIT
"""Candidates that crash, hang, lie or eat the machine: each is blamed for what it did, no other is, and the winner is the
one of a run without them.

ATTUNE_FAULTS: how many faults (100); ATTUNE_FAULT_SEED: of their places (1). The faults are those of src/solvers/fake.
"""
import collections
import dataclasses
import os
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import faults as planted_faults  # noqa: E402
import leftovers  # noqa: E402
import story  # noqa: E402
from faults import LOAD_DEADLINE_S, LOSES_THE_WORKER, ONLY_OF_LAUNCHES, STATUSES, WALL  # noqa: E402
from story import FAKE  # noqa: E402

FAULTS = int(os.environ.get("ATTUNE_FAULTS", "100"))
SEED = int(os.environ.get("ATTUNE_FAULT_SEED", "1"))
FAULTS_A_SHAPE, SHAPES_A_RUN = 8, 20
DEFAULT = "split_k=1;tile_m=64;tile_n=64"
SOLVER = "fake.gemm@1:"

STATUSES_OF_PREPARE = {"throws": {"load_failed"}, "file_limit": {"crashed", "load_failed"}, "unsupported": {"unsupported"}}
# Those whose effect shows whenever it comes; a result is looked at in the verification only.
SHOWS_AT_ANY_TIME = LOSES_THE_WORKER | {"throws", "huge_result_time"}
LAUNCHES = (2, 4, 5, 6, 8, 10, 14, 20, 30, 45, 60, 90)
SURE_LAUNCHES = 4  # An admission has that many: three to verify, one to be timed.


@dataclasses.dataclass
class Planted:
    problem: str
    config: str
    fault: str
    step: str
    when: str
    statuses: set

    @property
    def line(self):
        return "\t".join((self.problem, self.config, self.fault, self.step, self.when)) + "\n"

    @property
    def late(self):
        return self.step == "unload" or self.when.startswith("from:") and int(self.when[5:]) > SURE_LAUNCHES


class InjectedFaults(story.Story):
    def setUp(self):
        super().setUp()
        leftovers.adopt_orphans()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.dice = random.Random(SEED)
        self.candidates_of = {}

    # -- where the faults are ----------------------------------------------------------------------------------------

    def shapes(self, count):
        sizes = [(m, n, k) for m in (1, 2, 3, 5, 7, 12, 16, 21, 32, 48) for n in (16, 24, 32, 40, 48, 64) for k in (8, 16, 18, 32, 48)]
        return self.dice.sample(sizes, count)

    def configs(self, problem):
        """Every config that a run may ask for."""
        if problem not in self.candidates_of:
            self.candidates_of[problem] = planted_faults.configs(self, problem, "fake:0", SOLVER)
        return self.candidates_of[problem]

    def when(self, fault, step, number):
        """(when it happens, what becomes of the candidate)"""
        if step == "unload":
            return "always", STATUSES[fault]
        statuses = STATUSES[fault] if step == "run" else STATUSES_OF_PREPARE.get(fault, STATUSES[fault])
        draw = self.dice.random()
        if fault in LOSES_THE_WORKER and draw < 0.25:
            return f"once:{self.folder / 'once'}/{number}", {"ok"}
        if fault in SHOWS_AT_ANY_TIME and step == "run" and draw < 0.6:
            return f"from:{self.dice.choice(LAUNCHES)}", statuses
        return "always", statuses

    def plant(self, faults, count):
        """Faults in random places of as few shapes as have room for them; one in every fifth is in its default."""
        (self.folder / "once").mkdir(exist_ok=True)
        kinds = (faults * (count // len(faults) + 1))[:count]
        self.dice.shuffle(kinds)
        planted, shapes = [], self.shapes(-(-count // FAULTS_A_SHAPE))
        for index, (m, n, k) in enumerate(shapes):
            problem = f"gemm_a16w16 m={m} n={n} k={k} dtype=fp32 outdtype=fp32 bias=0"
            here = kinds[index * FAULTS_A_SHAPE:(index + 1) * FAULTS_A_SHAPE]
            configs = self.dice.sample([c for c in self.configs(problem) if c != DEFAULT], len(here))
            for fault, config in zip(here, configs):
                step = "run" if fault in ONLY_OF_LAUNCHES else self.dice.choices(*self.STEPS)[0]
                planted.append(Planted(problem, config, fault, step, *self.when(fault, step, len(planted))))
            if index % 5 == 3:
                last = planted[-1]
                planted[-1] = Planted(problem, DEFAULT, last.fault, last.step, last.when, last.statuses)
        return shapes, planted

    # -- runs --------------------------------------------------------------------------------------------------------

    def run_once(self, name, shapes, planted, flags, seconds):
        """Tunes the shapes into <name>.csv; its report and what the journal has of every candidate's verification."""
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in shapes))
        faults = self.folder / f"{name}.tsv"
        faults.write_text("".join(one.line for one in planted))
        journal = ("--journal", str(self.folder / f"{name}.db"))
        result = self.attune("tune", "-i", "shapes.csv", "-o", f"{name}.csv", *FAKE, "--json", *flags, *journal,
                             timeout=seconds, status=None,
                             env={"ATTUNE_FAKE_FAULTS": str(faults), "TMPDIR": str(self.temporary), **self.sanitizer()})
        self.assertIn(result.status, (0, 1), str(result))
        self.assertEqual(leftovers.processes_left(within_s=1), [], "processes were left")
        self.assertEqual(leftovers.files_below(self.temporary), [], "temporary files were left")
        verified = planted_faults.verifications(self, f"{name}_records.csv", SOLVER, *journal)
        return {one["problem"]: one for one in result.json["results"]}, verified, planted_faults.recoveries(result.json)

    @staticmethod
    def sanitizer():
        """AddressSanitizer's own reports of crashes take longer than the deadline of a launch."""
        if not story.HAS_ADDRESS_SANITIZER:
            return {}
        return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_sigbus=0:symbolize=0"}

    def disturbed(self, name, shapes, planted, flags):
        # Twice the deadline, and time for a fresh worker, for each; a hang of the program itself is ended by this.
        seconds = 60 + 2 * len(shapes) + len(planted) * (2 * LOAD_DEADLINE_S + 2)
        report, verified, recoveries = self.run_once(name, shapes, planted, flags, seconds)
        fallen = self.check_blame(planted, verified)
        unsupported = [Planted(p.problem, p.config, "unsupported", "prepare", "always", set()) for p in fallen]
        expected, _, _ = self.run_once(f"{name}_undisturbed", shapes, unsupported, self.ALONE, seconds)
        return self.check_winners(name, report, expected), fallen, recoveries

    # -- what must have come of them -----------------------------------------------------------------------------------

    def check_blame(self, planted, verified):
        """Each candidate has the record it deserves. Returns the faults whose candidates failed."""
        by_place = {(one.problem, one.config): one for one in planted}
        fallen = []
        for problem in sorted({one.problem for one in planted}):
            for config in self.configs(problem):
                records, fault = verified.pop((problem, config), []), by_place.get((problem, config))
                with self.subTest(problem=problem, config=config, fault=fault and fault.line):
                    if fault is None:
                        self.assertEqual(records, ["ok"], "a healthy candidate")
                        continue
                    # A candidate that falls in the middle of a contest was right before.
                    allowed = [[status] for status in fault.statuses]
                    if fault.late:
                        allowed += [["ok"], *(["ok", status] for status in fault.statuses)]
                    self.assertIn(records, allowed)
                    if fault.when.startswith("once:"):
                        self.assertTrue(Path(fault.when[5:]).exists(), "it did not happen")
                if fault and records and records[-1] != "ok":
                    fallen.append(fault)
        self.assertEqual(dict(verified), {}, "records of candidates that there are not")
        return fallen

    def check_winners(self, name, report, expected):
        """Rows and winners are those of the run without the fallen. Returns how many winners are another of a tie."""
        rows = {(row["M"], row["N"], row["K"]): row for row in self.rows(f"{name}.csv")}
        self.assertEqual(len(rows), sum(one["ending"] == "decided" for one in report.values()))
        ties = 0
        for problem, wanted in expected.items():
            got = report[problem]
            with self.subTest(problem=problem):
                self.assertEqual(got["ending"], wanted["ending"], f"{got.get('reason')}; undisturbed: {wanted.get('reason')}")
                if wanted["ending"] != "decided":
                    continue
                row = rows[tuple(word.partition("=")[2] for word in problem.split()[1:4])]
                got, wanted = got["decision"], wanted["decision"]
                self.assertEqual(row["kernelName"], got["winner"])
                self.assertEqual(got["default"], wanted["default"])
                if got["winner"] == wanted["winner"]:
                    continue
                ties += 1
                self.assertIn(wanted["winner"], got["tied"])
                self.assertIn(got["winner"], wanted["tied"])
        return ties

    def check(self, faults, count, flags):
        began = time.monotonic()
        shapes, planted = self.plant(faults, count)
        ties, fallen, recoveries = 0, [], []
        for start in range(0, len(shapes), SHAPES_A_RUN):
            some = shapes[start:start + SHAPES_A_RUN]
            problems = {f"gemm_a16w16 m={m} n={n} k={k} dtype=fp32 outdtype=fp32 bias=0" for m, n, k in some}
            here = [one for one in planted if one.problem in problems]
            with self.subTest(shapes=start):
                more_ties, more_fallen, more_recoveries = self.disturbed(f"run{start}", some, here, flags)
                ties, fallen, recoveries = ties + more_ties, fallen + more_fallen, recoveries + more_recoveries
        late = [one for one in planted if one.late]
        print(f"{type(self).__name__}: {len(planted)} faults in {len(shapes)} shapes, seed {SEED}, "
              f"{time.monotonic() - began:.0f} s; {len(fallen)} candidates failed, {sum(one.late for one in fallen)} of "
              f"{len(late)} late ones; {ties} winners differ within a tie", flush=True)
        print("  " + ", ".join(f"{name} {number}" for name, number in sorted(collections.Counter(p.fault for p in planted).items())))
        planted_faults.tell_recoveries(recoveries)
        if len(late) >= 20:
            self.assertTrue(any(one.late for one in fallen), "no fault came in the middle of a contest")


class BehindAWall(InjectedFaults):
    ALONE = ("--isolation", "none")
    STEPS = ("prepare", "run", "unload"), (25, 60, 15)

    def test_every_fault_is_blamed_on_its_candidate_and_on_no_other(self):
        self.check([one for one in STATUSES if one != "unsupported"], FAULTS, WALL)


class InProcess(InjectedFaults):
    """Faults that can be survived without worker processes."""

    ALONE = ("--isolation", "none")
    STEPS = ("prepare", "run"), (25, 75)

    def test_what_is_found_without_a_wall_is_blamed_on_its_candidate(self):
        # Not scribble_after: it overwrites what the heap needs.
        self.check(["scribble_inputs", "wrong_result", "nan", "throws", "huge_result_time", "unsupported", "signal_mask"],
                   min(FAULTS, 60), self.ALONE)


class FaultFiles(story.Story):
    def test_a_wrong_line_is_named_where_it_lies(self):
        self.put("shapes.csv", story.SHAPES)
        faults = self.put("faults.tsv", "# none yet\n*\ttile_m=16\texplode\trun\talways\n")
        result = self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, status=None, env={"ATTUNE_FAKE_FAULTS": str(faults)})
        self.assertIn(f"{faults}:2: unknown fault 'explode'", result.stderr)
        self.assertFalse((self.work / "t.csv").exists())


if __name__ == "__main__":
    story.main()
