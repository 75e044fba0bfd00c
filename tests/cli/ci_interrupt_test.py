# SPDX-License-Identifier: MIT
"""`attune ci run` where something fails or interrupts it: what is tuned is published, and the next call goes on."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import story
from ci_run_test import FAKE_ARGUMENTS, LIST, SLOW, CiRun
from tables_test import REST, TUNED


class Failures(CiRun):
    def test_a_table_or_list_that_cannot_be_read_is_named_and_left_as_it_is(self):
        self.shapes("1,40,40")
        self.put("configs/model_configs/x_" + TUNED, "gfx,cu_num,M\0\n")
        self.ci(status=1)
        family, = self.results()["families"]
        self.assertIn(f"configs/model_configs/x_{TUNED}:1", family["failure"])
        self.assertEqual((family["done"], family["shapes"]), (False, []))
        os.remove(self.work / "configs/model_configs" / ("x_" + TUNED))
        self.table("configs/" + TUNED, "fake,4,x,32,48" + REST + ",fake,-1,1,1,k,0,0,0")
        with self.untouched("configs/" + TUNED):
            self.ci(status=1)
        self.assertIn(f"configs/{TUNED}:2", self.results()["families"][0]["failure"])
        self.assertIn(f"configs/{TUNED}:2", self.read("ci-results/report.md"))
        os.remove(self.work / "configs" / TUNED)
        self.shapes("seven,40,40")
        self.ci(status=1)
        self.assertIn(LIST + ":2", self.results()["families"][0]["failure"])

    def test_what_an_earlier_call_cannot_have_written_is_told_in_a_sentence(self):
        self.shapes("1,40,40")
        self.ci()
        inputs = self.results()["inputs"]
        for ending in (5, None, ["done"]):
            self.put("ci-results/results.json", json.dumps({"ending": ending}))
            self.refuses("--config-dir", "configs", says="does not say how it ended, remove the folder")
        for name, families in (("before.json", "x"), ("before.json", {"gemm_a16w16": "x"}), ("before.json", {"gemm_a16w16": [1]}),
                               ("before.json", {"gemm_a16w16": {"num_findings": "x", "shapes": []}}),
                               ("before.json", {"gemm_a16w16": {"device": 5, "shapes": []}}), ("after.json", [1])):
            with self.subTest(name, families=families):
                self.put("ci-results/results.json", json.dumps({"version": 1, "ending": "running", "inputs": inputs}))
                self.put("ci-results/" + name, json.dumps({"version": 1, "families": families}))
                result = self.ci(status=1)
                self.assertIn("cannot be read, remove the folder of the run", result.stderr)
                self.assertIn("cannot be read, remove the folder of the run", self.results()["families"][0]["failure"])
                self.ci()  # It is done, and is begun anew.

    def test_a_folder_of_results_that_is_removed_is_the_machines_failure_and_what_is_tuned_is_published(self):
        sizes = Interrupts.SIZES
        self.shapes(*sizes)
        running = self.start("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS)
        log = self.work / "ci-results" / "log.txt"
        while running.process.poll() is None and not (log.exists() and "tune: begins" in log.read_text()):
            time.sleep(0.001)
        shutil.rmtree(self.work / "ci-results")
        result = running.wait()
        self.assertEqual(result.status, 3, str(result))
        self.assertIn("attune: what was tuned is published, the results are not whole: the folder of the results was removed", result.stderr)
        self.assertEqual(len(self.rows("configs/" + TUNED)), len(sizes))
        self.assertFalse((self.work / "ci-results").exists(), "a part of one would keep the next call from it")
        self.ci()

    def test_a_reader_that_goes_away_does_not_end_the_run(self):
        self.shapes("1,40,40")
        reading, writing = os.pipe()
        os.close(reading)
        run = subprocess.run([story.PROGRAM, "ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS], cwd=self.work,
                             env=self.environment(), stdout=subprocess.DEVNULL, stderr=writing, timeout=60)
        os.close(writing)
        self.assertEqual((run.returncode, self.results()["ending"]), (0, "done"))


class Interrupts(CiRun):
    SIZES = [f"{m},32,16" for m in range(200, 250, 10)]

    def undisturbed(self):
        self.shapes(*self.SIZES)
        self.ci()
        return self.verdicts(), self.decided()

    def test_what_is_tuned_is_published_and_the_next_call_goes_on(self):
        self.shapes(*self.SIZES)
        running = self.start("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS)
        while running.process.poll() is None and not (self.work / "configs" / (TUNED + ".lock")).exists():
            if self.count("decision") >= 2:
                break
            time.sleep(0.01)
        running.send(signal.SIGTERM)
        result = running.wait()
        self.assertEqual(result.status, 143, str(result))
        answer = self.results()
        self.assertEqual((answer["ending"], answer["status"], answer["families"][0]["done"]), ("interrupted", 143, False))
        num_published = len(self.rows("configs/" + TUNED))
        self.assertGreaterEqual(num_published, 2)
        self.assertIn("was interrupted", result.stdout)
        self.refuses("--config-dir", "configs", "--arguments", FAKE_ARGUMENTS + " --seed 1", says="unfinished run with other inputs")
        result = self.ci()
        self.assertIn("goes on with the run", result.stderr)
        self.assertEqual((self.results()["ending"], len(self.rows("configs/" + TUNED))), ("done", len(self.SIZES)))
        self.assertEqual(len(self.decided()), len(set(self.decided())))
        # There was no table before the run, and what the interrupted part of it has published is none of that time.
        self.assertFalse((self.work / "ci-results/before" / TUNED).exists())

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "a device of one core has no other one")
    def test_an_unfinished_run_is_not_gone_on_with_on_another_device(self):
        self.shapes("4,16,16", "5,16,16")
        command = ("ci", "run", "--config-dir", "configs", "--arguments", "--devices cpu:0 --quiet-wait 0 --libtype portable --max-trials 2")
        running = self.start(*command)
        log = self.work / "ci-results" / "log.txt"
        while running.process.poll() is None and not (log.exists() and "tune: begins" in log.read_text()):
            time.sleep(0.001)
        running.send(signal.SIGKILL)
        self.assertEqual(running.wait().status, -signal.SIGKILL)
        began = json.loads(self.read("ci-results/began.json"))["devices"]["gemm_a16w16"]
        cores = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cores)
        os.sched_setaffinity(0, {min(cores)})
        refused = self.refuses(*command[2:], says=("an unfinished run of another device", began))
        self.assertIn("/1 (", refused.stderr)
        os.sched_setaffinity(0, cores)
        # The key alone names no machine.
        key, fingerprint = re.fullmatch(r"(\S+) \(([0-9a-f]{32})\)", began).groups()
        text = self.read("ci-results/began.json")
        for other in (f"{key} ({fingerprint[::-1]})", "", 5):
            self.put("ci-results/began.json", text.replace(json.dumps(began), json.dumps(other)))
            self.refuses(*command[2:], says="an unfinished run of another device")
        self.put("ci-results/began.json", text)
        self.attune(*command, status=None)
        self.assertIn("goes on with the run", self.read("ci-results/log.txt"))
        self.assertEqual((self.results()["ending"], self.results()["families"][0]["fingerprint"]), ("done", fingerprint))

    def test_a_journal_that_is_replaced_before_a_run_goes_on_has_what_the_run_writes_then(self):
        self.shapes("9,40,40")
        self.ci("-o", "earlier")  # The run begins behind entries that the next journal does not have.
        self.shapes(*self.SIZES)
        running = self.start("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS)
        log = self.work / "ci-results" / "log.txt"
        while running.process.poll() is None and not (log.exists() and "tune: begins" in log.read_text()):
            time.sleep(0.001)
        running.send(signal.SIGKILL)
        running.wait()
        for file in self.home.glob("journal.db*"):
            file.unlink()
        self.assertIn("goes on with the run", self.ci().stderr)
        kinds = [json.loads(line)["type"] for line in self.read("ci-results/journal.jsonl").splitlines()]
        self.assertEqual((kinds[:1], kinds.count("decision")), (["run_begin"], self.count("decision")))
        self.assertGreater(self.count("decision"), 0)

    def test_killed_at_any_point_the_verdicts_are_those_of_a_run_that_was_not(self):
        began = time.monotonic()
        verdicts, decided = self.undisturbed()
        seconds = time.monotonic() - began
        for part in (0.2, 0.5, 0.8):
            with self.subTest(part):
                for folder in (self.home, self.work):
                    shutil.rmtree(folder)
                os.makedirs(self.work / "configs")
                self.shapes(*self.SIZES)
                running = self.start("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS)
                time.sleep(seconds * part)
                running.send(signal.SIGKILL)
                if running.wait().status != 0:  # A busy machine may have been quicker this time.
                    self.ci()
                self.assertEqual(self.verdicts(), verdicts)
                self.assertEqual(self.decided(), decided)

    def test_a_signal_in_any_step_publishes_what_is_tuned_and_the_next_call_goes_on(self):
        sizes = self.SIZES[:3]
        self.shapes(*sizes)
        slow = [self.row(size, 5, kernel=SLOW) for size in sizes]
        command = ("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS + " --all")
        self.table("configs/" + TUNED, *slow)
        self.attune(*command)
        verdicts, table = self.verdicts(), self.read("configs/" + TUNED)
        for said, number in (("validate: ", signal.SIGINT), ("tune: begins", signal.SIGTERM), ("table: ", signal.SIGINT),
                             ("after: ", signal.SIGTERM)):
            with self.subTest(said):
                for folder in (self.home, self.work / "ci-results"):
                    shutil.rmtree(folder)
                self.table("configs/" + TUNED, *slow)
                running = self.start(*command)
                log = self.work / "ci-results" / "log.txt"
                while running.process.poll() is None and not (log.exists() and "gemm_a16w16: " + said in log.read_text()):
                    time.sleep(0.001)
                running.send(number)
                result, answer = running.wait(), self.results()
                if said == "after: ":  # All steps are done; what is left is to write.
                    self.assertIn((result.status, answer["ending"]), ((128 + number, "interrupted"), (0, "done")), str(result))
                else:
                    self.assertEqual((result.status, answer["ending"], answer["status"]), (128 + number, "interrupted", 128 + number),
                                     str(result))
                    self.assertNotIn("slower", {one[1] for one in self.verdicts()})
                self.assertEqual(self.read("ci-results/configs/" + TUNED), self.read("configs/" + TUNED))
                if answer["ending"] != "done":
                    self.attune(*command)
                self.assertEqual((self.results()["ending"], self.verdicts()), ("done", verdicts))
                self.assertEqual(self.read("configs/" + TUNED), table)
                self.assertEqual(len(self.decided()), len(set(self.decided())))

    def test_a_second_run_into_the_same_folder_is_refused_as_long_as_the_first_one_lives(self):
        self.shapes(*self.SIZES)
        first = self.start("ci", "run", "--config-dir", "configs", "--arguments", FAKE_ARGUMENTS)
        while first.process.poll() is None and not (self.work / "ci-results" / "log.txt").exists():
            time.sleep(0.001)
        second = self.ci(status=3)
        self.assertEqual(len(second.stderr.splitlines()), 1, str(second))
        self.assertIn("another run writes its results there", second.stderr)
        first.send(signal.SIGKILL)
        first.wait()
        self.assertIn("goes on with the run", self.ci().stderr)  # The lock of a killed run is no obstacle.

    def test_a_call_that_was_killed_while_it_wrote_its_first_file_leaves_no_obstacle(self):
        self.shapes("1,40,40")
        absent = 2**22 + 1  # No process has such a number.
        for name in ("run.lock", f".results.json.{absent}.2.tmp", f".before.json.{absent}.3.tmp"):
            self.put("ci-results/" + name, "{")
            self.ci()
            self.assertEqual([one for one in os.listdir(self.work / "ci-results") if one.endswith(".tmp")], [])
            if name == "run.lock":
                shutil.rmtree(self.work / "ci-results")
                self.put("ci-results/run.lock", "")


if __name__ == "__main__":
    story.main()
