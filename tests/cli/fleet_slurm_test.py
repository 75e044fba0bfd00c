# SPDX-License-Identifier: MIT
"""`fleet status` and `fleet drain` beside a Slurm of scripts: its queue and its calls are files."""
import json

import story
from fleet_setup_test import LINES

SQUEUE = """#!/bin/sh
echo 'squeue: warning: a plugin is old' >&2
look=$(cat {work}/looks)
echo $((look + 1)) > {work}/looks
[ -e {work}/queue$look.json ] || look=last
cat {work}/queue$look.json
"""
SCANCEL = """#!/bin/sh
echo "$*" >> {work}/calls
"""


class Slurm(story.Story):
    def setUp(self):
        super().setUp()
        self.put("lines.txt", LINES)
        self.attune("configs", "import", "-t", "t", "-f", "lines.txt")
        self.attune("solvers", "update", "--devices", "fake:0")
        self.attune("session", "init", "-l", "why", "--devices", "fake:0")
        for name, text in (("squeue", SQUEUE), ("scancel", SCANCEL)):
            self.put(f"bin/{name}", text.format(work=self.work)).chmod(0o755)
        self.comment = ""
        self.look_at([])
        self.comment = self.attune("fleet", "status", "--session", "1", "--json").json["slurm_comment"]

    def environment(self, **more):
        own = super().environment()
        return {**own, "PATH": f"{self.work / 'bin'}:{own['PATH']}", **more}

    def look_at(self, *looks):
        """What squeue lists at each look, the last for good: tasks of array 12 and their states."""
        self.put("looks", "0")
        self.put("calls", "")
        for i, jobs in enumerate(looks):
            jobs = [{"job_id": 20 + task, "array_job_id": 12, "array_task_id": task, "comment": self.comment,
                     "name": "attune-1-eval", "job_state": state, "restart_cnt": restarts} for task, state, restarts in jobs]
            name = "last" if i + 1 == len(looks) else i
            self.put(f"queue{name}.json", json.dumps({"jobs": jobs}))

    def drain(self):
        drained = self.attune("fleet", "drain", "--session", "1", "--json").json
        return drained["ending"], drained["cancelled"], self.read("calls").splitlines()


class Status(Slurm):
    def test_a_warning_of_squeue_is_no_part_of_its_answer(self):
        self.look_at([(0, "RUNNING", 0)])
        shown = self.attune("fleet", "status", "--session", "1", "--json").json
        self.assertEqual([one["job"] for one in shown["slurm"]], ["12_0"])

    def test_a_slurm_that_fails_is_one_sentence_of_the_same_words(self):
        self.put("bin/squeue", "#!/bin/sh\necho 'note of the site'\necho 'no controller' >&2\nexit 1\n")
        says = "Slurm's squeue failed, try it by hand: no controller"
        shown = self.attune("fleet", "status", "--session", "1")
        self.assertIn("note: the agents under Slurm are not shown: " + says, shown.stderr)
        self.refused("fleet", "drain", "--session", "1", status=3, says=says)
        self.put("bin/squeue", "#!/bin/sh\necho 'no json'\n")
        says = "Slurm's squeue printed no list of jobs"
        self.assertIn(says, self.attune("fleet", "status", "--session", "1").stderr)
        self.refused("fleet", "drain", "--session", "1", status=3, says=says)


class Drain(Slurm):
    def test_an_agent_that_starts_meanwhile_is_told_too_and_each_once(self):
        self.look_at([(0, "RUNNING", 0), (1, "PENDING", 0)], [(0, "RUNNING", 0), (1, "RUNNING", 0)],
                     [(0, "COMPLETING", 0), (1, "RUNNING", 0)], [])
        self.assertEqual(self.drain()[2], ["--quiet --state=PENDING 12", "--quiet --batch --signal=TERM 12_0",
                                           "--quiet --batch --signal=TERM 12_1"])

    def test_an_agent_that_slurm_queues_again_is_cancelled(self):
        self.look_at([(0, "COMPLETING", 0)], [(0, "COMPLETING", 0)], [(0, ["PENDING", "REQUEUED"], 1)], [])
        self.assertEqual(self.drain(), (0, 1, ["--quiet --state=PENDING 12"]))

    def test_agents_that_no_signal_reaches_are_cancelled(self):
        self.look_at([(0, "SUSPENDED", 0), (1, "CONFIGURING", 0), (2, "FAILED", 0)], [])
        self.assertEqual(self.drain(), (0, 2, ["--quiet 12_0 12_1"]))

    def test_an_agent_that_never_ends_holds_it_for_five_seconds(self):
        self.put("bin/squeue", SQUEUE.format(work=self.work) + "sleep 1\n")
        self.look_at([(0, "COMPLETING", 0)])
        self.assertEqual(self.drain(), (0, 0, []))
        self.assertLess(int(self.read("looks")), 6)

    def test_nothing_is_asked_of_a_queue_without_agents(self):
        self.assertEqual(self.drain(), (0, 0, []))


if __name__ == "__main__":
    story.main()
