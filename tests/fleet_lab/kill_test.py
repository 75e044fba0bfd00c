# SPDX-License-Identifier: MIT
"""Agents, their workers and the database are killed at random times: each job ends once, and the winners are those of a
run that nothing disturbs. One candidate of a hundred hangs, another crashes.

By default 200 jobs on one database. ATTUNE_LAB_LONG=1: 2,000 jobs on each, 40 kills, and as root a host name for each
agent, so that the leases of a dead one must expire. ATTUNE_FAULT_SEED: of times and faults (1).
"""
import collections
import contextlib
import ctypes
import itertools
import os
import random
import signal
import socket
import sqlite3
import time
import unittest
from pathlib import Path

import lab_case
import story

IS_LONG = bool(os.environ.get("ATTUNE_LAB_LONG"))
SEED = int(os.environ.get("ATTUNE_FAULT_SEED", "1"))
NUM_CONFIGURATIONS, NUM_KILLS, LIMIT_S = (667, 40, 480) if IS_LONG else (67, 8, 120)
NUM_AGENTS = 4
LEASE_S = 60
CLONE_NEWUTS = 0x04000000
FAKE = ("--devices", "fake:0", "--quiet-wait", "0")
STEPS = "perf_compile,perf_eval"
HAS_HOSTS = IS_LONG and os.getuid() == 0
SIZES = list(itertools.product(range(4, 10), range(4, 10), range(2, 10), range(4, 8)))[:NUM_CONFIGURATIONS]
# Jobs are excluded whose only default config is planted to fail; how it failed depends on the last kill.
ENDS = "SELECT c.problem, j.step, j.state FROM job j JOIN configuration c ON c.id = j.configuration"
WINNERS = "SELECT c.problem, d.winner FROM decision d JOIN configuration c ON c.id = d.configuration"
UNDISTURBED = []
DEFAULT = (64, 1)  # If it fails, its job is repeated after 30 s.
# Ends of an agent: nothing is left, jobs of others are, the store was away for too long.
KNOWN_ENDS = {0, 1, 3, -signal.SIGKILL}


