# SPDX-License-Identifier: MIT
"""What a command line may say: devices, values and their limits, flags given twice. Every refusal is the program's own
sentence, and lists what is allowed."""
import json

import story
from story import FAKE

SIZE = ("tune", "-m", "1", "-n", "8", "-k", "8")
PROBLEM = "gemm_a16w16 m=1 n=8 k=8 dtype=fp32"


class Devices(story.Story):
    def test_an_empty_name_is_no_device(self):
        for command in (SIZE, ("list", "candidates", PROBLEM), ("explain", PROBLEM), ("tables",), ("online",)):
            with self.subTest(command):
                self.refused(*command, "--devices", "", says="--devices: expected a value, got an empty one")
                for names in ("fake:0,", ",fake:0", "fake:0,,fake:1", ","):
                    self.refused(*command, "--devices", names,
                                 says=f"--devices: expected names of devices, one of '{names}' is empty")

    def knows_gpus(self):
        """Whether the build has a kind of GPU: one without the CUDA toolkit has none."""
        return any(one["id"] == "jit_cuda.gemm" for one in self.attune("list", "solvers", "--json").json)

    def test_older_names_of_gpus_name_devices(self):
        for flags, first in ((("--gpu_ids", "1001,1003"), "cuda:1001"), (("--gpu_ids", "1023"), "cuda:1023"), (("--ngpus", "1024"), "cuda:")):
            refused = self.attune(*SIZE, *flags, status=2).stderr
            if self.knows_gpus():
                self.assertRegex(refused, f"unknown device, this machine has no '{first}.*'; choose one of cpu:0")
            else:
                self.assertIn("this build knows no GPUs, name devices with --devices", refused)
        self.refused(*SIZE, "--ngpus", "1", "--gpu_ids", "0", says="--ngpus cannot be combined with --gpu_ids: both name devices")
        for flags in (("--ngpus", "0"), ("--ngpus", "two"), ("--gpu_ids", "-1"), ("--gpu_ids", "0,x"), ("--gpu_ids", "[0,1]")):
            self.assertIn(f"{flags[0]}: expected a whole number", self.attune(*SIZE, *flags, status=2).stderr)
        for numbers in (",", "0,", "0,,1"):
            self.refused(*SIZE, "--gpu_ids", numbers, says=f"--gpu_ids: expected names of devices, one of '{numbers}' is empty")
        self.assertIn("--gpu_ids is given twice", self.attune(*SIZE, "--gpu_ids", "0", "--gpu_ids", "1", status=2).stderr)

    def test_a_flag_that_may_be_repeated_leaves_the_positional_behind_it(self):
        self.put("t.csv", "gfx,cu_num,M,N,K,us,kernelName\n")
        self.put("list.csv", "M,N,K\n1,8,8\n")
        for command in (("coverage", "-t", "t.csv", "list.csv"), ("capture", "show", "-t", "t.csv", "list.csv"),
                        ("bench", *FAKE, "--candidate", "fake.gemm@1", PROBLEM), ("bench", *FAKE, "-t", "t.csv", PROBLEM)):
            with self.subTest(command):
                text = self.attune(*command, status=None).stderr
                self.assertNotIn("no such", text)
                self.assertNotRegex(text, "needs|required|unexpected|list.csv:1|unknown family|gemm_a16w16 m=1")
        self.assertIn("journal", self.attune("journal", "show", "--status", "ok", "--journal", "gone.db", status=2).stderr)

    def test_a_command_of_one_device_says_so(self):
        for command in (("coverage",), ("tables",), ("tables", "merge", "a.csv", "-o", "b.csv"), ("check", "t.csv"), ("online",),
                        ("explain", PROBLEM), ("bench", PROBLEM), ("list", "candidates", PROBLEM)):
            with self.subTest(command):
                self.put("a.csv", "M,N,K,us\n")
                self.refused(*command, "--devices", "fake:0,fake:1",
                             says="this command works on one device, got 'fake:0,fake:1'")

    def devices_of(self, *flags):
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},16,16,fp32\n" for m in range(1, 9)))
        result = self.attune("tune", "-i", "shapes.csv", "-o", f"{flags[-1]}.csv", "--journal", f"{flags[-1]}.db", "--quiet-wait", "0", "--json", *flags)
        return {one["decision"]["device_id"] for one in json.loads(result.stdout)["results"]}, result.stderr

    def test_as_many_worker_processes_as_asked_for_run_one_a_device(self):
        for number, expected in (("1", {"fake:0"}), ("0", {"fake:0", "fake:1"}), ("2", {"fake:0", "fake:1"})):
            with self.subTest(number):
                devices, notes = self.devices_of("--devices", "fake:0,fake:1", "--mp", number)
                self.assertEqual(devices, expected)
                self.assertNotIn("--mp", notes)
        devices, notes = self.devices_of("--devices", "fake:0", "--mp", "3")
        self.assertEqual(devices, {"fake:0"})
        self.assertIn("note: --mp 3: there is fake:0, and no other", notes)

    def test_several_workers_of_a_device_give_the_rows_of_one(self):
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},16,16,fp32\n" for m in range(1, 9)))
        for number, subject in (("1", "The device was"), ("2", "The workers kept the device"), ("4", "The workers kept the device")):
            printed = self.attune("tune", "-i", "shapes.csv", "-o", f"{number}.csv", "--sort", "--journal", f"{number}.db",
                                  "--devices", "fake:0", "--workers", number).stdout
            self.assertIn(f"\n{subject} busy for ", printed)
        rows = self.read("1.csv")
        self.assertEqual(len(rows.splitlines()), 9)
        for number in ("2", "4"):
            self.assertEqual(self.read(f"{number}.csv"), rows)

    def test_workers_that_a_device_cannot_have_are_refused(self):
        for flags, why in ((("--devices", "fake:0", "--workers", "5"), "--workers 5: fake:0 has at most 4"),
                           (("--devices", "cpu:0", "--workers", "2"), "--workers 2: cpu:0 has one, because what others prepare"),
                           (("--devices", "fake:0", "--isolation", "none", "--workers", "2"), "several workers need a process each")):
            self.refused(*SIZE, *flags, says=why)


