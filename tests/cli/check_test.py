# SPDX-License-Identifier: MIT
"""attune check of long tables: its progress, and what an interrupt leaves of it."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import story
from story import FAKE

HEADER = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,us,kernelName\n"
UNTUNED = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64"


class OtherVersion(story.Story):
    def test_a_row_of_another_onednn_is_named_and_the_next_row_of_its_key_serves(self):
        if not any(one["id"] == "onednn.gemm" and one["available"] for one in self.attune("list", "solvers", "--json").json):
            self.skipTest("onednn.gemm is not available here")
        problem = "gemm_a16w16 m=64 n=96 k=128 dtype=fp32"
        timed = self.attune("bench", problem, "--iters", "1", "--json").json
        gfx, cores = timed["device"].split("/")
        here = next(one["candidate"] for one in timed["candidates"] if one["candidate"].startswith("onednn.gemm@"))
        other = re.sub(r"@1\+(\d)[^:]*", lambda found: "@1+3.7.2" if found[1] == "2" else "@1+2.6.3", here)
        rows = "".join(f"{gfx},{cores},64,96,128,False,torch.float32,torch.float32,False,False,{us},{name}\n"
                       for us, name in ((1, other), (3, "portable.gemm@1:block=4x4"), (2, here)))
        self.put("t.csv", HEADER + rows)
        served = self.attune("explain", problem, "-t", "t.csv", "--json").json
        self.assertEqual((served["match"], served["candidate"]), ("exact", here))
        rows = self.attune("check", "t.csv", "--no-run", "--json", status=1).json
        unusable, slower, taken = rows
        self.assertEqual((unusable["line"], unusable["kernel"], unusable["status"]), (2, other, "unusable"))
        self.assertRegex(unusable["reason"], r"made with onednn\.gemm 1\+\S+, this machine has 1\+")
        self.assertEqual((slower["status"], taken["status"]), ("not taken", "loaded"))


class LongTable(story.Story):
    NUM_ROWS = 3000

    def setUp(self):
        super().setUp()
        self.put("t.csv", HEADER + "".join(
            f"fake,4,{m},32,48,False,torch.float32,torch.float32,False,False,1000,{UNTUNED}\n" for m in range(1, self.NUM_ROWS + 1)))

    def rows_of(self, output):
        return sum(line.startswith("t.csv:") for line in output.splitlines())


class Interrupts(LongTable):
    def interrupted(self, number, *flags):
        """The output of a check that gets a signal once it has begun to check rows."""
        file = self.work / "out.txt"
        with file.open("w") as out:
            check = self.start("check", "t.csv", *FAKE, "--journal", "j.db", *flags, stdout=out)
            end = time.monotonic() + 30
            while not (self.work / "j.db").exists() or ("--json" not in flags and self.rows_of(file.read_text()) < 3):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            time.sleep(0.2)
            check.send(number)
            ended = check.wait()
        self.assertEqual(ended.status, 128 + number, str(ended))
        self.said = ended.stderr
        runs = [entry for kind, entry in self.journal(self.work / "j.db", runs=True) if kind == "run_end"]
        self.assertEqual([(one["ending"], one["exit_status"]) for one in runs], [("interrupted", 128 + number)])
        return file.read_text()

    def test_what_was_checked_is_printed(self):
        output = self.interrupted(signal.SIGINT)
        checked = self.rows_of(output)
        self.assertLess(checked, self.NUM_ROWS)
        self.assertEqual(output.splitlines()[-1],
                         f"{checked} of {self.NUM_ROWS} rows checked before the interrupt: {checked} ok")

    def test_in_json_too(self):
        self.put("out.txt", self.interrupted(signal.SIGTERM, "--json"))
        rows = json.loads(self.read("out.txt"))
        self.assertLess(len(rows), self.NUM_ROWS)
        self.assertIn(f"note: {len(rows)} of {self.NUM_ROWS} rows checked before the interrupt", self.said)
        self.assertEqual({row["status"] for row in rows} | {"ok"}, {"ok"})


class Progress(LongTable):
    def test_a_terminal_shows_how_far_it_is(self):
        terminal, theirs = pty.openpty()
        self.addCleanup(os.close, terminal)
        check = subprocess.Popen([story.PROGRAM, "check", "t.csv", *FAKE, "--json"], cwd=self.work, env=self.environment(),
                                 stdout=subprocess.DEVNULL, stderr=theirs)
        self.addCleanup(check.wait)
        self.addCleanup(check.kill)
        os.close(theirs)
        shown, end = "", time.monotonic() + 30
        while not re.search(r"[1-9]\d* of 3000 rows checked, .*checking \d+×32×48 fp32", shown):
            self.assertLess(time.monotonic(), end, shown)
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")


if __name__ == "__main__":
    story.main()
