# SPDX-License-Identifier: MIT
"""A journal as another process sees it: followed while it grows, paged, with times."""
import json
import os
import re
import shutil
import signal
import time
from datetime import datetime, timezone

import story
from story import FAKE, SHAPES

ONE = "M,N,K,dtype\n4,64,64,fp32\n"


class Follow(story.Story):
    def follow(self, *arguments):
        """Starts a follower; returns it and the file that its lines go to."""
        output = self.work / "followed"
        with open(output, "wb") as file:
            return self.start("journal", "follow", "--json", *arguments, stdout=file), output

    def lines_of(self, output, count, seconds=30):
        """Waits for at least so many lines."""
        end = time.monotonic() + seconds
        lines = []
        while len(lines) < count and time.monotonic() < end:
            lines = [json.loads(line) for line in output.read_text().splitlines(keepends=True) if line.endswith("\n")]
            time.sleep(0.02)
        self.assertGreaterEqual(len(lines), count, "the follower says nothing")
        return lines

    def test_entries_come_as_they_are_written_once_and_in_order(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        before = len(self.journal(runs=True))
        follower, output = self.follow()
        self.lines_of(output, before)
        self.put("one.csv", ONE)
        self.tune("-i", "one.csv", "-o", "t.csv")
        began = time.monotonic()
        after = len(self.journal(runs=True))
        lines = self.lines_of(output, after)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(len(lines), after)
        ids = [line["id"] for line in lines]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual([line["type"] for line in lines], [kind for kind, _ in self.journal(runs=True)])
        for line in lines:
            age = datetime.now(timezone.utc) - datetime.fromisoformat(line["at"].replace("Z", "+00:00"))
            self.assertLess(age.total_seconds(), 300)
            self.assertGreater(line["run"], 0)
        self.assertFalse(follower.has_ended())

    def test_a_follower_survives_vacuum(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        follower, output = self.follow()
        seen = len(self.lines_of(output, len(self.journal(runs=True))))
        self.attune("journal", "vacuum")
        self.put("one.csv", ONE)
        self.tune("-i", "one.csv", "-o", "t.csv")
        end = time.monotonic() + 30
        lines = self.lines_of(output, seen + 3)
        while lines[-1]["type"] != "run_end" and time.monotonic() < end:
            lines = self.lines_of(output, seen + 3)
        ids = [line["id"] for line in lines]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(lines[-1]["type"], "run_end")
        self.assertFalse(follower.has_ended())

    def test_a_follower_of_a_journal_under_vacuum_and_writing_misses_no_decision(self):
        """Vacuum after vacuum, beside a tuning: the follower sees each entry once, in order, and all Decisions."""
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},64,64,fp32\n" for m in range(5, 13)))
        self.put("one.csv", ONE)
        self.tune("-i", "one.csv", "-o", "t.csv")
        follower, output = self.follow()
        tuner = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE)
        num_vacuums = 0
        while not tuner.has_ended():
            self.attune("journal", "vacuum", timeout=30)
            num_vacuums += 1
            time.sleep(0.1)
        self.assertEqual(tuner.wait(timeout=10).status, 0)
        self.assertGreater(num_vacuums, 2)
        decisions = self.count("decision")
        self.assertEqual(decisions, 9)
        end = time.monotonic() + 20
        lines = self.lines_of(output, decisions)
        while sum(line["type"] == "run_end" for line in lines) < 2 and time.monotonic() < end:
            lines = self.lines_of(output, len(lines))
        ids = [line["id"] for line in lines]
        self.assertEqual(ids, sorted(set(ids)), "each once, in order")
        self.assertEqual(sum(line["type"] == "decision" for line in lines), decisions)
        self.assertFalse(follower.has_ended())

    def test_a_journal_that_is_replaced_beside_a_tuning_ends_its_followers(self):
        """Two followers of a journal that is being written, one of a run that has not ended: status 3 for both."""
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},64,64,fp32\n" for m in range(5, 205)))
        self.put("one.csv", ONE)
        self.tune("-i", "one.csv", "-o", "t.csv")
        tuner = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE)
        end = time.monotonic() + 30
        while self.count("decision") < 5 and time.monotonic() < end:
            time.sleep(0.05)
        run = max(entry["run"] for entry in self.listed("show"))
        followers = [self.follow()[0], self.start("journal", "follow", "--json", "--run", str(run))]
        time.sleep(0.5)
        shutil.copy(self.home / "journal.db", self.home / "copy.db")
        os.replace(self.home / "copy.db", self.home / "journal.db")
        for follower in followers:
            ended = follower.wait(timeout=20)
            self.assertEqual(ended.status, 3, ended)
            self.assertIn("the journal was removed or replaced, follow the one that is there now: '", ended.stderr)
        tuner.send(signal.SIGKILL)

    def test_a_run_that_ends_ends_its_follower(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        run = next(entry["id"] for entry in self.listed("follow", "--run", "1"))
        lines = self.listed("follow", "--run", str(run))
        self.assertEqual((lines[0]["type"], lines[-1]["type"]), ("run_begin", "run_end"))
        self.assertEqual({line["run"] for line in lines}, {run})

    def test_a_run_that_is_not_there_cannot_be_followed(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        run = self.listed("show", "--limit", "1")[0]["run"]
        for other in (run + 1, 999999):
            answer = self.attune("journal", "follow", "--run", str(other), status=2, timeout=10)
            self.assertEqual(answer.stderr.count("\n"), 1, answer)
            self.assertIn("the journal has no such run", answer.stderr)
            self.assertIn(str(other), answer.stderr)
            self.assertEqual(answer.stdout, "")
        for action in ("show", "follow", "export"):
            for wrong in ("0", "-1", "99999999999999999999"):
                answer = self.refused("journal", action, "--run", wrong, says=("--run", f"'{wrong}'"))
                self.assertLess(len(answer.stderr), 150, "not the range of all numbers")
        self.refused("journal", "show", "--after", "99999999999999999999", says="--after")
        self.refused("journal", "show", "--limit", "-1", says="--limit")

    def test_a_run_that_is_not_there_is_not_shown(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        for action in (("show",), ("show", "--limit", "1"), ("show", "--json"), ("export", "--csv", "all.csv")):
            answer = self.attune("journal", *action, "--run", "999", status=2)
            self.assertEqual(answer.stderr.count("\n"), 1, answer)
            self.assertIn("the journal has no such run", answer.stderr)
        self.assertFalse((self.work / "all.csv").exists())

    def test_lines_for_people_name_the_run(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        run = self.listed("show", "--limit", "1")[0]["run"]
        head, *lines, _ = self.attune("journal", "show").stdout.splitlines()
        self.assertEqual(head.split()[:3], ["time", "(UTC)", "run"])
        entries = self.attune("journal", "follow", "--run", str(run)).stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertGreater(len(entries), 3)
        for line in lines + entries:
            self.assertRegex(line, rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d +{run}  ")

    def test_a_journal_that_is_replaced_ends_its_follower(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        follower, output = self.follow()
        self.lines_of(output, 1)
        shutil.copy(self.home / "journal.db", self.home / "copy.db")
        os.replace(self.home / "copy.db", self.home / "journal.db")
        ended = follower.wait(timeout=20)
        self.assertEqual(ended.status, 3, ended)
        self.assertIn("the journal was removed or replaced, follow the one that is there now: '", ended.stderr)
        self.assertEqual(ended.stderr.count("\n"), 1, ended)

    def listed(self, *arguments):
        return [json.loads(line) for line in self.attune("journal", *arguments, "--json").stdout.splitlines()]

    def test_decisions_are_shown_with_their_time_newest_last(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        everything = self.listed("show")
        self.assertGreater(len(everything), 1)
        self.assertEqual([d["id"] for d in everything], sorted(d["id"] for d in everything))
        self.assertEqual(self.listed("show", "--limit", "1"), everything[-1:])
        self.assertEqual(self.listed("show", "--after", str(everything[0]["id"])), everything[1:])
        faster = self.listed("show", "--status", "faster")
        self.assertEqual(faster, [d for d in everything if d["verdict"] == "faster"])
        prefix = everything[0]["problem"].split(" dtype")[0] + " "
        self.assertEqual(self.listed("show", "--prefix", prefix), [d for d in everything if d["problem"].startswith(prefix)])
        text = self.attune("journal", "show", "--limit", "1").stdout.splitlines()
        self.assertTrue(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d  ", text[1]), text)
        self.assertIn(f"1 of {len(everything)} decisions", text[-1])
        self.refused("journal", "show", "--status", "fastr", says=["fastr"])


if __name__ == "__main__":
    story.main()
