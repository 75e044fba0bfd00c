# SPDX-License-Identifier: MIT
"""Reports about older tools, each shown to be absent here. The issues are those of ROCm's repositories on GitHub."""
import contextlib
import shutil
import sqlite3
import time

import lab_case
import story

PROBLEM = "conv direction=fwd n={} c=4 h=7 w=6 k=4 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32"
FAKE = ("--devices", "fake:0")
# Refuses every second kernel, by its text.
PICKY_COMPILER = """#!/bin/sh
case " $* " in *kernel.c*) [ $(($(cksum <kernel.c | cut -d' ' -f1) % 2)) = 0 ] || {{ echo 'kernel.c:1: error: no' >&2; exit 1; }};; esac
exec {compiler} "$@"
"""


class Reports(lab_case.FileStory):
    def begin(self, count=3, device="fake:0", *flags, steps="perf_compile,perf_eval", size="-c 4 -H 7 -W 6 -k 4", only=()):
        self.put("lines.txt", "".join(f"MIOpenDriver conv -n {n} {size} -y 3 -x 3 -p 1 -q 1 -F 1\n"
                                      for n in range(1, count + 1)))
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        devices = ("--devices", device, *flags)
        self.attune("solvers", "update", *devices)
        self.attune("session", "init", "-l", "why", *devices)
        self.attune("applicability", "update", "--session", "1")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", steps, "-o", "-l", "why", *only)

    def plant(self, *faults):
        """(n of the problem, config, what it does)"""
        path = self.put("faults.tsv", "".join(f"{PROBLEM.format(n)}\t{config}\t{what}\trun\talways\n"
                                              for n, config, what in faults))
        return {"ATTUNE_FAKE_FAULTS": str(path)}

    def run_agent(self, *flags, devices=FAKE, **how):
        return self.attune("fleet", "run", "--session", "1", *devices, "--quiet-wait", "0", *flags, **how)

    def statuses(self, n):
        """Of the candidates of a problem that were tried."""
        found = {}
        for kind, one in self.journal():
            if kind == "record" and one["problem"] == PROBLEM.format(n) and one["stage"] == "verify":
                found.setdefault(one["candidate"]["config"], one["outcome"]["status"])
        return found

    def exported(self, **how):
        return self.attune("export", "--session", "1", "-f", "-p", "-c", "-o", "files", "--json", **how).json

    def parameters(self):
        """Of the perf-db, by n."""
        (path,) = (self.work / "files").glob("*.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            return dict(database.execute("SELECT c.batchsize, p.params FROM perf_db p JOIN config c ON c.id = p.config"))

    def test_one_failed_compile_ends_nothing(self):
        """MIOpen#835: a kernel that does not compile ends the tuning of its configuration."""
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        picky = self.put("picky", PICKY_COMPILER.format(compiler=compiler))
        picky.chmod(0o755)
        self.begin(1, "cpu:0", size="-c 16 -H 14 -W 14 -k 32", only=("--solvers", "jit_cpu.conv"))
        env = {"ATTUNE_CC": str(picky), "ATTUNE_CACHE": str(self.folder / "kernels")}
        self.run_agent("--max-trials", "6", devices=("--devices", "cpu:0"), env=env, timeout=300)
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["done"]])
        self.assertEqual(self.sql("SELECT count(*) FROM decision"), [["1"]])
        statuses = [one["outcome"]["status"] for kind, one in self.journal() if kind == "record"]
        self.assertIn("compile_failed", statuses)
        self.assertIn("ok", statuses)

    def test_a_hang_costs_one_candidate_and_has_a_class_of_its_own(self):
        """rocMLIR#2430: a kernel that hangs ends the tuning, or counts as another failure."""
        self.begin(1)
        began = time.monotonic()
        self.run_agent(env=self.plant((1, "tile=16;unroll=2", "sleep")))
        self.assertLess(time.monotonic() - began, 30)
        statuses = self.statuses(1)
        self.assertEqual(statuses.pop("tile=16;unroll=2"), "timed_out")
        self.assertEqual((len(statuses), set(statuses.values())), (11, {"ok"}))
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["done"]])
        self.assertEqual(self.sql("SELECT count(*) FROM decision"), [["1"]])

    def test_no_file_holds_what_check_refuses(self):
        """MIOpen#1006, rocm-libraries#12088: files hold solvers or parameters that fail when they are used."""
        bad = [(1, "tile=16;unroll=2", "wrong_result"), (2, "tile=16;unroll=2", "segfault"), (3, "tile=32;unroll=2", "nan")]
        env = self.plant(*bad)
        self.begin(3)
        self.run_agent(env=env)
        self.assertEqual(self.exported()["lacking"], [])
        parameters = self.parameters()
        self.assertEqual(set(parameters), {1, 2, 3})
        for n, config, _ in bad:
            self.assertNotEqual(self.statuses(n)[config], "ok")
            self.assertNotEqual(parameters[n].replace(",", ";"), config)
        for path in sorted((self.work / "files").iterdir()):
            if path.suffix != ".lock":
                self.attune("check", path, *(FAKE if path.suffix == ".csv" else ()), env=env)

    def test_parameters_of_another_count_of_units_are_refused(self):
        """MIOpen#1392: parameters that were tuned for another number of compute units are used."""
        self.begin(1, "cpu:0", "--threads", "1", steps="find_compile,find_eval")
        refused = self.run_agent("--steps", "find_compile", "--threads", "2", devices=("--devices", "cpu:0"), status=4)
        self.assertIn("units", refused.stderr)
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["queued"]])
        done = self.run_agent("--threads", "1", "--max-trials", "1", devices=("--devices", "cpu:0"), status=None, timeout=120)
        self.assertEqual(done.status, 0, str(done))
        names = [one["file"].rsplit("/", 1)[-1] for one in self.exported()["files"]]
        self.assertTrue(all("_1." in name for name in names if "fdb" in name or ".db" in name), names)
        self.attune("golden", "update", "--golden_v", "1", "--session", "1", "--force")
        self.assertEqual([device.rpartition("/")[2] for device, in self.sql("SELECT DISTINCT device FROM golden")], ["1"])

    def test_no_file_lacks_a_configuration_silently(self):
        """MIOpen#420: entries are missing in the shipped files, and nothing says so."""
        self.begin(3)
        self.run_agent(status=None, env=self.plant((2, "tile=64;unroll=1", "wrong_result")))  # Its only default config.
        made = self.exported(status=1)
        ((one),) = made["lacking"]
        self.assertIn("n=2", str(one))
        self.assertTrue(one["reason"])
        self.assertEqual(set(self.parameters()), {1, 3})
        self.assertIn("the files lack 1 configuration", self.attune("export", "--session", "1", "-f", "-o", "files", status=1).stderr)


if __name__ == "__main__":
    story.main()
