# SPDX-License-Identifier: MIT
"""Ctrl-C, a polite end, a reader that goes away: what is decided is published."""
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402
from story import FAKE  # noqa: E402


class Interrupted(story.Story):
    NUM_SHAPES = 60

    def setUp(self):
        super().setUp()
        self.put("shapes.csv", "M,N,K,dtype\n" + "".join(f"{m},32,64,fp32\n" for m in range(1, self.NUM_SHAPES + 1)))

    def wait_for_decisions(self, running, number):
        """Until the journal holds that many; the shapes grow, so the run is far from its end then."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if (self.home / "journal.db").stat().st_size if (self.home / "journal.db").exists() else 0:
                if self.count("decision") >= number:
                    return
            time.sleep(0.01)
        self.fail("no decisions")

    def test_signals_end_the_run_with_what_is_decided_published(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                before = self.count("decision")
                running = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE)
                self.wait_for_decisions(running, before + 3)
                sent = time.monotonic()
                running.send(number)
                result = running.wait()
                self.assertEqual(result.status, 128 + number, str(result))
                self.assertLess(time.monotonic() - sent, 2)
                decided = self.count("decision")
                self.assertLess(decided, self.NUM_SHAPES, "it was not over yet")
                self.assertEqual(len(self.rows("t.csv")), decided)
                self.assertIn("interrupted before a decision", result.stderr)
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--max-m", "12")
        self.assertLessEqual({str(m) for m in range(1, 13)}, {r["M"] for r in self.rows("t.csv")})

    def test_json_is_whole_after_an_interrupt(self):
        running = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--json")
        self.wait_for_decisions(running, 2)
        running.send(signal.SIGINT)
        result = running.wait()
        self.assertEqual(result.status, 130)
        endings = [r["ending"] for r in result.json["results"]]
        self.assertEqual(endings.count("decided"), len(self.rows("t.csv")))
        self.assertIn("cut", endings)

    def test_a_reader_that_goes_away_costs_no_result(self):
        # `attune tune … | head -1`: whether it ends by SIGPIPE or goes on, the journal has what was decided.
        reader, writer = os.pipe()
        running = self.start("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--max-m", "4", stdout=writer)
        os.close(writer)
        os.close(reader)
        running.wait()
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--max-m", "4")
        self.assertEqual(len(self.rows("t.csv")), 4)


class StandardOutputIsFull(story.Story):
    def test_it_is_an_error_and_the_table_is_written_all_the_same(self):
        self.put("shapes.csv", story.SHAPES)
        with open("/dev/full", "wb") as full:
            result = self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, status=3, stdout=full)
        self.assertIn("cannot write to standard output", result.stderr)
        self.assertEqual(len(self.rows("t.csv")), 3)
        for command in (("list", "ops"), ("paths",), ("journal", "show")):
            with open("/dev/full", "wb") as full:
                self.attune(*command, status=3, stdout=full)


if __name__ == "__main__":
    story.main()
