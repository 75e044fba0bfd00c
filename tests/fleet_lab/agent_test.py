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
IDLE_BEGIN_S, IDLE_S = 3, 8
FAKE = ("--devices", "fake:0", "--quiet-wait", "0")


def ticks_of(pid):
    """Processor time of a process and its descendants, in clock ticks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12]) + sum(map(ticks_of, children))


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

    def num_questions(self):
        """Statements that the server has answered so far."""
        if self.server == "mariadb":
            return int(self.sql("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1])
        return int(self.sql("SELECT sum(calls) FROM pg_stat_statements", "postgres")[0][0])

    def count_questions(self):
        """Has a server count that does not by itself."""
        if self.server == "postgresql":
            self.sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
            self.lab("stop")
            self.lab("start")
            self.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "postgres")

    def check_is_idle(self, agent):
        """At most a statement a second and 1 % of a core, of all its processes."""
        time.sleep(IDLE_BEGIN_S)
        questions, ticks, began = self.num_questions(), ticks_of(agent.process.pid), time.monotonic()
        time.sleep(IDLE_S)
        seconds = time.monotonic() - began
        used = (ticks_of(agent.process.pid) - ticks) / os.sysconf("SC_CLK_TCK") / seconds
        rate = (self.num_questions() - questions - 1) / seconds
        print(f"{self.server}: an idle agent sends {rate:.2f} statements a second and uses {100 * used:.2f} % of a core", flush=True)
        self.assertFalse(agent.has_ended(), agent.errors())
        self.assertLessEqual(rate, 1)
        self.assertLessEqual(used, 0.01)
        agent.send(signal.SIGKILL)
        agent.wait()

    def test_an_agent_without_a_job_is_idle(self):
        self.count_questions()
        self.begin(1)
        self.sql("UPDATE job SET state = 'leased', lease_until = 1125899906842624, agent = 'another/1/x-1' WHERE step = 'perf_compile'")
        with self.subTest("another agent holds the job"):
            self.check_is_idle(self.start_agent("--wait", "60s"))
        self.sql("UPDATE job SET state = 'queued', lease_until = 0, agent = '', not_before = 1125899906842624")
        with self.subTest("a job is repeated later"):
            self.check_is_idle(self.start_agent())

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
