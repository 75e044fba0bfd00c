# SPDX-License-Identifier: MIT
"""Agents whose database goes away: they go on, send their results later, and give up after their patience.

ATTUNE_LAB_OUTAGE_S: for how long it is away (2).
"""
import contextlib
import os
import re
import signal
import time
from pathlib import Path

import lab_case
import story

OUTAGE_S = float(os.environ.get("ATTUNE_LAB_OUTAGE_S", "2"))
FAKE = ("--devices", "fake:0", "--quiet-wait", "0")


class Agent:
    def begin(self, count):
        self.put("lines.txt", "".join(f"MIOpenDriver conv -n {n} -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1\n"
                                      for n in range(1, count + 1)))
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", *FAKE[:2])
        self.attune("session", "init", "-l", "why", *FAKE[:2])
        self.attune("applicability", "update", "--session", "1")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "perf_compile,perf_eval", "-o", "-l", "why")

    def start_agent(self, *more, **how):
        return self.start("fleet", "run", "--session", "1", "--steps", "perf_compile,perf_eval", *FAKE, "--json", *more, **how)

    def server_processes(self):
        """The server's process and those that serve connections."""
        first = int(re.search(r"runs as process (\d+)", self.lab("status")).group(1))
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def wait_for_line(self, agent, words):
        for _ in range(600):
            if words in agent.errors():
                return
            time.sleep(0.05)
        self.fail(f"not said: {words}; said: {agent.errors()}")

    def wait_for_results(self, count):
        for _ in range(600):
            if int(self.sql("SELECT count(*) FROM job WHERE state = 'done' AND step = 'perf_eval'")[0][0]) >= count:
                return
            time.sleep(0.05)
        self.fail("no results")

    def check_each_job_ended_once(self):
        self.assertEqual(self.sql("SELECT DISTINCT state FROM job"), [["done"]])
        self.assertEqual(self.sql("SELECT count(*) FROM attempt WHERE class = 'ok'"), self.sql("SELECT count(*) FROM job"))
        self.assertEqual(self.sql("SELECT count(*) FROM job WHERE attempts > 1"), [["0"]])

    def test_goes_on_after_the_database_was_away(self):
        self.begin(40)
        agents = [self.start_agent("--journal", str(self.folder / f"journal{i}.db")) for i in range(2)]
        self.wait_for_results(3)
        self.lab("stop")
        time.sleep(OUTAGE_S)
        self.lab("start")
        back = time.monotonic()
        results = [agent.wait(timeout=120) for agent in agents]
        print(f"{self.server}: all done {time.monotonic() - back:.1f} s after the database was back")
        for result in results:
            self.assertEqual(result.status, 0, str(result))
        self.assertTrue(any("answers again" in result.stderr for result in results), str(results[0]))
        self.check_each_job_ended_once()

    def test_a_server_that_is_frozen_is_away(self):
        self.begin(12)
        agent = self.start_agent("--patience", "60s", env={"ATTUNE_STORE_TIMEOUT_S": "2"})
        self.wait_for_results(1)
        processes = self.server_processes()
        self.assertTrue(processes)
        for one in processes:
            os.kill(one, signal.SIGSTOP)
        try:
            self.wait_for_line(agent, "results wait in the journal")
        finally:
            for one in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGCONT)
        result = agent.wait(timeout=120)
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("answers again", result.stderr)
        self.check_each_job_ended_once()

    def test_gives_up_after_its_patience_and_a_later_run_sends_what_it_had(self):
        self.begin(12)
        agent = self.start_agent("--patience", "1s")
        self.wait_for_results(1)
        self.lab("stop")
        try:
            result = agent.wait(timeout=60)
        finally:
            self.lab("start")
        self.assertEqual(result.status, 3, str(result))
        self.assertIn("does not answer", str(result.json["left"]))
        again = self.start_agent().wait(timeout=120)
        if again.status == 1:  # Leases of the first run had not ended.
            again = self.start_agent().wait(timeout=120)
        self.assertEqual(again.status, 0, str(again))
        self.check_each_job_ended_once()


globals().update(lab_case.on_each_server(Agent))

if __name__ == "__main__":
    story.main()
