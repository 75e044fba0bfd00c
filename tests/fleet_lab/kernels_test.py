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

    def agent(self, name, steps, *more, compiler=True, **how):
        """Runs an agent of a machine of its own."""
        machine = {"ATTUNE_CACHE": str(self.folder / name)}
        if not compiler:
            machine["PATH"] = str(self.work)
        return self.attune("fleet", "run", "--session", "1", "--steps", steps, "--json", "--max-trials", "4", "--journal",
                           str(self.folder / f"{name}.db"), *more, env=machine, timeout=110, **how)

    def kernels(self, name):
        return {path for path in story.snapshot(self.folder / name) if path.endswith("/kernel")}

    def test_agents_without_a_common_folder_share_them(self):
        self.begin()
        self.load("perf_compile,perf_eval", "--solvers", "jit_cpu.conv")
        for _ in range(4):
            self.agent("compile", "perf_compile")
            measured = self.agent("measure", "perf_eval", *CPU, compiler=False, status=None)
            if not measured.json["deferred"]:
                break
        self.assertEqual((measured.status, measured.json["failed"], measured.json["left"]), (0, 0, []), str(measured))
        self.assertEqual(self.sql("SELECT DISTINCT solver FROM shortlist"), [["jit_cpu.conv"]])
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