class Values(story.Story):
    REFUSED = (
        ("-m 99999999999999999999", "-m: expected a whole number from 1 to 2147483647, got '99999999999999999999'"),
        ("-m 1.5", "-m: expected a whole number, got '1.5'"),
        ("--seed 99999999999999999999", "--seed: expected a whole number from 0 to 9223372036854775807, got '9"),
        ("--batch 99999999999999999999", "--batch: expected a whole number from 1 to 9223372036854775807, got '9"),
        ("--iters 99999999999", "--iters: expected a whole number from 1 to 4294967295, got '99999999999'"),
        ("--warmup 99999999999", "--warmup: expected a whole number from 0 to 4294967295, got '99999999999'"),
        ("--jobs 2000", "--compile-jobs: expected a whole number from 0 to 1024, got '2000'"),
        ("--errRatio 3", "--errRatio: expected a number from 0 to 1, got '3'"),
        ("--run-deadline 1e9", "--run-deadline: expected a number from 0.01 to 1000000, got '1e9'"),
        ("--require nope", "--require: expected deterministic or batch-invariant, got 'nope'"),
        ("--search nope", "--search: expected race, exhaustive, random, local, model or classic, got 'nope'"),
        ("--isolation nope", "--isolation: expected process or none, got 'nope'"),
        ("--inputs nope", "--inputs: expected cold, warm or served, got 'nope'"),
        ("--init_type nope", "--init_type: expected randn, hpl, trig_float or zeros, got 'nope'"),
        ("--journal", "--journal needs a value"),
        ("--compare=x", "--compare takes no value, got 'x'"),
    )

    def test_a_refusal_says_what_is_allowed(self):
        for flags, sentence in self.REFUSED:
            with self.subTest(flags):
                self.refused("tune", *FAKE, *flags.split(), says=(sentence, "; see attune tune --help"))
        self.refused("list", "nope", says="what: expected solvers, devices, ops or candidates, got 'nope'")

    def test_a_python_must_be_a_program(self):
        for command in (SIZE, ("list", "candidates", PROBLEM), ("kernels", "build", "--table", "t.csv")):
            for python in ("/no/such/python", "no-such-python", "."):
                self.refused(*command, "--python", python, says=f"--python expects a Python program, and this is none: '{python}'")

    def test_what_is_missing_is_named(self):
        for command, what in (("diff", "the argument before"), ("explain", "the argument problem"),
                              ("check", "the argument table")):
            with self.subTest(command):
                self.refused(*command.split(), says=f"attune {command} needs {what}; see attune ")

    def test_an_empty_value_is_refused(self):
        for arguments, flag in (((*SIZE, *FAKE, "--journal", ""), "--journal"), (("check", "", *FAKE), "table"),
                                (("kernels", "clear", "--cache", ""), "--cache"), (("explain", PROBLEM, "-t", ""), "--table")):
            with self.subTest(arguments):
                self.refused(*arguments, says=f"{flag}: expected a value, got an empty one")


class GivenTwice(story.Story):
    def test_one_value_is_wanted(self):
        for flags, sentence in (("-m 2", "-m is given twice, give it once"), ("--journal a --journal b", "--journal is given twice"),
                                ("--devices fake:0", "--devices is given twice"), ("--seed 1 --seed 2 --seed 3", "--seed is given 3 times"),
                                ("--search race --search race", "--search is given twice")):
            with self.subTest(flags):
                self.refused(*SIZE, *FAKE, *flags.split(), says=(sentence, "; see attune tune --help"))
        self.refused("tune", *FAKE, "-i", "a.csv", "--input_file", "b.csv", "-o", "t.csv", says="--untune_file is given twice")
        self.refused("journal", "show", "--after", "1", "--after", "2", says="--after is given twice")

    def test_flags_of_several_values_and_switches_may_be_repeated(self):
        self.attune("list", "devices", "--json", "--json")
        self.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us\n")
        self.put("tuned_fmoe.csv", (story.DATA / "tuned_fmoe.csv").read_bytes())
        self.attune("coverage", "-t", "bf16_tuned_gemm.csv", "-t", "tuned_fmoe.csv", "--devices", "fake:0")
        found = self.attune("bench", PROBLEM, *FAKE, "--candidate", "fake.gemm@1:x=1", "--candidate", "fake.gemm@1:x=2", status=None)
        self.assertNotIn("twice", found.stderr)

    def test_flags_that_contradict_each_other_are_refused(self):
        for flags in ("--col_a --trans_a 0", "--col_b --trans_b", "--splitK --no-splitK"):
            with self.subTest(flags):
                self.refused(*SIZE, *FAKE, *flags.split(), says="cannot be combined with")


if __name__ == "__main__":
    story.main()
