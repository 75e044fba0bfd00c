# SPDX-License-Identifier: MIT
"""Generated kernels that crash, hang, lie or eat the machine when they are opened, run or closed, and a compiler that
does so itself: each candidate of a corrupted source is blamed for what that did, no other is, and a healthy one wins.

The kernels are those of jit_cpu on the processor this runs on, compiled by faulty_cc.py. ATTUNE_GENERATED_FAULTS: how
many sources are corrupted (12); ATTUNE_FAULT_SEED: which, and how (1).
"""
import collections
import dataclasses
import os
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import faults  # noqa: E402
import leftovers  # noqa: E402
import story  # noqa: E402
from faults import WALL  # noqa: E402

FAULTS = int(os.environ.get("ATTUNE_GENERATED_FAULTS", "12"))
SEED = int(os.environ.get("ATTUNE_FAULT_SEED", "1"))
FAULTS_A_RUN = 40
SHAPES = ((3, 24, 40), (1, 16, 32)), ((2, 32, 48), (3, 16, 24)), ((4, 24, 33), (2, 17, 20))
SOLVER = "jit_cpu.gemm@1:"
ALL_TRIALS = "5000"

# By what a kernel does; the names are those of fault_actions.c where they differ.
NAMES = {"abort": "do_abort", "sleep": "do_sleep", "close": "close_all", "chdir": "do_chdir", "nan": "nan_result",
         "exec": "do_exec"}
NOT_OF_C = ("breaks_device", "throws", "huge_result_time", "unsupported")
STATUSES = {
    **{name: statuses for name, statuses in faults.STATUSES.items() if name not in NOT_OF_C},
    "trap": {"crashed"}, "divide": {"crashed"},
    # What it became holds the channel, or hangs up by closing it.
    "exec": {"timed_out", "crashed"},
    # Its library does not open at all, whatever is run.
    "undefined": {"load_failed"},
    # Right, but slow by it.
    "many_forks": {"ok", "timed_out"},
}
ONLY_AT_CALLS = {*faults.ONLY_OF_LAUNCHES, "many_forks"}
# When a candidate's library is closed it may have been judged already.
AT_UNLOAD = ("segfault", "abort", "exit0", "loop", "sleep", "stop", "chdir", "signal_mask", "double_fork")
LATE_CALLS = (100, 1000, 10000)
# By what the compiler does.
COMPILERS = {
    "cc_segfault": {"crashed"}, "cc_killed": {"crashed"}, "cc_kills_its_group": {"crashed"},
    "cc_internal_error": {"crashed"}, "cc_huge_file": {"crashed"}, "cc_memory": {"out_of_memory"},
    "cc_truncates": {"compile_failed", "load_failed", "crashed"},
    "cc_slow": {"ok"}, "cc_grandchild": {"ok"},
    **dict.fromkeys(("cc_junk", "cc_flood", "cc_silent", "cc_refuses", "cc_nothing", "cc_empty", "cc_garbage",
                     "cc_pipe", "cc_link", "cc_folder", "cc_removes_everything", "cc_deletes", "cc_wrong_entry"),
                    {"compile_failed"}),
}
HANGING = ("cc_hangs", "cc_loops", "cc_stops")
COMPILE_DEADLINE_S = 6


@dataclasses.dataclass
class Corrupted:
    key: str
    deed: str
    step: str
    statuses: set
    more: tuple = ()  # FROM, ONCE.
    late: bool = False

    @property
    def line(self):
        return "\t".join((self.key, NAMES.get(self.deed, self.deed), self.step, *self.more)) + "\n"

    @property
    def allowed(self):
        """What a candidate's verifications may be."""
        alone = [[status] for status in sorted(self.statuses)]
        return alone + ([["ok"], *(["ok", status] for status in sorted(self.statuses))] if self.late else [])


def key_of(config):
    """Of the source that a candidate runs: of faulty_cc.key_of."""
    of = dict(word.split("=") for word in config.split(";"))
    of.setdefault("unroll", "-")
    return "{kernel} rows={rows} width={width} unroll={unroll} prefetch={prefetch}".format(**of)


def problem_of(m, n, k):
    return f"gemm_a16w16 m={m} n={n} k={k} dtype=fp32 outdtype=fp32 bias=0"


