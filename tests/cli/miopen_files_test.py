# SPDX-License-Identifier: MIT
"""MIOpen's files: written in another form, compared, checked, and tuned from."""
import bz2
import contextlib
import hashlib
import sqlite3
import subprocess
import sys

import story
from story import FAKE

FORWARD = "64-56-28-3x1-32-28-28-8-1x0-2x1-1x1-0-NCHW-FP32-F_g4"
BACKWARD = "1000-13-12-1x1-512-13-12-16-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B"
UNTUNABLE = "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W"
V1 = (f"{FORWARD}=A1:Slow,2.50,0,A1,<unused>;A2:Fast,0.5000,72,A2,not used\n"
      f"{BACKWARD}=A3:Only,1e-05,0,A3,<unused>\n")
V2 = f"{FORWARD}=Slow:2.50,0,A1;Fast:0.5000,72,A2\n{BACKWARD}=Only:1e-05,0,A3\n"
PERF = ("2x64x56x28x1x3x1x1x32x8x1x0x0x2x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm1x1U:1,16,1;ConvHip:DeviceConv<256, 128> F\n"
        "2x1000x13x13x1x1x1x1x512x16x0x0x0x1x1x0x1x1x0x0x4xNHWCxFP16xB=Gtc:bwd,nhwc,152[2]\n")
KERN_DB = ("CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,`kernel_args` TEXT NOT NULL,"
           "`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL)")


