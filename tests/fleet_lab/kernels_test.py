# SPDX-License-Identifier: MIT
"""Agents with caches of their own share compiled kernels through the store. Each server with ATTUNE_LAB_LONG=1, else one."""
import os

import lab_case
import story

CPU = ("--devices", "cpu:0", "--quiet-wait", "0")


class Kernels:
    def begin(self):
        self.put("lines.txt", "MIOpenDriver conv -n 1 -c 4 -H 7 -W 7 -k 6 -y 1 -x 1 -F 1\n")
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", *CPU[:2])
        self.attune("session", "init", "-l", "why", *CPU[:2])
        self.attune("applicability", "update", "--session", "1")

    def load(self, steps, *more):
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", steps, "-o", "-l", "why", *more)

    def words(self, name, steps, more):
        return ("fleet", "run", "--session", "1", "--steps", steps, "--json", "--journal",
                str(self.folder / f"{name}.db"), *more)

    def machine(self, name, compiler=True):
        own = {"ATTUNE_CACHE": str(self.folder / name)}
        return own if compiler else {**own, "PATH": str(self.work)}

    def agent(self, name, steps, *more, compiler=True):
        """Runs an agent of a machine of its own."""
        return self.attune(*self.words(name, steps, more), env=self.machine(name, compiler), timeout=110)

    def start_agent(self, name, steps, *more):
        return self.start(*self.words(name, steps, more), env=self.machine(name))

    def kernels(self, name):
        return {path for path in story.snapshot(self.folder / name) if path.endswith("/kernel")}

    def test_agents_without_a_common_folder_share_them(self):
        self.begin()
        self.load("perf_compile,perf_eval", "--solvers", "conv.im2col,jit_cpu.conv")
        wait = ("--wait", "60s")
        compiles = self.start_agent("compile", "perf_compile", *wait)
        measured = self.agent("measure", "perf_eval", "--max-trials", "4", *CPU, *wait, compiler=False).json
        self.assertGreater(measured["deferred"], 0, "its search wants no kernels")
        self.assertEqual((measured["failed"], measured["left"]), (0, []), measured)
        self.assertEqual(compiles.wait().status, 0)
        self.assertEqual(self.sql("SELECT DISTINCT solver FROM shortlist ORDER BY solver"), [["conv.im2col"], ["jit_cpu.conv"]])
        self.assertTrue(self.kernels("measure"))
        self.assertLessEqual(self.kernels("measure"), self.kernels("compile"))
        count = self.sql("SELECT count(*) FROM built_kernel")
        self.assertEqual(count, [[str(len(self.kernels("compile")))]])
        # Another agent's kernels are damaged: it compiles them itself and stores them again.
        self.sql("UPDATE kernel_bytes SET bytes = 'x'")
        self.load("find_compile,find_eval")
        built = self.agent("second", "find_compile")
        self.assertIn("does not match its SHA-256", built.stderr)
        self.assertEqual((built.json["failed"], built.json["left"]), (0, []))
        refused = self.sql("SELECT text FROM event WHERE kind = 'kernel_refused'")
        self.assertEqual(len(refused), len(self.kernels("second")), refused)
        measured = self.agent("last", "find_eval", *CPU, compiler=False).json
        self.assertEqual((measured["failed"], measured["left"]), (0, []))
        self.assertEqual(self.kernels("last"), self.kernels("second"))


classes = lab_case.on_each_server(Kernels)
if not os.environ.get("ATTUNE_LAB_LONG"):
    classes.pop("KernelsMariadb")
globals().update(classes)

if __name__ == "__main__":
    story.main()