class Generated(story.Story):
    def setUp(self):
        super().setUp()
        leftovers.adopt_orphans()
        # Of many cores each source would have many candidates, one for every number of threads.
        before = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, sorted(before)[:2])
        solvers = {one["id"]: one for one in self.attune("list", "solvers", "--json").json}
        self.compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
        if not solvers["jit_cpu.gemm"]["available"] or self.compiler is None:
            self.skipTest("there is no C compiler")
        self.configs_of = {}
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def configs(self, problem):
        if problem not in self.configs_of:
            self.configs_of[problem] = faults.configs(self, problem, "cpu:0", SOLVER)
        return self.configs_of[problem]

    def launcher(self, name, corrupted):
        """A compiler for one run: its plan, and the log of what it was asked for."""
        plan, log = self.folder / f"{name}.tsv", self.folder / f"{name}.log"
        plan.write_text("".join(one.line for one in corrupted))
        program = self.folder / f"{name}_cc"
        here = str(Path(__file__).resolve().parent)
        program.write_text(f"#!{sys.executable} -ISB\nimport sys\nsys.path.insert(0, {here!r})\nimport faulty_cc\n"
                           f"faulty_cc.main({self.compiler!r}, {str(plan)!r}, {str(log)!r}, sys.argv[1:])\n")
        program.chmod(0o700)
        return program, log

    def tune(self, name, shapes, corrupted, *flags, seconds=300):
        """Tunes the shapes with that compiler: the report, and what the journal has of every verification."""
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},{n},{k},fp32\n" for m, n, k in shapes))
        program, log = self.launcher(name, corrupted)
        journal = ("--journal", str(self.folder / f"{name}.db"))
        result = self.attune("tune", "-i", "shapes.csv", "-o", f"{name}.csv", "--devices", "cpu:0",
                             "--libtype", "jit_cpu,portable", "--quiet-wait", "0", "--max-trials", ALL_TRIALS,
                             "--json", *WALL, *journal, "--cache", str(self.folder / f"{name}_kernels"), *flags,
                             timeout=seconds, env={"ATTUNE_CC": str(program), "TMPDIR": str(self.temporary)})
        self.assertEqual(leftovers.processes_left(within_s=1), [], "processes were left")
        self.assertEqual(leftovers.files_below(self.temporary), [], "temporary files were left")
        # One source for every key, or the keys do not tell them apart.
        keys = {key_of(config) for shape in shapes for config in self.configs(problem_of(*shape))}
        compiled = sorted(log.read_text().splitlines())
        self.assertEqual(compiled, sorted(keys | {"pack"}), "not each source was compiled once")
        return result.json, faults.verifications(self, f"{name}_records.csv", SOLVER, *journal)

    def check_blame(self, shapes, corrupted, verified):
        """Each candidate has the record it deserves. Returns those that failed, each with what was done to it."""
        by_key, fallen = {one.key: one for one in corrupted}, {}
        for problem in (problem_of(*shape) for shape in shapes):
            for config in self.configs(problem):
                records, fault = verified.pop((problem, config), []), by_key.get(key_of(config))
                with self.subTest(problem=problem, config=config, fault=fault and fault.line):
                    self.assertIn(records, fault.allowed if fault else [["ok"]])
                if records[-1:] != ["ok"]:
                    fallen[problem, config] = fault
        self.assertEqual(dict(verified), {}, "records of candidates that there are not")
        return fallen

    def check_winners(self, report, shapes, fallen):
        results = {one["problem"]: one for one in report["results"]}
        for problem in (problem_of(*shape) for shape in shapes):
            with self.subTest(problem=problem):
                self.assertEqual(results[problem]["ending"], "decided", str(results[problem]))
                decision = results[problem]["decision"]
                self.assertIsNone(decision["default"], "generated kernels are no default")
                for name in (decision["winner"], *decision["tied"]):
                    self.assertNotIn((problem, name.removeprefix(SOLVER)), fallen)