class MiopenFiles(story.Story):
    def text(self, name):
        return (self.work / name).read_text()

    def refused_without_output(self, *arguments, says):
        before = sorted(self.work.iterdir())
        self.refused("convert", *arguments, says=says)
        self.assertEqual(sorted(self.work.iterdir()), before, "something was written")

    def test_an_old_find_db_becomes_a_new_one(self):
        self.put("old.fdb.txt", V1)
        result = self.attune("convert", "old.fdb.txt", "-o", "new.fdb.txt")
        self.assertEqual(result.stdout, "new.fdb.txt: 2 keys with 3 entries\n")
        self.assertEqual(self.text("new.fdb.txt"), V2)
        self.attune("convert", "new.fdb.txt", "-o", "again.fdb.txt")
        self.assertEqual(self.text("again.fdb.txt"), V2)
        self.attune("convert", "new.fdb.txt", "-o", "new.sorted.txt", "--sort")
        self.assertEqual(self.text("new.sorted.txt"), f"{BACKWARD}=Only:1e-05,0,A3\n{FORWARD}=Fast:0.5000,72,A2;Slow:2.50,0,A1\n")
        self.attune("convert", "new.fdb.txt", "-o", "best.txt", "--best", "1")
        self.assertEqual(self.text("best.txt"), f"{BACKWARD}=Only:1e-05,0,A3\n{FORWARD}=Fast:0.5000,72,A2\n")

    def test_problems_of_a_find_db(self):
        self.put("a.fdb.txt", V2 + f"{UNTUNABLE}=S:1,0,A\n")
        result = self.attune("convert", "a.fdb.txt", "-o", "conv_untuned.csv")
        self.assertEqual(result.stdout, "conv_untuned.csv: 2 shapes\n")
        self.assertIn("a.fdb.txt:3: 1 key without a problem left out, the first because it states the output 1x1", result.stderr)
        self.assertEqual(len(self.text("conv_untuned.csv").splitlines()), 3)
        self.put("a.fdb.txt", f"4-6-5-3x3-4-6-5-1-1x1-1x1-1x1-0-NCHW-FP32-F=S:1,0,A\n{UNTUNABLE}=S:1,0,A\n")
        result = self.attune("tune", "-i", "a.fdb.txt", "-o", "conv_tuned.csv", *FAKE, "--max-trials", "4")
        self.assertIn("a.fdb.txt:2: 1 key without a problem", result.stdout + result.stderr)
        self.assertEqual([row["h"] for row in self.rows("conv_tuned.csv")], ["6"])

    def test_bad_find_dbs_are_refused_with_file_and_line(self):
        for bad, says in [("no equals sign\n", "a.fdb.txt:3: the line has no '='"),
                          *[(f"{UNTUNABLE}=S:{time},0,A\n", "a.fdb.txt:3: the time of S must be a positive number")
                            for time in ("0", "-1", "inf", "1e999")],
                          ("64-56=S:1,0,A\n", "a.fdb.txt:3: a 2-D key has 15 groups"),
                          ("7" * 40_000_000, "a.fdb.txt:3: a line has at most 65536 bytes"),
                          ("1\0", "a.fdb.txt:3: the line contains a NUL byte")]:
            self.put("a.fdb.txt", V2 + bad)
            for output in ("b.fdb.txt", "b.csv") if "time" not in says else ("b.fdb.txt",):
                self.refused_without_output("a.fdb.txt", "-o", output, says=says)
        self.put("a.fdb.txt", V2 + f"{UNTUNABLE}=S:0.0,0,A\n")
        self.refused_without_output("a.fdb.txt", "-o", "b.fdb.txt", says="--keep-unusable")
        self.attune("convert", "a.fdb.txt", "-o", "b.fdb.txt", "--keep-unusable")
        self.assertEqual(self.text("b.fdb.txt"), self.text("a.fdb.txt"))

    def test_an_output_of_another_kind_is_refused(self):
        self.put("a.fdb.txt", V2)
        self.put("letter.txt", "Dear reader\n")
        self.refused_without_output("a.fdb.txt", "-o", "letter.txt", says="letter.txt")
        self.refused_without_output("a.fdb.txt", "-o", "a.fdb.txt", says="a.fdb.txt")
        self.refused_without_output("a.fdb.txt", "-o", "a.db", says=".fdb.txt or .csv")
        self.refused_without_output("letter.txt", "-o", "b.txt", says="no find-db")
        self.refused_without_output("missing", "-o", "b.txt", says="missing")

    def test_find_dbs_are_compared(self):
        self.put("a.fdb.txt", V2)
        self.put("b.fdb.txt", f"{FORWARD}=Slow:2.50,0,A1;Fast:0.2500,72,A2\n{UNTUNABLE}=S:1,0,A\n")
        self.assertEqual(self.attune("diff", "a.fdb.txt", "b.fdb.txt").stdout.splitlines(),
                         [f"- {BACKWARD}  Only 1e-05 ms", f"+ {UNTUNABLE}  S 1 ms",
                          f"~ {FORWARD}  Fast 0.5000 ms → Fast 0.2500 ms, 2.000×", "1 added, 1 removed, 1 changed, 0 the same"])
        answer = self.attune("diff", "a.fdb.txt", "b.fdb.txt", "--json").json
        self.assertEqual(answer["changed"][0]["ratio"], 2)
        self.put("old.fdb.txt", V1)
        self.assertIn("0 added, 0 removed, 0 changed, 2 the same", self.attune("diff", "old.fdb.txt", "a.fdb.txt").stdout)
        self.put("t.csv", "M,N,K\n1,2,3\n")
        self.refused("diff", "a.fdb.txt", "t.csv", says="t.csv")

    def test_check_lists_all_defects(self):
        good = V2.replace("Slow", "ConvAsm1x1U").replace("Fast", "GemmFwdRest").replace("Only", "fft")
        self.put("a.fdb.txt", good + f"{UNTUNABLE}=fft:0.0,0,A\n{FORWARD}=fft:1,0,A;Other:1,0,A\n1-2=fft:1,0,A\n")
        result = self.attune("check", "a.fdb.txt", status=1)
        for text in ("a.fdb.txt:3: unusable time: the time of fft", "a.fdb.txt:4: repeated key: the key of line 1 again",
                     "a.fdb.txt:4: unknown solver: MIOpen has no solver Other", "a.fdb.txt:5: defect: a 2-D key",
                     "a.fdb.txt:3: untunable: it states the output", "4 defects, 1 note"):
            self.assertIn(text, result.stdout)
        answer = self.attune("check", "a.fdb.txt", "--json", status=1).json
        self.assertEqual([one["line"] for one in answer["findings"]], [5, 3, 4, 4, 3])
        self.put("worse.fdb.txt", "no equals sign\n")
        self.refused("check", "worse.fdb.txt", says="worse.fdb.txt:1: the line has no '='")
        self.put("good.fdb.txt", good)
        self.assertIn("0 defects", self.attune("check", "good.fdb.txt", "--no-run").stdout)

    def test_ci_validates_files_of_miopen(self):
        good = V2.replace("Slow", "ConvAsm1x1U").replace("Fast", "GemmFwdRest").replace("Only", "fft")
        self.put("files/gfx90a68.HIP.fdb.txt", good)
        self.assertIn("3 rows in 1 table, 0 findings", self.attune("ci", "validate", "files").stdout)
        self.put("files/gfx90a68.db.txt", PERF)
        self.put("files/gfx90a68.HIP.fdb.txt", good + f"{UNTUNABLE}=fft:-1,0,A\n{FORWARD}=fft:1,0,A\n")
        findings = self.attune("ci", "validate", "files", "--json", status=1).json
        self.assertEqual([(one["kind"], one["row"].split("/")[1]) for one in findings["findings"]],
                         [("unusable_time", "gfx90a68.HIP.fdb.txt:3"), ("duplicate_key", "gfx90a68.HIP.fdb.txt:4"),
                          ("unknown_kernel", "gfx90a68.db.txt:1"), ("unknown_kernel", "gfx90a68.db.txt:2")])
        self.put("letter.fdb.txt", "Dear reader\n")
        self.refused("ci", "validate", "letter.fdb.txt", says="letter.fdb.txt:1: the line has no '='")

    def test_check_compares_parameters_with_the_candidates_of_this_device(self):
        device, = [one for one in self.attune("list", "devices", "--json").json if one["id"] == "cpu:0"]
        name = f"{device['gfx']}_{device['cu_num']}" if device["cu_num"] <= 64 else f"{device['gfx']}{device['cu_num']:x}"
        key = "2x8x9x8x1x3x3x1x8x2x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"
        self.put(f"{name}.db.txt", f"{key}=onednn.conv:nonsense=1;ConvAsm1x1U:1\n")
        result = self.attune("check", f"{name}.db.txt", "--devices", "cpu:0", status=1)
        self.assertIn(f"{name}.db.txt:1: no candidate: ", result.stdout)
        self.put("other.db.txt", f"{key}=onednn.conv:nonsense=1\n")
        result = self.attune("check", "other.db.txt", "--devices", "cpu:0")
        self.assertIn("the file's name states the device other and this one is", result.stderr)

    def test_perf_dbs(self):
        self.put("a.db.txt", PERF)
        self.attune("convert", "a.db.txt", "-o", "a.db")
        with contextlib.closing(sqlite3.connect(self.work / "a.db")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(database.execute("SELECT solver, config, params FROM perf_db ORDER BY id").fetchall(),
                             [("ConvAsm1x1U", 1, "1,16,1"), ("ConvHip", 1, "DeviceConv<256, 128> F"), ("Gtc", 2, "bwd,nhwc,152[2]")])
        self.assertEqual(self.attune("convert", "a.db", "-o", "b.db.txt").stdout, "b.db.txt: 3 rows of 2 configs\n")
        self.assertEqual(self.text("b.db.txt"), PERF)
        self.attune("convert", "a.db", "-o", "b.db")
        with contextlib.closing(sqlite3.connect(self.work / "a.db")) as one, contextlib.closing(sqlite3.connect(self.work / "b.db")) as other:
            self.assertEqual(list(one.iterdump()), list(other.iterdump()))
            one.execute("INSERT INTO perf_db VALUES (17, 'Orphan', 99, '1')")
            one.commit()
        self.assertIn("a.db: row 17: orphan: it names the config 99", self.attune("check", "a.db", status=1).stdout)
        self.refused_without_output("a.db", "-o", "c.db.txt", says="row 17 of perf_db names the config 99")
        self.attune("convert", "a.db", "-o", "c.db")

    def test_a_config_that_miopen_cannot_read(self):
        self.put("a.db.txt", PERF)
        self.attune("convert", "a.db.txt", "-o", "a.db")
        for change, says in [("direction = 'Q'", "direction must be F, B or W, got 'Q'"), ("in_channels = -1", "in_channels must not be negative"),
                             ("layout = 'NCHWxFP32'", "layout must be letters and digits"), ("data_type = ''", "data_type must be letters")]:
            with contextlib.closing(sqlite3.connect(self.work / "a.db")) as database:
                database.execute(f"UPDATE config SET {change} WHERE id = 1")
                database.commit()
            self.assertIn(says, self.attune("check", "a.db", status=1).stdout)
            self.refused_without_output("a.db", "-o", "b.db.txt", says=("config 1", says))
            self.attune("convert", "a.db.txt", "-o", "a.db")

    def test_flags_that_a_conversion_would_ignore_are_refused(self):
        self.put("a.db.txt", PERF)
        self.put("a.fdb.txt", V2)
        self.put("twice.fdb.txt", f"{FORWARD}=S:1,0,A\n{FORWARD}=S:2,0,A\n")
        self.put("empty.fdb.txt", "")
        for arguments, says in [(("a.db.txt", "-o", "b.db", "--best", "2"), "--best has no meaning for a perf-db"),
                                (("a.db.txt", "-o", "b.db", "--keep-unusable"), "--keep-unusable has no meaning"),
                                (("a.fdb.txt", "-o", "b.csv", "--sort"), "--sort has no meaning for a list of shapes"),
                                (("twice.fdb.txt", "-o", "b.fdb.txt", "--best", "1"), "twice.fdb.txt:2: the key of line 1 again"),
                                (("empty.fdb.txt", "-o", "b.fdb.txt"), "empty.fdb.txt")]:
            self.refused_without_output(*arguments, says=says)
        self.refused("check", "a.fdb.txt", "--op", "gemm_a16w16", says="omit --op")
        self.refused("check", "a.fdb.txt", "--op", "nonsense", says="unknown family")
        self.refused("tune", "-i", "a.fdb.txt", "-o", "t.csv", "--max-m", "4", *FAKE, says="--max-m counts rows")
        self.refused("shapes", "-i", "a.fdb.txt", "--tp", "4", says="--tp requires --model_dir")

    def test_files_are_merged_and_the_first_wins(self):
        self.put("a.fdb.txt", f"{FORWARD}=Slow:2.50,0,A1\n")
        self.put("b.fdb.txt", f"{BACKWARD}=Only:1e-05,0,A3\n{FORWARD}=Slow:9,0,A1;Fast:0.5000,72,A2\n")
        result = self.attune("tables", "merge", "a.fdb.txt", "b.fdb.txt", "-o", "c.fdb.txt", "--json").json
        self.assertEqual(self.text("c.fdb.txt"), f"{FORWARD}=Fast:0.5000,72,A2;Slow:2.50,0,A1\n{BACKWARD}=Only:1e-05,0,A3\n")
        self.assertEqual([(one["num_values"], one["num_taken"]) for one in result["files"]], [(1, 1), (3, 2)])
        self.put("a.db.txt", PERF)
        self.put("b.db.txt", PERF.replace("1,16,1", "2,32,2").replace("Gtc", "Other"))
        self.attune("tables", "merge", "a.db.txt", "b.db.txt", "-o", "c.db")
        self.attune("convert", "c.db", "-o", "c.db.txt")
        self.assertEqual(self.text("c.db.txt"), PERF.replace("152[2]", "152[2];Other:bwd,nhwc,152[2]"))
        before = sorted(self.work.iterdir())
        for arguments, says in [(("a.fdb.txt", "a.db.txt", "-o", "d.db"), "merge files of one kind"),
                                (("a.fdb.txt", "b.fdb.txt"), "with -o"),
                                (("a.fdb.txt", "b.fdb.txt", "-o", "b.fdb.txt"), "b.fdb.txt"),
                                (("a.fdb.txt", "b.fdb.txt", "-o", "d.csv"), ".fdb.txt")]:
            self.refused("tables", "merge", *arguments, says=says)
        self.assertEqual(sorted(self.work.iterdir()), before)

    def test_databases_of_other_programs(self):
        with contextlib.closing(sqlite3.connect(self.work / "mail.db")) as database:
            database.execute("CREATE TABLE mail (body)")
            database.commit()
        self.refused_without_output("mail.db", "-o", "b.db", says="a database of another program")
        self.put("torn.db", "SQLite format 3\0" + "x" * 5000)
        self.refused_without_output("torn.db", "-o", "b.db", says="torn.db")
        self.put("a.db.txt", PERF)
        self.refused_without_output("a.db.txt", "-o", "mail.db", says="mail.db")

    def test_a_locked_database_is_refused(self):
        self.put("a.db.txt", PERF)
        self.attune("convert", "a.db.txt", "-o", "a.db")
        # Another process: this one would drop its lock with the first file that it closes.
        holder = ("import sqlite3, sys\ndatabase = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                  "database.execute('BEGIN EXCLUSIVE')\n"
                  "print('locked', flush=True)\nsys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", holder,
                               str(self.work / "a.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "locked\n")
            self.refused_without_output("a.db", "-o", "b.db", says="locked")
            process.stdin.close()

    def test_kernel_dbs(self):
        code = b"\x7fELF" + bytes(range(256)) * 40
        with contextlib.closing(sqlite3.connect(self.work / "a.kdb")) as database:
            database.execute(KERN_DB)
            database.execute("CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args)")
            database.execute("INSERT INTO kern_db VALUES (4, ?, ?, ?, ?, ?)",
                             ("it's.o", " -mcpu=gfx90a", bz2.compress(code, 9), hashlib.md5(code).hexdigest(), len(code)))
            database.commit()
        self.assertEqual(self.attune("convert", "a.kdb", "-o", "b.kdb").stdout, "b.kdb: 1 kernel\n")
        with contextlib.closing(sqlite3.connect(self.work / "a.kdb")) as one, contextlib.closing(sqlite3.connect(self.work / "b.kdb")) as other:
            self.assertEqual(list(one.iterdump()), list(other.iterdump()))
            bomb = bz2.compress(bytes(200_000_000), 9)
            for column, value, says in [("kernel_hash", "0" * 32, "MD5"), ("uncompressed_size", 17, "expands to more than the 17 bytes"),
                                        ("kernel_blob", bomb, "expands to more than the 10244 bytes"),
                                        ("kernel_blob", b"BZh9", "cut"), ("kernel_blob", b"", "the kernel is empty")]:
                one.execute(f"UPDATE kern_db SET {column} = ?", (value,))
                one.commit()
                self.refused_without_output("a.kdb", "-o", "c.kdb", says=("a.kdb: kernel 4 'it's.o'", says))
                one.execute("UPDATE kern_db SET kernel_blob = ?, kernel_hash = ?, uncompressed_size = ?",
                            (bz2.compress(code, 9), hashlib.md5(code).hexdigest(), len(code)))
                one.commit()


if __name__ == "__main__":
    story.main()
