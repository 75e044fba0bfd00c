# SPDX-License-Identifier: MIT
"""Online tuning's other end: `attune online` empties the queue that applications fill."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import story

HEADER = "M,N,K,bias,dtype,outdtype\n"
ONE, TWO = "1,32,48,False,fp32,fp32\n", "2,24,32,False,fp32,fp32\n"
ONLINE = ("online", "--device", "fake:0")


class Online(story.Story):
    def setUp(self):
        super().setUp()
        self.online = self.home / "online" / "fake_0-fake-4"
        self.list = self.online / "bf16_untuned_gemm.csv"
        self.overlay = self.home / "overlay" / "bf16_tuned_gemm.csv"

    def queue(self, *rows, header=HEADER):
        self.online.mkdir(parents=True, exist_ok=True)
        self.list.write_text(header + "".join(rows))

    def tuned(self):
        if not self.overlay.exists():
            return []
        return sorted((int(row["M"]), int(row["N"])) for row in story.rows_of(self.overlay.read_text()))

    def attempts(self):
        return story.rows_of((self.online / "attempts.csv").read_text())

    def wait_until(self, met):
        end = time.monotonic() + 30
        while not met():
            self.assertLess(time.monotonic(), end, "nothing of the kind within 30 s")
            time.sleep(0.005)


class Queue(Online):
    def test_what_waits_is_tuned_into_the_overlay(self):
        self.queue(ONE, TWO)
        result = self.attune(*ONLINE)
        self.assertIn("2 shapes tuned, 0 given up", result.stderr)
        self.assertEqual(self.tuned(), [(1, 32), (2, 24)])
        self.assertFalse(self.list.exists(), "the queue is empty")
        self.assertEqual(self.attempts(), [])
        self.assertEqual(self.count("decision"), 2, "the evidence is in the journal")

    def test_nothing_waits(self):
        self.assertIn("0 shapes tuned", self.attune(*ONLINE).stderr)
        self.assertFalse(self.overlay.exists())

    def test_rows_that_are_there_are_kept_and_not_measured_again(self):
        self.queue(ONE)
        self.attune(*ONLINE)
        before = self.overlay.read_text()
        self.queue(ONE, TWO)
        self.attune(*ONLINE)
        self.assertTrue(self.overlay.read_text().startswith(before))
        self.assertEqual(self.tuned(), [(1, 32), (2, 24)])
        self.assertEqual(self.count("decision"), 2)

    def test_a_line_that_is_no_shape_is_reported_and_skipped(self):
        self.queue("what is this\n", ONE, "1,-5,x,False,fp32,fp32\n")
        result = self.attune(*ONLINE)
        self.assertIn(f"{self.list}:2", result.stderr)
        self.assertIn(f"{self.list}:4", result.stderr)
        self.assertEqual(self.tuned(), [(1, 32)])
        self.assertFalse(self.list.exists())

    def test_a_queue_that_is_no_list_is_moved_away(self):
        self.queue('"torn', header="")
        self.assertIn("not a list of shapes", self.attune(*ONLINE).stderr)
        self.assertEqual((self.online / "bf16_untuned_gemm.csv.bad").read_text(), '"torn')
        self.assertFalse(self.list.exists())

    def test_a_kind_whose_devices_programs_share_has_no_unused_ones(self):
        self.queue(ONE)
        self.attune(*ONLINE, "--unused")
        self.assertEqual(self.tuned(), [(1, 32)])

    def test_other_devices_have_queues_of_their_own(self):
        self.queue(ONE)
        other = self.home / "online" / "fake_0-fake-8"
        os.rename(self.online, other)
        self.attune(*ONLINE)
        self.assertTrue((other / "bf16_untuned_gemm.csv").exists())
        self.assertEqual(self.tuned(), [])


class GivenUp(Online):
    def test_a_shape_that_comes_to_nothing_is_not_tried_again_before_retry(self):
        self.queue(ONE)
        result = self.attune(*ONLINE, "--timeout", "0.000001s")
        self.assertIn("given up: gemm_a16w16 m=1 ", result.stderr)
        self.assertEqual(self.tuned(), [])
        self.assertFalse(self.list.exists())
        self.assertIn("cut", self.attempts()[0]["given_up"])
        self.queue(ONE)
        self.assertIn("1 given up", self.attune(*ONLINE).stderr)
        self.assertEqual(self.tuned(), [])
        self.assertIn("1 shape tuned, 0 given up", self.attune(*ONLINE, "--retry").stderr)
        self.assertEqual(self.tuned(), [(1, 32)])
        self.assertEqual(self.attempts(), [])

    def test_a_shape_that_ends_the_program_each_time_is_given_up_and_others_are_not(self):
        self.queue(ONE, TWO)
        self.attune("online", "--device", "fake:0", "--timeout", "0.000001s")
        key = self.attempts()[0]["problem"]
        version = self.attempts()[0]["attune"]
        self.queue(ONE, TWO)
        (self.online / "attempts.csv").write_text(f"problem,attune,begun,given_up\n{key},{version},5,\n")
        self.assertIn("its tuning was started 5 times", self.attune(*ONLINE).stderr)
        self.assertEqual(len(self.tuned()), 1)
        (self.online / "attempts.csv").write_text(f"problem,attune,begun,given_up\n{key},0.0.0,5,\n")
        self.queue(ONE, TWO)
        self.attune(*ONLINE)
        self.assertEqual(len(self.tuned()), 2, "another version may be able to")


class Processes(Online):
    def test_a_second_one_ends_at_once_while_the_first_has_the_turn(self):
        self.queue(ONE)
        with open(self.online / "tuning.lock", "w", encoding="utf-8") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            result = self.attune(*ONLINE)
            self.assertIn("another process already tunes", result.stderr)
            self.assertLess(result.seconds, 5)
            self.assertTrue(self.list.exists())
            self.assertEqual(self.attune(*ONLINE, "--background").stderr, "")
        self.attune(*ONLINE)
        self.assertEqual(self.tuned(), [(1, 32)])

    def test_killed_in_the_middle_and_run_again(self):
        self.queue(*(f"{m},32,48,False,fp32,fp32\n" for m in range(1, 13)))
        running = self.start(*ONLINE)
        self.wait_until(lambda: self.tuned() or running.has_ended())
        running.send(signal.SIGKILL)
        self.assertEqual(running.wait().status, -signal.SIGKILL)
        self.assertTrue(self.list.exists())
        self.attune(*ONLINE)
        self.assertEqual(self.tuned(), [(m, 32) for m in range(1, 13)])
        self.assertFalse(self.list.exists())
        self.assertEqual(self.attempts(), [])

    def test_told_to_stop_it_keeps_the_rest_of_the_queue(self):
        self.queue(*(f"{m},32,48,False,fp32,fp32\n" for m in range(1, 41)))
        running = self.start(*ONLINE)
        self.wait_until(lambda: self.tuned() or running.has_ended())
        running.send(signal.SIGTERM)
        result = running.wait()
        self.assertIn(result.status, (128 + signal.SIGTERM, -signal.SIGTERM), str(result))
        left = len(self.list.read_text().splitlines()) - 1
        self.assertGreater(left, 0)
        self.assertEqual([one for one in self.attempts() if one["given_up"]], [])
        self.attune(*ONLINE)
        self.assertEqual(len(self.tuned()), 40)

    def add(self, row):
        """As an application does it: under the file's lock, the file replaced as a whole."""
        self.online.mkdir(parents=True, exist_ok=True)
        with open(f"{self.list}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            new = self.online / "new"
            new.write_text((self.list.read_text() if self.list.exists() else HEADER) + row)
            new.rename(self.list)

    def test_no_shape_is_left_lying_when_many_add_and_start_at_once(self):
        running = []
        for m in range(1, 13):
            self.add(f"{m},32,48,False,fp32,fp32\n")
            running.append(self.start(*ONLINE))
            time.sleep(0.05)
        for one in running:
            self.assertEqual(one.wait().status, 0)
        self.assertFalse(self.list.exists())
        self.assertEqual(self.tuned(), [(m, 32) for m in range(1, 13)])

    def test_a_shape_that_comes_between_the_last_look_and_the_end_of_the_turn_is_tuned(self):
        self.online.mkdir(parents=True)
        read, write = os.pipe()
        os.set_blocking(write, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(write, b"x" * 4096)
        os.set_blocking(write, True)
        # Its last words do not fit into the pipe: it stands still with the turn, after its last look.
        first = subprocess.Popen([story.PROGRAM, *ONLINE], cwd=self.work, env=self.environment(), stderr=write)
        self.addCleanup(first.kill)
        os.close(write)
        with open(self.online / "tuning.lock", "a", encoding="utf-8") as turn:
            self.wait_until(lambda: not self.has_turn(turn))
        time.sleep(0.3)
        self.add(ONE)
        self.assertIn("another process already tunes", self.attune(*ONLINE).stderr)
        with open(read, "rb") as pipe:
            self.assertIn(b"1 shape tuned, 0 given up", pipe.read().lstrip(b"x"))
        self.assertEqual(first.wait(), 0)
        self.assertEqual(self.tuned(), [(1, 32)])

    def test_when_its_starter_was_killed_it_ends_after_what_it_has_begun(self):
        self.queue(*(f"{m},32,48,False,fp32,fp32\n" for m in range(1, 201)))
        starter = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", story.PROGRAM, *ONLINE, "--background"],
                                   cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL)
        self.wait_until(self.tuned)
        starter.kill()
        starter.wait()
        with open(self.online / "tuning.lock", "w", encoding="utf-8") as turn:
            self.wait_until(lambda: self.has_turn(turn))
        self.assertLess(len(self.tuned()), 200)
        self.assertEqual(len(self.list.read_text().splitlines()) - 1, 200 - len(self.tuned()))

    @staticmethod
    def has_turn(turn):
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(turn, fcntl.LOCK_UN)
        return True

    def test_in_the_background_all_it_says_is_in_the_log(self):
        self.queue(ONE)
        (self.home / "online" / "log.txt").write_text("x" * (1 << 20) + "older\n")
        result = self.attune(*ONLINE, "--background")
        self.assertEqual((result.stdout, result.stderr), ("", ""))
        log = (self.home / "online" / "log.txt").read_text()
        self.assertIn("1 shape tuned, 0 given up", log)
        self.assertNotIn("older", log)
        self.queue(TWO)
        self.attune(*ONLINE, "--background")
        self.assertTrue((self.home / "online" / "log.txt").read_text().startswith(log), "appended")

    def test_an_overlay_that_cannot_be_written_keeps_the_queue(self):
        self.queue(ONE)
        self.overlay.parent.mkdir(parents=True)
        self.overlay.write_text("what,is,this\n1,2,3\n")
        result = self.attune(*ONLINE, status=2)
        self.assertIn(str(self.overlay), result.stderr)
        for _ in range(5):  # No shape's doing, so none is given up for it.
            self.attune(*ONLINE, status=2)
        self.assertTrue(self.list.exists())
        self.overlay.unlink()
        self.attune(*ONLINE)
        self.assertEqual(self.tuned(), [(1, 32)])

    def test_bad_input(self):
        self.refused("online", "--device", "gpu:9", says="gpu:9")
        self.refused(*ONLINE, "--max-trials", "0", says="--max-trials")
        self.refused(*ONLINE, "--timeout", "soon", says="soon")


APPLICATION = Path(__file__).resolve().parent / "online_application.py"
SHAPE = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"


@unittest.skipUnless("ATTUNE_LIBRARY" in os.environ, "libattune.so is named by ATTUNE_LIBRARY")
class Application(Online):
    def serve(self, shape=SHAPE, seconds=60, **variables):
        environment = self.environment(**{"ATTUNE_LIBRARY": os.environ["ATTUNE_LIBRARY"], "ATTUNE_DEVICE": "fake:0",
                                          "ATTUNE_PROGRAM": str(story.PROGRAM)} | variables)
        if story.HAS_ADDRESS_SANITIZER:  # It must be loaded before anything else.
            runtime = subprocess.run(["c++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
            environment["LD_PRELOAD"] = runtime.stdout.strip()
        return subprocess.run([sys.executable, APPLICATION, shape, str(seconds)], env=environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=120)

    def served(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_a_missed_shape_is_tuned_beside_the_application_and_swapped_in(self):
        for variable, value in (("ATTUNE_ONLINE_TUNING", "1"), ("HIP_ONLINE_TUNING", "true")):
            with self.subTest(variable):
                shutil.rmtree(self.home, ignore_errors=True)
                seen = self.served(self.serve(**{variable: value}))
                self.assertEqual((seen["first"], seen["last"], seen["ready"]), ("fallback", "exact", True))
                self.assertLess(seen["longest_s"], 5, "no call waits for the tuning")
                self.assertEqual(self.tuned(), [(1, 32)])

    def test_it_is_off_by_default(self):
        self.assertEqual(self.served(self.serve(seconds=1))["last"], "fallback")
        self.assertFalse(self.online.exists())

    def test_a_program_that_is_not_there_is_said_and_the_application_runs_on(self):
        result = self.serve(seconds=0.2, ATTUNE_ONLINE_TUNING="1", ATTUNE_PROGRAM="/nowhere/attune")
        self.assertEqual(self.served(result)["last"], "fallback")
        self.assertEqual(result.stderr.count("online tuning is off: "), 1, result.stderr)

    def test_tables_that_replace_all_others_are_not_tuned_for(self):
        table = self.folder / "own.csv"
        table.write_text("gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName\n")
        result = self.serve(seconds=0.5, ATTUNE_ONLINE_TUNING="1", ATTUNE_CONFIG_GEMM_BF16=str(table), ATTUNE_CONFIG_STRICT="1")
        self.assertEqual(self.served(result)["last"], "fallback")
        self.assertIn("its tables are given explicitly and replace all others", result.stderr)


if __name__ == "__main__":
    story.main()
