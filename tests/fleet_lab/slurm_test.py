# SPDX-License-Identifier: MIT
"""Agents under Slurm: a cluster of four virtual nodes, and the store on PostgreSQL or MariaDB, all of tools/lab.

ATTUNE_LAB_LONG=1: nodes are killed with their agents, one is drained and the controller is restarted (two minutes).
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

import lab_case
import story

FAKE = ("--devices", "fake:0", "--quiet-wait", "0")
STEPS = "perf_compile,perf_eval"
DRAIN_S = 20
TAKE_OVER_S = 90
CONFIGURATIONS = 40  # For nodes that are lost.


class SlurmStory(lab_case.LabStory):
    server = "postgresql" if any(Path("/usr/lib/postgresql").glob("*/bin/postgres")) else "mariadb"

    @classmethod
    def setUpClass(cls):
        if not os.access(story.PROGRAM, os.X_OK):
            raise unittest.SkipTest("the user of tools/lab cannot read the program, run the test as a plain user")
        super().setUpClass()
        began = time.monotonic()
        cls.slurm_environment = dict(re.findall(r"export (\w+)=(.*)", cls.lab("start", "slurm")))
        print(f"Slurm: up in {time.monotonic() - began:.1f} s")
        cls.addClassCleanup(cls.lab, "stop", "slurm")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.cancel_all)

    def environment(self, **more):
        return super().environment(**{**self.slurm_environment, **more})

    def slurm(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **self.slurm_environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def cancel_all(self):
        self.slurm("scancel", "--user", str(os.getuid()))
        self.wait_for(lambda: not self.slurm("squeue", "-h"), 30, "Slurm's queue is not empty")

    def wait_for(self, is_true, timeout, what):
        end = time.monotonic() + timeout
        while not is_true():
            if time.monotonic() > end:
                self.fail(f"{what}\n{self.logs()}\n{self.slurm('squeue')}")
            time.sleep(0.1)

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text()[-2000:]}" for path in sorted(self.work.glob("*.log")))

    def begin(self, count):
        self.put("lines.txt", "".join(f"MIOpenDriver conv -n {n} -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n"
                                      for n in range(1, count + 1)))
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", *FAKE[:2])
        self.attune("session", "init", "-l", "why", *FAKE[:2])
        self.attune("applicability", "update", "--session", "1")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", STEPS, "-o", "-l", "why")

    def submit(self, *more, nodes=4, cores=2, **how):
        return self.attune("fleet", "submit", "--session", "1", "--steps", STEPS, "--nodes", str(nodes), "--time", "10m",
                           "--cores", str(cores), *FAKE, *more, **how)

    def status(self):
        return self.attune("fleet", "status", "--session", "1", "--json").json

    def count(self, condition):
        return int(self.sql(f"SELECT count(*) FROM job WHERE {condition}")[0][0])

    def wait_for_all(self, timeout):
        self.wait_for(lambda: self.count("state IN ('queued', 'leased')") == 0, timeout, "jobs are left")

    def check_each_job_ended_once(self):
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["done"]])
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE class = 'ok'"), self.sql("SELECT count(*) FROM job"))
        self.assertEqual(self.sql("SELECT count(*) FROM job WHERE attempts > 0"), [["0"]])


class Agents(SlurmStory):
    def test_arrays_of_agents_work_until_nothing_is_left(self):
        self.begin(20)
        printed = self.submit("--print").stdout
        self.assertNotIn(self.password, printed)
        self.assertEqual(self.slurm("squeue", "-h"), "")
        self.assertEqual(printed.count("#!/bin/sh"), 2)
        began = time.monotonic()
        submitted = self.submit("--json").json
        self.assertEqual([(one["kind"], one["agents"]) for one in submitted], [("compile", 4), ("eval", 4)])
        shown = self.status()
        self.assertEqual({one["name"] for one in shown["slurm"]}, {"attune-1-compile", "attune-1-eval"})
        self.wait_for_all(60)
        print(f"Slurm: {self.count('1 = 1')} jobs in {time.monotonic() - began:.1f} s")
        self.check_each_job_ended_once()
        self.assertGreater(len(self.sql("SELECT DISTINCT agent FROM attempt")), 2)
        self.wait_for(lambda: self.status()["slurm"] == [], 30, "agents do not end")
        self.assertIn("Slurm has no agents", self.attune("fleet", "status", "--session", "1").stdout)
        for path in self.work.glob("*.log"):
            self.assertIn("done", path.read_text(), path.name)
            self.assertNotIn(self.password, path.read_text())

    def test_drained_agents_give_their_jobs_back(self):
        self.begin(150)
        self.submit(nodes=20)  # More than there are cores for: some wait.
        self.wait_for(lambda: self.count("state = 'done' AND step = 'perf_eval'") >= 1, 60, "no results")
        drained = self.attune("fleet", "drain", "--session", "1", "--json").json
        began = time.monotonic()
        self.assertGreater(drained["ending"], 0)
        self.wait_for(lambda: not self.slurm("squeue", "-h"), DRAIN_S + 10, "agents do not end")
        seconds = time.monotonic() - began
        print(f"Slurm: {drained['ending']} agents drained in {seconds:.1f} s")
        self.assertLess(seconds, DRAIN_S)
        self.assertEqual(self.count("state = 'leased'"), 0)
        self.assertGreater(self.count("state = 'queued'"), 0)
        self.assertEqual(self.count("state NOT IN ('done', 'queued')"), 0)
        self.assertIn("0 agents told to end", self.attune("fleet", "drain", "--session", "1").stdout)

    def test_an_array_that_slurm_refuses_leaves_none_behind(self):
        self.begin(1)
        real = shutil.which("sbatch")
        self.put("bin/sbatch", f'#!/bin/sh\n[ -e {self.work}/once ] && {{ echo "quota" >&2; exit 1; }}\n'
                               f'touch {self.work}/once\nexec {real} "$@"\n').chmod(0o755)
        path = {"PATH": f"{self.work / 'bin'}:{os.environ['PATH']}"}
        said = self.submit("--json", env=path, status=3).json["error"]["message"]
        self.assertRegex(said, r"^Slurm's sbatch failed, try it by hand: quota; cancelled what was submitted before: job \d+$")
        self.wait_for(lambda: not self.slurm("squeue", "-h"), 10, "the first array is left")

    def test_what_cannot_be_submitted_is_one_sentence(self):
        self.begin(1)
        submit = ("fleet", "submit", "--session", "1", "--time")
        for arguments, says in (((*submit, "4h", "--partition", "a b"), "--partition must consist of"),
                                ((*submit, "1m"), "--time must be between"), ((*submit, "soon"), "--time expects"),
                                ((*submit, "4h", "--wait", "soon"), "--wait expects"),
                                (("fleet", "submit", "--session", "9", "--time", "4h"), "9")):
            self.refused(*arguments, says=says)
        self.refused(*submit, "4h", "--partition", "none", status=3, says="sbatch failed, try it by hand: ")
        self.refused(*submit, "99999999999999999h", says="--time must be between 5 minutes and a year, got 1e+17h")
        path = {"PATH": str(self.work)}
        self.refused(*submit, "4h", env=path, status=3, says="install Debian's package slurm")
        self.refused("fleet", "drain", "--session", "1", env=path, status=3, says="install Debian's package slurm")
        self.assertIn("not installed", self.attune("fleet", "status", "--session", "1", env=path).stderr)
        self.refused(*submit, "4h", env={"ATTUNE_STORE": f"sqlite:{self.folder / 'x.db'}"}, says="SQLite serves one machine")


@unittest.skipUnless(os.environ.get("ATTUNE_LAB_LONG"), "ATTUNE_LAB_LONG is not set: it takes minutes")
class LostNodes(SlurmStory):
    def setUp(self):
        super().setUp()
        self.stopped = []
        self.addCleanup(lambda: [self.send(pid, signal.SIGKILL) for pid in self.stopped])

    def pid(self, daemon):
        return int((self.lab_folder / "slurm" / "run" / f"{daemon}.pid").read_text())

    @staticmethod
    def send(pid, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def processes_of(self, node):
        """What a node's jobs run, and the daemons that watch over them."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"SLURMD_NODENAME={node}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
                    parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                    if (Path("/proc") / str(parent) / "comm").read_text().strip() == "slurmstepd":
                        found.add(parent)
        return found

    def lose(self, node, number):
        """Ends a node and sends a signal to its agents; returns the leases that these hold."""
        self.send(self.pid(f"slurmd.{node}"), signal.SIGKILL)
        processes = self.processes_of(node)
        for pid in processes:
            self.send(pid, number)
        leases = self.sql("SELECT id, lease_token, agent FROM job WHERE state = 'leased'")
        lost = [(job, token) for job, token, agent in leases if int(agent.split("/")[1]) in processes]
        if number == signal.SIGSTOP:
            self.stopped.extend(processes)
        return lost

    def measuring_nodes(self):
        return [job["node"] for job in self.status()["slurm"] if job["name"].endswith("eval") and job["state"] == "RUNNING"]

    def has_moved(self, leases):
        now = dict((job, token) for job, token in self.sql("SELECT id, lease_token FROM job WHERE state = 'leased'"))
        return all(now.get(job) != token for job, token in leases)

    def test_each_job_ends_once_whatever_happens_to_nodes(self):
        self.begin(CONFIGURATIONS)
        for i in range(4):  # An agent on each node, with a journal of its own as on nodes of their own.
            self.submit("--journal", str(self.folder / f"journal{i}.db"), nodes=1, cores=5)
        self.wait_for(lambda: self.count("state = 'done' AND step = 'perf_eval'") >= 5, 60, "no results")
        os.kill(self.pid("slurmctld"), signal.SIGTERM)
        time.sleep(2)
        self.lab("start", "slurm")
        self.wait_for(lambda: len(self.measuring_nodes()) == 4, 60, "agents do not measure on all nodes")
        killed, silent, drained, _ = self.measuring_nodes()
        leases = self.lose(killed, signal.SIGKILL) + self.lose(silent, signal.SIGSTOP)
        began = time.monotonic()
        self.slurm("scontrol", "update", f"nodename={drained}", "state=drain", "reason=test")
        running = [job["job"] for job in self.status()["slurm"] if job["node"] == drained and job["state"] == "RUNNING"]
        if running:
            self.slurm("scancel", "--batch", "--signal=TERM", *running)
        self.wait_for(lambda: self.has_moved(leases), TAKE_OVER_S, "jobs of lost nodes do not run elsewhere")
        print(f"Slurm: {len(leases)} jobs of two lost nodes moved in {time.monotonic() - began:.1f} s")
        self.wait_for_all(400)
        for pid in self.stopped:
            self.send(pid, signal.SIGCONT)
        time.sleep(5)
        self.check_each_job_ended_once()
        print(f"Slurm: {self.sql('SELECT kind, count(*) FROM event GROUP BY kind')}")


if __name__ == "__main__":
    lab_case.run_as_plain_user()
    story.main()