class CorruptKernels(Generated):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)

    def kinds(self):
        """Every (deed, step), in random order."""
        corruptions = ("scribble_after", "wrong_result", "nan")
        steps = [(deed, "AFTER_CALL" if deed in corruptions else "AT_CALL") for deed in STATUSES]
        steps += [(deed, "AT_LOAD") for deed in STATUSES if deed not in ONLY_AT_CALLS]
        steps += [(deed, "AT_UNLOAD") for deed in AT_UNLOAD]
        steps += [(deed, "-") for deed in COMPILERS]
        self.dice.shuffle(steps)
        return steps

    def corrupt(self, key, deed, step, number):
        statuses = COMPILERS[deed] if deed in COMPILERS else STATUSES[deed]
        if step == "AT_UNLOAD" or deed == "many_forks":
            return Corrupted(key, deed, step, statuses, late=True)
        draw = self.dice.random()
        if deed in faults.LOSES_THE_WORKER and draw < 0.2:
            return Corrupted(key, deed, step, {"ok"}, (f'ONCE "{self.folder}/once{number}"',))
        if deed in faults.LOSES_THE_WORKER and step == "AT_CALL" and draw < 0.5:
            return Corrupted(key, deed, step, statuses, (f"FROM {self.dice.choice(LATE_CALLS)}",), late=True)
        return Corrupted(key, deed, step, statuses)

    def test_every_fault_is_blamed_on_its_candidates_and_on_no_other(self):
        began, left, kinds, done, recoveries = time.monotonic(), FAULTS, [], [], []
        num_fallen = num_candidates = 0
        for turn in range(-(-FAULTS // FAULTS_A_RUN)):
            shapes = SHAPES[turn % len(SHAPES)][1 if left < FAULTS_A_RUN // 2 else 0:]
            keys = sorted({key_of(config) for shape in shapes for config in self.configs(problem_of(*shape))})
            corrupted = []
            for key in self.dice.sample(keys, min(left, FAULTS_A_RUN)):
                kinds = kinds or self.kinds()
                corrupted.append(self.corrupt(key, *kinds.pop(), len(done) + len(corrupted)))
            left -= len(corrupted)
            with self.subTest(run=turn):
                report, verified = self.tune(f"run{turn}", shapes, corrupted)
                num_candidates += len(verified)
                fallen = self.check_blame(shapes, corrupted, verified)
                self.check_winners(report, shapes, fallen)
                for one in corrupted:
                    if one.more and one.more[0].startswith("ONCE"):
                        self.assertTrue(Path(one.more[0].split('"')[1]).exists(), f"it did not happen: {one.line}")
                num_fallen += len(fallen)
                recoveries += faults.recoveries(report)
            done += corrupted
        print(f"{type(self).__name__}: {len(done)} sources corrupted, seed {SEED}, {time.monotonic() - began:.0f} s; "
              f"{num_fallen} of {num_candidates} candidates failed", flush=True)
        told = collections.Counter(f"{one.deed} {one.step.lower()}".removesuffix(" -") for one in done)
        print("  " + ", ".join(f"{name} {number}" for name, number in sorted(told.items())))
        faults.tell_recoveries(recoveries)


class FaultyCompilers(Generated):
    def test_a_source_that_all_need_is_blamed_on_all_and_another_library_wins(self):
        shapes = ((1, 16, 32),)
        report, verified = self.tune("pack", shapes, [Corrupted("pack", "cc_segfault", "-", {"crashed"})])
        self.assertEqual({tuple(records) for records in verified.values()}, {("crashed",)})
        self.assertEqual({config for _, config in verified}, set(self.configs(problem_of(*shapes[0]))))
        self.assertTrue(report["results"][0]["decision"]["winner"].startswith("portable."))
        self.assertEqual(report["recoveries_ms"], [])


class WhatHangs(Generated):
    def test_compilers_and_libraries_that_do_not_end_cost_nobody_else(self):
        shapes = ((1, 16, 32),)
        keys = sorted({key_of(config) for config in self.configs(problem_of(*shapes[0]))})
        corrupted = [Corrupted(keys.pop(), deed, "-", {"timed_out"}) for deed in HANGING]
        for deed, step in (("loop", "AT_UNLOAD"), ("sleep", "AT_UNLOAD"), ("stop", "AT_UNLOAD"), ("many_forks", "AT_CALL")):
            corrupted.append(Corrupted(keys.pop(), deed, step, STATUSES[deed], late=True))
        report, verified = self.tune("hanging", shapes, corrupted, "--compile-jobs", "5",
                                     "--compile-deadline", str(COMPILE_DEADLINE_S))
        self.check_winners(report, shapes, self.check_blame(shapes, corrupted, verified))


if __name__ == "__main__":
    story.main()
