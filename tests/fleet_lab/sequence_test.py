# SPDX-License-Identifier: MIT
"""A session from driver lines to MIOpen's files, with one agent that compiles and one that measures: the files have the
keys of a session in SQLite, and after kills only open work is done again.

ATTUNE_LAB_LONG=1: MITuna's resnet50.txt at batch 4 on this processor, with 4 candidates a search; else a few lines on
the fake device.
"""
import contextlib
import os
import random
import signal
import sqlite3
import time

import lab_case
import story

IS_LONG = bool(os.environ.get("ATTUNE_LAB_LONG"))
LINES_FILE = story.REPOSITORY.parent / "shared" / "data" / "mituna_configs" / "resnet50.txt"
DEVICE, HOW = (("cpu:0", ("--max-trials", "4")) if IS_LONG else ("fake:0", ()))
RUN = ("fleet", "run", "--session", "1", "--quiet-wait", "0", *HOW)
LIMIT_S = 3000 if IS_LONG else 120
NUM_KILLS = 10
IN_SQLITE = {}  # Keys of the files, the same for all servers.


class Sequence:
    def setUp(self):
        if IS_LONG and not LINES_FILE.exists():
            self.skipTest(f"the file is not here: {LINES_FILE}")
        super().setUp()

    def begin(self, **how):
        lines = LINES_FILE.read_text() if IS_LONG else "".join(
            f"MIOpenDriver conv -n {n} -c 4 -H 7 -W 6 -k {k} -y 3 -x 3 -p 1 -q 1 -F {direction}\n"
            for n, k in ((1, 4), (1, 6), (2, 4), (2, 6), (3, 4)) for direction in (1, 2, 4))
        self.put("lines.txt", lines)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt", *(("-b", "4") if IS_LONG else ()), **how)
        self.attune("solvers", "update", "--devices", DEVICE, **how)
        self.attune("session", "init", "-l", "why", "--devices", DEVICE, **how)
        self.attune("applicability", "update", "--session", "1", **how)
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "perf_compile,perf_eval", "-o", "-l", "why", **how)

    def start_agents(self, journal, **how):
        """One that compiles and one that measures."""
        journal = ("--journal", self.folder / journal)
        return [self.start(*RUN, "--steps", "perf_compile", *journal, **how),
                self.start(*RUN, "--steps", "perf_eval", "--devices", DEVICE, "--wait", "10m", *journal, **how)]

    def keys_of_files(self, folder, **how):
        """Of the find-db, the perf-db's configurations and the table."""
        self.attune("export", "--session", "1", "-f", "-p", "-k", "-c", "-o", folder, **how)
        keys = {}
        for path in (self.work / folder).iterdir():
            if path.name.endswith(".fdb.txt"):
                keys["find-db", path.name] = {line.split("=")[0] for line in path.read_text().splitlines()}
            elif path.suffix == ".db":
                with contextlib.closing(sqlite3.connect(path)) as database:
                    columns = [row[1] for row in database.execute("PRAGMA table_info(config)") if row[1] != "id"]
                    keys["perf-db", path.name] = set(database.execute(f"SELECT {', '.join(columns)} FROM config"))
            elif path.suffix == ".csv":
                keys["table", path.name] = len(self.rows(path.relative_to(self.work)))
            elif path.suffix != ".lock":
                keys["file", path.name] = True
        return keys

    def test_the_files_have_the_keys_of_a_session_in_sqlite(self):
        found = self.whole_sequence("server")
        if not IN_SQLITE:
            IN_SQLITE.update(self.whole_sequence("file", env={"ATTUNE_STORE": f"sqlite:{self.folder / 'other.db'}"}))
        self.assertEqual(found, IN_SQLITE)
        self.assertEqual(len(found), 5, list(found))
        self.assertTrue(all(found.values()))

    def whole_sequence(self, name, **how):
        began = time.monotonic()
        self.begin(**how)
        for agent in self.start_agents(name, **how):
            result = agent.wait(timeout=LIMIT_S)
            self.assertEqual(result.status, 0, str(result))
        keys = self.keys_of_files(name, **how)
        print(f"{self.server}: {name}: {time.monotonic() - began:.0f} s", flush=True)
        return keys

    def done(self):
        """Jobs that are done, with the tokens of their leases: another claim would raise it."""
        return {tuple(row) for row in self.sql("SELECT id, lease_token FROM job WHERE state = 'done'")}

    def test_after_kills_only_open_work_is_done_again(self):
        self.begin()
        count = int(self.sql("SELECT count(*) FROM job")[0][0])
        dice, points = random.Random(1), [(i + 0.5) / NUM_KILLS for i in range(NUM_KILLS)]
        end = time.monotonic() + LIMIT_S
        before, num_kills = set(), 0
        for point in points:
            agents = self.start_agents("journal")
            while len(done := self.done()) < point * count and not all(one.has_ended() for one in agents):
                self.assertLess(time.monotonic(), end, f"{len(done)} of {count} jobs are done")
                time.sleep(0.02)
            time.sleep(dice.uniform(0, 0.2))
            for agent in agents:
                num_kills += not agent.has_ended()
                agent.send(signal.SIGKILL)
                agent.wait()
            after = self.done()
            self.assertLessEqual(before, after, "a job was done again")
            before = after
        for agent in self.start_agents("journal"):
            result = agent.wait(timeout=LIMIT_S)
            self.assertEqual(result.status, 0, str(result))
        self.assertLessEqual(before, self.done(), "a job was done again")
        self.assertEqual(len(self.done()), count)
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE class = 'ok'"), [[str(count)]])
        verified = [(one["problem"], story.candidate_name(one["candidate"]), one["stage"])
                    for kind, one in self.journal(self.folder / "journal") if kind == "record" and one["stage"] == "verify"]
        self.assertEqual(len(verified), len(set(verified)), "a candidate was verified again")
        print(f"{self.server}: {count} jobs, {num_kills} agents killed at {NUM_KILLS} points", flush=True)


globals().update(lab_case.on_each_server(Sequence))

if __name__ == "__main__":
    story.main()
