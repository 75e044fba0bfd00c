# SPDX-License-Identifier: MIT
"""Candidates excluded because they hung or crashed, their release, and the progress of an active run."""
import os
import signal
import time
from pathlib import Path

import story

SHAPE = "M,N,K,bias,dtype,outdtype\n1,32,48,False,fp32,fp32\n"
CONFIG = "split_k=1;tile_m=16;tile_n=16"
CANDIDATE = f"fake.gemm@1:{CONFIG}"
TUNE = ("-i", "shapes.csv", "-o", "t.csv", "--search", "exhaustive")


class Quarantine(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPE)

    def plant(self, fault, step):
        faults = self.put("faults.tsv", f"*\t{CONFIG}\t{fault}\t{step}\talways\n")
        return {"ATTUNE_FAKE_FAULTS": str(faults)}

    def listed(self, *arguments):
        return self.attune("quarantine", "list", "--json", *arguments).json

    def test_a_candidate_that_hangs_is_listed_and_released(self):
        # The deadlines of loading and running are a minute and two seconds by themselves.
        self.tune(*TUNE, "--candidate-timeout", "0.4", env=self.plant("sleep", "prepare"), timeout=30)
        one, = self.listed()
        self.assertEqual((one["candidate"], one["status"]), (CANDIDATE, "timed_out"))
        self.assertIn("1×32×48", self.attune("quarantine", "list").stdout)
        told = self.attune("quarantine", "list").stdout.splitlines()
        self.assertEqual(len(told), 4, "three lines of a candidate, and the sum")
        self.assertIn(CANDIDATE, told[0])
        self.assertEqual(told[1], f"  timed_out: {one['detail']}")
        self.assertEqual(told[2], f"  {one['repeat']}")
        self.assertTrue(told[3].startswith("1 candidate in quarantine; "))
        self.assertNotIn("\\n", "".join(told))
        self.assertEqual(self.listed("--device", "elsewhere/2"), [])
        self.assertEqual(self.listed("--problem", "gemm_a16w16 m=2 n=32 k=48 dtype=fp32"), [])
        self.assertEqual(len(self.listed("--candidate", CANDIDATE)), 1)
        self.assertIn("0 candidates released", self.attune("quarantine", "clear", "--candidate", "fake.gemm@1:x=1").stdout)
        self.assertIn("1 candidate released", self.attune("quarantine", "clear").stdout)
        self.assertEqual(self.listed(), [])
        self.tune(*TUNE, "--all")
        self.assertEqual(self.listed(), [], "healthy when it was tried again")

    def test_a_launch_that_hangs_is_stopped_by_the_candidates_timeout_too(self):
        self.tune(*TUNE, "--candidate-timeout", "0.3", env=self.plant("sleep", "run"), timeout=30)
        self.assertEqual([one["status"] for one in self.listed()], ["timed_out"])
        for again, decided in (("0.3", 1), ("0.2", 1), ("1", 2)):  # Under longer deadlines it might have won.
            self.tune(*TUNE, "--candidate-timeout", again)
            self.assertEqual(self.count("decision"), decided, again)
        self.assertEqual(self.listed(), [], "healthy when it was tried again")

    def test_a_crash_is_told_and_an_empty_journal_has_none(self):
        self.tune(*TUNE, env=self.plant("segfault", "prepare"))
        self.assertEqual([one["status"] for one in self.listed()], ["crashed"])
        self.assertIn("0 candidates in quarantine", self.attune("quarantine", "list", "--device", "none").stdout)

    def test_without_a_worker_the_end_of_a_device_names_the_candidate_that_ran(self):
        result = self.tune(*TUNE, "--isolation", "none", env=self.plant("breaks_device", "run"), status=3)
        self.assertIn(f"fake:0 stopped working; the candidate that ran is {CANDIDATE}", result.stderr)

    def test_before_the_first_run_there_is_none(self):
        result = self.attune("quarantine", "list")
        self.assertEqual(result.stdout, f"0 candidates in quarantine; {self.home / 'journal.db'}\n")
        self.assertEqual(result.stderr, "note: no run has been recorded yet, so there is no journal: "
                                        f"'{self.home / 'journal.db'}'\n")
        self.assertEqual(self.listed(), [])
        self.assertFalse(self.home.exists(), "looking creates nothing")
        self.refused("quarantine", "list", "--journal", "none.db", says="none.db")
        self.refused("quarantine", "list", "--problem", "conv_of_nothing m=1", says="conv_of_nothing")

    def test_what_makes_no_sense_is_refused(self):
        self.refused("quarantine", says="quarantine --help")
        self.refused("quarantine", "clear", "--journal", "none.db", status=None, says="no such journal")
        for other in (("--run-deadline", "1"), ("--load-deadline", "1"), ("--isolation", "none")):
            self.refused("tune", *TUNE, *story.FAKE, "--candidate-timeout", "1", *other, says=("--candidate-timeout", other[0]))