def descendants(pid):
    """Of a process, which may end meanwhile."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class Kills:
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        self.agents, self.ends, self.seen = {}, collections.Counter(), set()
        self.away_until = collections.Counter()  # By agent: when it may be started again.

    def begin(self, reason, **how):
        lines = [f"MIOpenDriver conv -n 1 -c {c} -H {h} -W {w} -k {k} -y 3 -x 3 -p 1 -q 1 -F 1\n"
                 for h, w, c, k in SIZES]
        self.put("lines.txt", "".join(lines))
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt", **how)
        self.attune("solvers", "update", *FAKE[:2], **how)
        self.attune("session", "init", "-l", reason, *FAKE[:2], **how)
        self.attune("applicability", "update", "--session", "1", **how)
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", STEPS, "-o", "-l", reason, **how)

    def plant_faults(self):
        """In 1 % of the candidates each: one that hangs, one that crashes."""
        problems = [problem for problem, in self.sql("SELECT problem FROM configuration ORDER BY id")]
        candidates = [(problem, f"tile={tile};unroll={unroll}")
                      for problem in problems for tile in (16, 32, 64, 128) for unroll in (1, 2, 4)
                      if IS_LONG or (tile, unroll) != DEFAULT]
        self.dice.shuffle(candidates)
        count = len(problems) * 12 // 100
        self.planted = {"timed_out": candidates[:count], "crashed": candidates[count:2 * count]}
        path = self.put("faults.tsv", "".join(
            f"{problem}\t{config}\t{fault}\trun\talways\n"
            for fault, status in (("sleep", "timed_out"), ("segfault", "crashed"))
            for problem, config in self.planted[status]))
        self.faults = {"ATTUNE_FAKE_FAULTS": str(path)}

    def undisturbed(self):
        """How jobs of the same session end in a store of its own, and the winners; the same for all databases."""
        if UNDISTURBED:
            return UNDISTURBED
        store = {"ATTUNE_STORE": f"sqlite:{self.folder / 'undisturbed.db'}"}
        self.begin("undisturbed", env=store)
        running = [self.start("fleet", "run", "--session", "1", "--steps", STEPS, *FAKE, "--journal",
                              self.folder / f"undisturbed{i}.db", env={**store, **self.faults}) for i in range(NUM_AGENTS)]
        for one in running:
            self.assertIn(one.wait(timeout=LIMIT_S).status, (0, 1))
        with contextlib.closing(sqlite3.connect(self.folder / "undisturbed.db")) as database:
            UNDISTURBED.extend(set(database.execute(query)) for query in (ENDS, WINNERS))
        return UNDISTURBED

    # -- the disturbed run ---------------------------------------------------------------------------------------------

    def start_agents(self):
        for i in range(NUM_AGENTS):
            if i in self.agents and self.agents[i].has_ended():
                self.end_of(i)
            if i not in self.agents and time.monotonic() >= self.away_until[i]:
                if HAS_HOSTS:
                    self.move_to_host(f"node{i}")
                self.agents[i] = self.start("fleet", "run", "--session", "1", "--steps", STEPS, *FAKE, "--journal",
                                            self.folder / f"journal{i}.db", env=self.faults)

    @staticmethod
    def move_to_host(name):
        """Gives the programs started from now on a host name of their own."""
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUTS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        socket.sethostname(name)

    def end_of(self, i):
        result = self.agents.pop(i).wait()
        self.ends[result.status] += 1
        self.assertIn(result.status, KNOWN_ENDS, str(result))

    def kill(self, number):
        """An agent, or one of its workers. Every fifth agent comes back after its leases have expired."""
        i = self.dice.choice(sorted(self.agents))
        agent = self.agents[i].process.pid
        workers = descendants(agent)
        self.seen.update(workers)
        victim = agent if number % 2 or not workers else self.dice.choice(workers)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        if victim == agent and number % 10 == 1 and HAS_HOSTS:
            self.away_until[i] = time.monotonic() + LEASE_S + 10
        return "agent" if victim == agent else "worker"

    def restart_database(self):
        if self.server == "sqlite":
            return
        self.lab("stop")
        time.sleep(1)
        self.lab("start")

    def progress(self):
        """How many jobs have ended, of how many; checks the leases."""
        now = 1000 * time.time()
        ended, count, oldest = self.sql("SELECT sum(CASE WHEN state IN ('queued', 'leased') THEN 0 ELSE 1 END), count(*),"
                                        " min(CASE WHEN state = 'leased' THEN lease_until ELSE 9e15 END) FROM job")[0]
        self.assertGreater(float(oldest) - now, -1000 * LEASE_S, "a lease is older than twice its time")
        return int(ended), int(count)

    def disturb(self):
        """Kills until all jobs have ended."""
        self.start_agents()
        ended, count = self.progress()
        kills = collections.deque(sorted(self.dice.uniform(0.02, 0.95) * count for _ in range(NUM_KILLS)))
        restarts = collections.deque([0.35 * count, 0.7 * count])
        killed = collections.Counter()
        end = time.monotonic() + LIMIT_S
        while ended < count:
            self.assertLess(time.monotonic(), end, f"{count - ended} of {count} jobs are open")
            if kills and ended >= kills[0]:
                time.sleep(self.dice.uniform(0, 0.3))
                kills.popleft()
                killed[self.kill(len(kills))] += 1
            if restarts and ended >= restarts[0]:
                restarts.popleft()
                self.restart_database()
            self.start_agents()
            time.sleep(0.2)
            ended, count = self.progress()
        self.assertEqual((len(kills), len(restarts)), (0, 0))
        return killed, count

    def failed(self, status):
        """Candidates of the agents' journals."""
        return {(one["problem"], one["candidate"]["config"]) for i in range(NUM_AGENTS)
                for kind, one in self.journal(self.folder / f"journal{i}.db")
                if kind == "record" and one["outcome"]["status"] == status}

    def test_each_job_ends_once_whatever_is_killed(self):
        self.begin("disturbed")
        self.plant_faults()
        expected = self.undisturbed()
        began = time.monotonic()
        killed, count = self.disturb()
        for i in sorted(self.agents):
            self.end_of(i)
        seconds = time.monotonic() - began
        print(f"{self.server}: {count} jobs in {seconds:.0f} s, kills {dict(killed)}, ends of agents {dict(self.ends)},"
              f" attempts {dict(self.sql('SELECT class, count(*) FROM attempt GROUP BY class'))},"
              f" events {dict(self.sql('SELECT kind, count(*) FROM event GROUP BY kind'))}", flush=True)
        ends = self.sql(ENDS)
        self.assertLessEqual({state for _, _, state in ends}, {"done", "excluded"})
        self.assertGreater(sum(state == "done" for _, _, state in ends), 0.98 * count)
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE class = 'ok'"),
                         self.sql("SELECT count(*) FROM job WHERE state = 'done'"))
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE ended = 0"), [["0"]])
        for found, undisturbed in zip((ends, self.sql(WINNERS)), expected):
            self.assertEqual(sorted(set(map(tuple, found)) ^ undisturbed)[:4], [], "not as in the undisturbed run")
        for status, candidates in self.planted.items():  # A config that fails for many problems is not tried for more.
            self.assertGreaterEqual(2 * len(self.failed(status) & set(candidates)), len(candidates))
        self.assertEqual([pid for pid in self.seen if is_alive(pid)], [], "workers outlive their agents")


class KillsSqlite(Kills, lab_case.FileStory):
    pass


globals().update(lab_case.on_each_server(Kills))
ON_SERVERS = ("KillsPostgresql", "KillsMariadb")


def load_tests(loader, tests, pattern):
    """By default one database, of a server if one is installed."""
    names = [name for name in ON_SERVERS if lab_case.is_installed(globals()[name].server)] + ["KillsSqlite"]
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, [globals()[name] for name in (names if IS_LONG else names[:1])]))


if __name__ == "__main__":
    story.main()
