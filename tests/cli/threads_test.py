# SPDX-License-Identifier: MIT
"""The number of threads that rows are for, as flag and variables state it, on the processor this runs on."""
import json
import os
import re
import shlex
import unittest

import story

PROBLEM = "gemm_a16w16 m=4 n=16 k=32 dtype=fp32"
CORES = len(os.sched_getaffinity(0))
TUNE = ("tune", "-i", "shapes.csv", "-o", "t.csv", "--quiet-wait", "0", "--libtype", "portable", "--max-trials", "2",
        "--iters", "3")


class Threads(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", "M,N,K,bias,dtype,outdtype\n4,16,32,False,fp32,fp32\n")

    def limits(self):
        """The cu_num of each row of the table."""
        return sorted(int(row["cu_num"]) for row in self.rows("t.csv"))

    def test_rows_are_for_the_threads_of_the_flag(self):
        self.attune(*TUNE, "--threads", "1")
        self.assertEqual(self.limits(), [1])

    @unittest.skipIf(CORES < 2, "one core: every row is for one thread")
    def test_rows_for_several_limits_stand_side_by_side(self):
        self.attune(*TUNE, "--threads", "2,1,2")
        self.assertEqual(self.limits(), [1, 2])
        with self.untouched("t.csv"):
            self.assertEqual(self.attune(*TUNE, "--threads", "1,2").stdout.count("1 shape tuned before"), 2)
        self.attune(*TUNE, "--threads", "1", "--all")
        self.assertEqual(self.limits(), [1, 2])
        for limit in (1, 2):
            flag = ("--threads", str(limit))
            row = next(row for row in self.rows("t.csv") if row["cu_num"] == str(limit))
            answer = self.attune("explain", PROBLEM, "-t", "t.csv", *flag, "--json").json
            self.assertEqual((answer["match"], answer["candidate"]), ("exact", row["kernelName"]))
            checked = [row["status"] for row in self.attune("check", "t.csv", "--no-run", *flag, "--json").json]
            self.assertEqual(sorted(checked), ["foreign device", "loaded"])

    @unittest.skipIf(CORES < 2, "one core: every row is for one thread")
    def test_a_limit_leaves_the_next_one_its_cores_without_a_worker_too(self):
        self.attune(*TUNE, "--threads", "1,2", "--isolation", "none")
        self.assertEqual(self.limits(), [1, 2])

    def test_rows_are_for_the_threads_of_either_variable(self):
        for variable in ("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "ATTUNE_THREADS"):
            with self.subTest(variable):
                (self.work / "t.csv").unlink(missing_ok=True)
                self.attune(*TUNE, env={variable: "1"})
                self.assertEqual(self.limits(), [1])

    @unittest.skipIf(CORES < 2, "one core: every limit is the process's own")
    def test_the_command_that_repeats_a_result_runs_it_on_as_many_threads(self):
        decision = self.attune(*TUNE, "--threads", "1", "--json", "--journal", "j.db").json["results"][0]["decision"]
        shown = self.attune("explain", PROBLEM, "--threads", "1", "--journal", "j.db", "--json").json["decision"]
        kept, = map(json.loads, self.attune("journal", "show", "--journal", "j.db", "--json").stdout.splitlines())
        timed, = self.attune("bench", PROBLEM, "--solver", "portable.gemm", "--iters", "3", "--threads", "1", "--json").json["candidates"]
        for one in (decision, shown, kept, timed):
            command = shlex.split(one["repeat"])
            self.assertEqual(command[-4:], ["--devices", "cpu:0", "--threads", "1"])
            again = self.attune(*command[1:], "--iters", "3", "--json").json
            self.assertEqual(again["device"].rpartition("/")[2], "1")
        own = self.attune("bench", PROBLEM, "--solver", "portable.gemm", "--iters", "3", "--json").json["candidates"][0]
        self.assertNotIn("--threads", own["repeat"])

    def test_other_devices_keep_their_units(self):
        limits = f"1,{CORES + 1}"
        answer = self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", "--devices", "fake:0", "--threads", limits)
        self.assertEqual(answer.stderr.count("--threads limits a host; other devices keep the units that they have: fake:0"), 1)
        self.assertEqual(self.limits(), [4])

    @unittest.skipIf(CORES < 2, "one core: everything runs on one thread")
    def test_a_small_problem_without_a_row_runs_untuned_on_one_thread(self):
        if not any(one["id"] == "onednn.gemm" and one["available"] for one in self.attune("list", "solvers", "--json").json):
            self.skipTest("the threshold of oneDNN is not used without oneDNN")
        self.put("t.csv", "gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName\n")
        for sizes, threads in (("m=1 n=16 k=16", 1), ("m=256 n=256 k=256", CORES)):
            problem = f"gemm_a16w16 {sizes} dtype=fp32"
            served, = re.findall("served by a default config: (.*)", self.attune("explain", problem, "-t", "t.csv").stdout)
            self.assertRegex(served, rf"^onednn.gemm@.*;threads={threads}$")
            untuned = self.attune("bench", problem, "--iters", "1", "--json").json["candidates"]
            self.assertIn(f";threads={CORES}", next(one["candidate"] for one in untuned if one["candidate"].startswith("onednn.gemm@")))

    def test_bad_limits(self):
        self.refused(*TUNE, env={"ATTUNE_THREADS": "x"}, says="ATTUNE_THREADS expects a number of threads from 1, got 'x'")
        self.refused("paths", env={"ATTUNE_THREADS": "0"}, says="got '0'")
        for command in (TUNE, ("bench", PROBLEM), ("explain", PROBLEM), ("coverage",)):
            self.refused(*command, "--threads", str(CORES + 1), says=f": {CORES + 1}, the limit is ")
            self.refused(*command, "--threads", "0", says="--threads: expected a number above 0, got '0'")
        self.refused(*TUNE, "--threads", "2", env={"ATTUNE_THREADS": "1"}, says=": 2, the limit is 1")
        if CORES >= 2:
            for flag in (("--json",), ("--profile_file", "p.csv"), ("--keep", "kept")):
                self.refused(*TUNE, "--threads", "1,2", *flag, says="run once for each number of threads")

    def test_commands_say_for_how_many_threads_they_speak(self):
        self.attune(*TUNE, "--threads", "1")
        on = r"on x86-\S+/1 with 1 thread\b"
        for command, said in ((("bench", PROBLEM, "--solver", "portable.gemm", "--iters", "3"), f"^gemm_a16w16 .* {on}$"),
                           (("check", "t.csv", "--no-run"), f"^t.csv {on}$"),
                           (("explain", PROBLEM, "-t", "t.csv"), on + r" \("),
                           (("coverage", "-t", "t.csv"), r"^1 row of x86-\S+/1 with 1 thread, 0 that")):
            with self.subTest(command[0]):
                first, *_ = self.attune(*command, "--threads", "1").stdout.splitlines()
                self.assertRegex(first, said)
        key = self.attune("bench", PROBLEM, "--iters", "3", "--threads", "1", "--json").json["device"]
        self.assertEqual(key.rpartition("/")[2], "1")
        self.assertEqual([row["device"] for row in self.attune("check", "t.csv", "--no-run", "--threads", "1", "--json").json], [key])
        if len(os.sched_getaffinity(0)) > 1:
            other = self.attune("check", "t.csv", "--quiet-wait", "0", status=1)
            self.assertIn("rows are for another number of threads: --threads 1 checks them", other.stderr)
        listed = self.attune("list", "devices", env={"ATTUNE_THREADS": "1"}).stdout
        self.assertRegex(listed, r"(?m)^cpu:0 .* 1 thread  ")
        self.assertRegex(listed, r"(?m)^fake:0 .* 4 units  ")


if __name__ == "__main__":
    story.main()