class Bans(story.Story):
    """Kernels that a team does not want, whatever was measured of them."""

    PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"

    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPE)
        self.list = self.home / "overlay" / "banned.csv"

    def listed(self, *arguments):
        return [one for one in self.attune("quarantine", "list", "--json", *arguments).json if one["status"] == "banned"]

    def winner(self):
        self.tune(*TUNE)
        return self.rows("t.csv")[0]["kernelName"]

    def explained(self):
        return self.attune("explain", self.PROBLEM, "-t", "t.csv", *story.FAKE[:2]).stdout

    def test_a_banned_kernel_is_not_served_and_not_tried_until_the_ban_is_lifted(self):
        winner = self.winner()
        told = self.attune("quarantine", "add", winner, "--reason", "wrong in <our> model, \"sometimes\"").stdout
        self.assertIn(f"banned {winner} on every device: wrong in <our> model", told)
        self.assertIn(str(self.list), told)
        one, = self.listed()
        self.assertEqual((one["candidate"], one["device"], one["problem"], one["detail"]),
                         (winner, "", "", "wrong in <our> model, \"sometimes\""))
        self.assertRegex(one["by"], r".@.")
        self.assertRegex(one["at"], r"^20\d\d-")
        self.assertIn("0 candidates in quarantine, 1 ban; ", self.attune("quarantine", "list").stdout)
        self.assertIn(f"t.csv:2 {winner}, ", self.explained())
        self.assertIn("names a banned kernel: wrong in <our> model", self.explained())
        checked = self.attune("check", "t.csv", *story.FAKE, status=None)
        self.assertIn("names a banned kernel: wrong", checked.stdout + checked.stderr)
        found = self.attune("ci", "validate", "t.csv", status=1).stdout
        self.assertIn("names a banned kernel: wrong", found)
        again = self.tune(*TUNE, "--verbose")
        self.assertIn(f"not tried, {winner} is banned: wrong in <our> model", again.stdout + again.stderr)
        self.assertIn("note: 1 ban in force, what they name is not tried", again.stderr)
        self.assertNotEqual(self.rows("t.csv")[0]["kernelName"], winner)
        self.assertNotIn("names a banned kernel", self.explained())
        self.attune("quarantine", "remove", winner)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.winner(), winner, "decided again")
        self.assertEqual([entry["type"] for kind, entry in self.journal() if kind == "ban"], ["ban", "ban_lifted"])

    def test_a_solver_is_banned_as_a_whole_also_without_a_journal(self):
        self.list.parent.mkdir(parents=True)
        self.list.write_text("candidate,device,reason\nfake.gemm,,not here\n")
        self.list.chmod(0o644)
        result = self.tune(*TUNE, status=None)
        self.assertIn("fake.gemm is banned: not here", result.stdout + result.stderr)
        one, = self.listed()
        self.assertEqual((one["by"], one["at"]), ("", ""), "the journal does not know of it")

    def test_a_ban_of_one_problem_or_device_is_one_of_that_alone(self):
        winner = self.winner()
        self.attune("quarantine", "add", winner, "--reason", "no", "--problem", "gemm_a16w16 m=2 n=32 k=48 dtype=fp32")
        self.attune("quarantine", "add", winner, "--reason", "no", "--device", "fake/7")
        self.assertEqual(len(self.listed()), 2)
        self.assertEqual(len(self.listed("--device", "fake/4")), 1)
        self.assertIn("lookup in t.csv: exact", self.explained())
        self.refused("quarantine", "remove", winner, status=None, says="nothing is banned by this name")
        self.attune("quarantine", "add", winner, "--reason", "no", "--problem", self.PROBLEM)
        self.assertIn("not used: its kernel is banned: no", self.explained())
        self.attune("quarantine", "remove", winner, "--problem", self.PROBLEM)
        self.assertIn("lookup in t.csv: exact", self.explained())
        self.attune("quarantine", "add", winner, "--reason", "another", "--device", "fake/7")
        self.assertEqual([one["detail"] for one in self.listed("--device", "fake/7")], ["no", "another"])

    def test_what_makes_no_sense_is_refused(self):
        for candidate, says in (("nobody.gemm", "no solver of this build"), ("nobody.gemm@1:x=1", "no solver of this build"),
                                ("fake.*", "no solver of this build"), ("fake.gemm@1", "fake.gemm@1"), ("", "expected a value")):
            self.refused("quarantine", "add", candidate, "--reason", "no", says=says)
        for candidate in ("fake.gemm@1:", "fake.gemm@:tile_m=16", "fake.gemm@x:tile_m=16", "fake.gemm@-1:tile_m=16",
                          "fake.gemm@1.5:tile_m=16", "fake.gemm@+2.6:tile_m=16", "fake.gemm@1:tile_m=16\n"):
            with self.subTest(candidate):
                self.refused("quarantine", "add", candidate, "--reason", "no", says="tile_m=16")
        for device in ("fake/4\n", "fake\n/4", "fake", "/4", "fake/x", "fake/0", "fake /4"):
            with self.subTest(device):
                self.refused("quarantine", "add", "fake.gemm", "--reason", "no", "--device", device, says="--device takes a device's")
        for reason in ("  ", "two\nlines", "x" * 501):
            self.refused("quarantine", "add", "fake.gemm", "--reason", reason, says="a reason is one line")
        self.refused("quarantine", "add", "fake.gemm", says="--reason")
        self.refused("quarantine", "add", "fake.gemm", "--reason", "no", "--problem", "conv_of_nothing m=1", says="conv_of_nothing")
        self.assertFalse(self.list.exists())

    def test_a_torn_list_is_named_and_not_written_over(self):
        self.attune("quarantine", "add", CANDIDATE, "--reason", "no")
        whole = self.list.read_text()
        self.list.write_text(whole + "fake.gemm@1:spl")
        result = self.attune("quarantine", "list")
        self.assertIn("banned.csv:3: a line of banned kernels is skipped: it has 1 cell", result.stderr)
        self.assertIn("1 ban; ", result.stdout)
        self.refused("quarantine", "add", "fake.gemm", "--reason", "no", status=None, says="mend or remove the list first")
        self.assertEqual(self.list.read_text(), whole + "fake.gemm@1:spl")


