# SPDX-License-Identifier: MIT
"""Full disks, files that must not be written, damaged journals: one clear sentence, exit status 3 (2 for what is no journal), no table harmed."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import story  # noqa: E402
from story import FAKE, SHAPES  # noqa: E402

MORE_SHAPES = "M,N,K,dtype\n" + "".join(f"{m},8,16,fp32\n" for m in range(1, 13))


class Disk(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)
        self.put("more.csv", MORE_SHAPES)

    def small_disk(self, name, kib):
        """A file system of its own of that size; skips where that is not allowed."""
        folder = self.folder / name
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "attune-test", str(folder)]
        done = subprocess.run(mount, capture_output=True, text=True) if shutil.which("mount") else None
        if done is None or done.returncode != 0:
            self.skipTest("mounting a small tmpfs is not permitted here: " + (done.stderr.strip() if done else "no mount"))
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=True)
        return folder

    def fill(self, folder, leave_bytes=0):
        with open(folder / "filler", "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        if leave_bytes:
            os.truncate(folder / "filler", (folder / "filler").stat().st_size - leave_bytes)

    def fails(self, *arguments, says, env=None, status=3):
        """That status and one sentence among what is said on standard error."""
        result = self.attune(*arguments, status=status, env=env)
        sentences = [line for line in result.stderr.splitlines() if line.startswith("attune: ")]
        self.assertEqual(len(sentences), 1, str(result))
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, sentences[0])
        return result


class DiskFull(Disk):
    def test_the_journals_disk(self):
        home = self.small_disk("small", 4096)
        tune = ("tune", "-i", "more.csv", "-o", "t.csv", *FAKE)
        self.fails(*tune, says=("no space left", "--journal"), env={"ATTUNE_HOME": str(home)})
        decided = self.count("decision", home / "journal.db")
        self.assertGreater(decided, 0)
        self.assertEqual(len(self.rows("t.csv")), decided, "what was decided is published")
        with self.untouched("t.csv"):
            self.fails(*tune, says="no space left", env={"ATTUNE_HOME": str(home)})

    def test_a_journals_disk_that_was_full_before(self):
        home = self.small_disk("small", 64)
        self.fill(home)
        self.fails("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, says=str(home), env={"ATTUNE_HOME": str(home)})
        self.assertFalse((self.work / "t.csv").exists())

    def test_the_fleets_disk_is_full_at_its_opening_and_later(self):
        self.put("lines.txt", "MIOpenDriver conv -n 1 -c 4 -H 7 -W 7 -k 6 -y 1 -x 1 -F 1\n")
        configs = ("configs", "import", "-f", "lines.txt", "-t")
        home = self.small_disk("small", 1024)
        self.fill(home, leave_bytes=8192)
        self.fails(*configs, "a", says="no space left for the fleet's store", env={"ATTUNE_HOME": str(home)})
        (home / "filler").unlink()
        self.attune(*configs, "a", env={"ATTUNE_HOME": str(home)})
        self.put("many.txt", "".join(f"MIOpenDriver conv -n {n} -c 4 -H 7 -W 7 -k 6 -y 1 -x 1 -F 1\n" for n in range(1, 4000)))
        self.fails("configs", "import", "-f", "many.txt", "-t", "b", says="no space left for the fleet's store",
                   env={"ATTUNE_HOME": str(home)})
        self.assertEqual(len(self.attune("configs", "list", "--json", env={"ATTUNE_HOME": str(home)}).json), 1)

    def test_after_space_was_made_the_run_goes_on(self):
        home = self.small_disk("small", 16384)
        self.fill(home, leave_bytes=1 << 20)
        tune = ("tune", "-i", "more.csv", "-o", "t.csv", *FAKE)
        self.fails(*tune, says="no space left", env={"ATTUNE_HOME": str(home)})
        before = self.journal(home / "journal.db")
        (home / "filler").unlink()
        self.attune(*tune, env={"ATTUNE_HOME": str(home)})
        entries = self.journal(home / "journal.db")
        self.assertEqual(entries[:len(before)], before)
        verified = [(e["problem"], story.candidate_name(e["candidate"])) for kind, e in entries
                    if kind == "record" and e["stage"] == "verify"]
        self.assertEqual(len(verified), len(set(verified)))
        self.assertEqual(len(self.rows("t.csv")), 12)

    def test_the_tables_disk(self):
        disk = self.small_disk("small", 64)
        self.tune("-i", "shapes.csv", "-o", disk / "t.csv")
        old = (disk / "t.csv").read_bytes()
        self.fill(disk)
        self.fails("tune", "-i", "more.csv", "-o", str(disk / "t.csv"), *FAKE, says=("no space left", "t.csv"))
        self.assertEqual((disk / "t.csv").read_bytes(), old)
        self.assertEqual({p.name for p in disk.iterdir()}, {"t.csv", "t.csv.lock", "filler"}, "nothing is left behind")
        self.assertEqual(self.count("decision"), 15, "the decisions are in the journal")
        (disk / "filler").unlink()
        self.tune("-i", "more.csv", "-o", disk / "t.csv")
        self.assertEqual(len(story.rows_of((disk / "t.csv").read_text())), 15)

    def test_the_disk_of_profile_results_and_export(self):
        disk = self.small_disk("small", 64)
        self.fill(disk)
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        self.fails("tune", "-i", "shapes.csv", "-o", "t.csv", "-o2", str(disk / "p.csv"), *FAKE, says=("no space", "p.csv"))
        self.assertEqual(len(self.rows("t.csv")), 3)
        self.fails("tune", "--gemm_size_file", "sizes.yaml", "--tuning_results_file", str(disk / "out.yaml"), *FAKE,
                   says=("no space", "out.yaml"))
        self.fails("journal", "export", "--csv", str(disk / "all.csv"), says=("no space", "all.csv"))
        # The lock file stays on purpose: removing it would race.
        self.assertEqual(sorted(p.name for p in disk.iterdir()), ["filler", "out.yaml.lock"])


    def test_the_disk_of_a_pipelines_results(self):
        """Tables are published, the results are not; with space the next call makes them whole."""
        self.put("configs/bf16_untuned_gemm.csv", "M,N,K,dtype\n" + "".join(f"{m},32,16,fp32\n" for m in range(200, 240, 5)))
        run = ("ci", "run", "--config-dir", "configs", "--arguments", " ".join(FAKE), "-o")
        for leave_kib in (24, 44):
            with self.subTest(leave_kib):
                shutil.rmtree(self.home, ignore_errors=True)
                (self.work / "configs/bf16_tuned_gemm.csv").unlink(missing_ok=True)
                disk = self.small_disk(f"small{leave_kib}", 4096)
                self.fill(disk, leave_bytes=leave_kib << 10)
                result = self.fails(*run, str(disk / "out"), says=("what was tuned is published, the results are not whole", "no space"))
                self.assertIn("not written: ", result.stderr)
                self.assertEqual(len(self.rows("configs/bf16_tuned_gemm.csv")), 8)
                (disk / "filler").unlink()
                again = self.attune(*run, str(disk / "out"))
                self.assertIn("goes on with the run", again.stderr)
                results = json.loads((disk / "out/results.json").read_text())
                self.assertEqual((results["ending"], len(results["families"][0]["shapes"])), ("done", 8))
                self.assertEqual(self.count("decision"), 8)


class FilesThatStayBehind(Disk):
    def test_what_a_killed_publication_left_is_removed_by_the_next(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        self.put(f".t.csv.{dead.pid}.0.tmp", "torn")
        self.put(f".other.csv.{dead.pid}.0.tmp", "not this table's")
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        names = {path.name for path in self.work.iterdir() if path.name.endswith(".tmp")}
        self.assertEqual(names, {f".other.csv.{dead.pid}.0.tmp"})

    def test_a_journal_that_others_may_read_is_made_private(self):
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        journal = self.home / "journal.db"
        journal.chmod(0o644)
        self.tune("-i", "more.csv", "-o", "t.csv")
        self.assertEqual({path.stat().st_mode & 0o777 for path in self.home.glob("journal.db*")}, {0o600})

    def test_a_table_garbled_while_the_run_goes_on_is_left_alone(self):
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        running = self.start("tune", "-i", "more.csv", "-o", "t.csv", *FAKE)
        end = time.monotonic() + 30
        while self.count("decision") < 4 and time.monotonic() < end:
            time.sleep(0.001)
        self.put("t.csv", b"\x00\xff" * 50)
        result = running.wait()
        self.assertEqual(result.status, 2, str(result))
        self.assertEqual(len([line for line in result.stderr.splitlines() if line.startswith("attune: ")]), 1, str(result))
        self.assertEqual((self.work / "t.csv").read_bytes(), b"\x00\xff" * 50)
        self.assertEqual(self.count("decision"), 15, "the decisions are in the journal")


class JournalsThatCannotBeUsed(Disk):
    def setUp(self):
        super().setUp()
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.file = self.home / "journal.db"

    def fails_untouched(self, says, *commands, status=3):
        for command in commands or (("tune", "-i", "more.csv", "-o", "t.csv", *FAKE),):
            with self.untouched("t.csv"):
                self.fails(*command, says=says, status=status)

    def test_torn_pages(self):
        """Whatever page is overwritten, a run ends well or with the one sentence; it never crashes or harms the table."""
        whole, page = self.file.read_bytes(), 4096
        told = 0
        for number in range(0, len(whole) // page, max(1, len(whole) // page // 24)):
            torn = bytearray(whole)
            torn[number * page:number * page + page] = os.urandom(page)
            for file in self.home.iterdir():
                if file.is_file():
                    file.unlink()
            self.file.write_bytes(torn)
            for command in (("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE), ("journal", "show")):
                with self.subTest(page=number, command=command[0]):
                    result = self.attune(*command, status=None)
                    self.assertIn(result.status, (0, 3) if number > 0 else (2,), str(result))
                    says = "the journal is damaged" if number > 0 else "or its first page is damaged"
                    told += says in result.stderr
                    if result.status != 0:
                        self.assertIn(says, result.stderr)
            self.assertEqual(len(self.rows("t.csv")), 3)
        self.assertGreater(told, 10)

    def test_show_export_and_explain_pass_over_damaged_entries(self):
        decisions, records = self.count("decision"), self.count("record")
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            database.execute("UPDATE entries SET payload = substr(payload, 1, 40) WHERE id IN "
                             "(SELECT id FROM entries WHERE kind = 1 LIMIT 2)")
            database.commit()
        shown = self.attune("journal", "show")
        self.assertIn(f"{decisions} decisions, {records - 2} records", shown.stdout)
        explained = self.attune("explain", "gemm_a16w16 m=1 n=32 k=48 dtype=fp32", "--devices", "fake:0")
        exported = self.attune("journal", "export", "--csv", "all.csv")
        self.assertEqual(len(self.rows("all.csv")), records - 2)
        for result in (shown, explained, exported):
            self.assertIn("the journal is damaged, 2 rows skipped", result.stderr)
        self.fails_untouched("the journal is damaged", ("journal", "vacuum"))

    def test_the_newest_are_shown_around_a_torn_page(self):
        """`journal show --limit` counts and lists what can be read, as `journal show` does."""
        whole, page = self.file.read_bytes(), 4096
        shown = 0
        for number in range(1, len(whole) // page, max(1, len(whole) // page // 24)):
            self.file.write_bytes(whole[:number * page] + os.urandom(page) + whole[(number + 1) * page:])
            with self.subTest(page=number):
                every, newest = (self.attune("journal", "show", *limit, status=None) for limit in ((), ("--limit", "2")))
                self.assertIn(newest.status, (0, 3) if every.status else (0,), str(newest))
                shown += newest.status == 0
        self.assertGreater(shown, 10)

    def test_the_first_page_or_the_whole_is_something_else(self):
        whole = self.file.read_bytes()
        commands = (("tune", "-i", "more.csv", "-o", "t.csv", *FAKE), ("journal", "show"), ("journal", "vacuum"),
                 ("explain", "gemm_a16w16 m=1 n=32 k=48 dtype=fp32", "--devices", "fake:0"))
        for content in (os.urandom(8192), os.urandom(100) + whole[100:], b"M,N,K\n" * 2000):
            self.file.write_bytes(content)
            self.fails_untouched("the file is not a journal, or its first page is damaged", *commands, status=2)
            self.assertEqual(self.file.read_bytes(), content, "it is kept for repair")

    def test_cut_off(self):
        whole = self.file.read_bytes()
        for length in (len(whole) // 2, 5000, 4096, 1000):
            with self.subTest(length=length):
                self.file.write_bytes(whole[:length])
                self.fails_untouched("the journal is damaged")

    def test_another_programs_database(self):
        self.file.unlink()
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            database.execute("CREATE TABLE t (a)")
            database.commit()
        self.fails_untouched("database of another program", status=2)

    def test_a_later_version(self):
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            database.execute("PRAGMA user_version = 999")
        self.fails_untouched("schema 999")

    def test_places_where_no_journal_can_be(self):
        (self.folder / "a_file").write_text("")
        (self.folder / "a_folder").mkdir()
        for journal, says, status in (("a_file/journal.db", "a_file", 3), ("a_folder", "a_folder", 2)):
            with self.subTest(journal), self.untouched("t.csv"):
                self.fails("tune", "-i", "more.csv", "-o", "t.csv", *FAKE, "--journal", str(self.folder / journal), says=says,
                           status=status)

    @unittest.skipUnless(os.path.exists("/proc/self"), "needs /proc")
    def test_a_file_system_that_takes_no_files(self):
        with self.untouched("t.csv"):
            self.fails("tune", "-i", "more.csv", "-o", "t.csv", *FAKE, says="/proc/attune",
                       env={"ATTUNE_HOME": "/proc/attune"})


if __name__ == "__main__":
    story.main()