class Status(story.Story):
    def test_a_run_that_goes_on_is_shown_until_it_ends(self):
        self.assertEqual(self.attune("status").stdout, "none of your runs is active\n")
        self.assertEqual(self.attune("status", "--json").json, [])
        self.put("shapes.csv", SHAPE)
        faults = self.put("faults.tsv", f"*\t{CONFIG}\tslow\trun\talways\n")
        run = self.start("tune", *TUNE, *story.FAKE, "--run-deadline", "30", env={"ATTUNE_FAKE_FAULTS": str(faults)})
        shown = []
        for _ in range(600):
            shown = self.attune("status", "--json").json
            if shown or run.has_ended():
                break
            time.sleep(0.05)
        one, = shown
        self.assertEqual((one["pid"], one["shapes"], one["decided"], one["given_up"], one["left"]), (run.process.pid, 1, 0, 0, 0))
        self.assertIn(str(self.home / "journal.db"), one["journal"])
        told = self.attune("status").stdout.splitlines()
        self.assertRegex(told[0], rf"^process {run.process.pid} on fake:0: 0 of 1 shape decided in ")
        self.assertRegex(told[1], r"^  table .*t\.csv, journal ")
        run.send(signal.SIGINT)
        self.assertEqual(run.wait().status, 130)
        self.assertEqual(self.attune("status").stdout, "none of your runs is active\n")

    def worker_of(self, run):
        """The number of the run's first worker."""
        own = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
        for _ in range(2000):
            for child in own.read_text().split():
                if b"worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
            time.sleep(0.001)
        raise AssertionError("no worker was started")

    def test_a_signal_before_the_run_begins_gives_its_json_all_the_same(self):
        self.put("shapes.csv", SHAPE)
        run = self.start("tune", *TUNE, *story.FAKE, "--json")
        worker = self.worker_of(run)
        os.kill(worker, signal.SIGSTOP)  # It says nothing now.
        run.send(signal.SIGTERM)
        ended = run.wait()
        self.assertEqual(ended.status, 128 + signal.SIGTERM, str(ended))
        self.assertEqual((ended.json["ending"], ended.json["results"]), ("interrupted", []), str(ended))

    def test_a_run_ends_by_itself_when_it_is_told_to_and_when_its_terminal_closes(self):
        self.put("shapes.csv", SHAPE)
        faults = self.put("faults.tsv", f"*\t{CONFIG}\tslow\trun\talways\n")
        for number in (signal.SIGTERM, signal.SIGHUP):
            run = self.start("tune", *TUNE, *story.FAKE, "--run-deadline", "30", env={"ATTUNE_FAKE_FAULTS": str(faults)})
            for _ in range(600):
                if self.attune("status", "--json").json or run.has_ended():
                    break
                time.sleep(0.05)
            run.send(number)
            self.assertEqual(run.wait().status, 128 + number)
            self.assertEqual(self.attune("status").stdout, "none of your runs is active\n")


if __name__ == "__main__":
    story.main()
