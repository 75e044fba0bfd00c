# SPDX-License-Identifier: MIT
"""Files that are not ours keep their mode, bytes and times, whatever command and option a user names them with.

The commands and options are those that the program's own help lists, so a new one is tried by itself; a new command needs a line
in COMMANDS, with which it would do its work.
"""
import contextlib
import os
import re
import signal
import sqlite3
import time

import story
from story import FAKE, SHAPES

PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"
PASSWD = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
DEADLINE_S = 20
TUNE = ["tune", "-m", "1", "-n", "8", "-k", "8", "--dtype", "fp32", *FAKE]

HOST = ["--devices", "cpu:0"]
CONVOLUTION = "conv direction=fwd n=1 c=4 h=5 w=5 k=4 y=3 x=3 dtype=fp32"
CI_ARGUMENTS = "--devices fake:0 --quiet-wait 0 --max-trials 4"
# How each command does its work, so that an option more is all that can be refused.
COMMANDS = {
    "tune": TUNE,
    "bench": ["bench", PROBLEM, *FAKE, "--iters", "3"],
    "shapes": ["shapes", "--model_dir", "model", "--dtype", "bf16"],
    "list": ["list", "solvers"],
    "explain": ["explain", PROBLEM, "--devices", "fake:0", "-t", "t.csv"],
    "diff": ["diff", "t.csv", "t.csv"], "convert": ["convert", "a.fdb.txt", "-o", "b.fdb.txt"],
    "check": ["check", "t.csv", *FAKE],
    "ci": None, "ci validate": ["ci", "validate", "t.csv"], "ci compare": ["ci", "compare", "t.csv", "t.csv", *FAKE],
    "ci run": ["ci", "run", "--config-dir", "configs", "--arguments", CI_ARGUMENTS],
    "capture": None, "capture show": ["capture", "show", "captured"], "capture clear": ["capture", "clear", "empty"],
    "capture merge": ["capture", "merge", "captured", "-o", "merged.csv"],
    "tables": ["tables"], "tables merge": ["tables", "merge", "t.csv", "-o", "all.csv"],
    "coverage": ["coverage", "captured", "-t", "t.csv"],
    "report": ["report"],
    "journal": None, "journal show": ["journal", "show"], "journal export": ["journal", "export", "--csv", "out.csv"],
    "journal vacuum": ["journal", "vacuum"], "journal follow": ["journal", "follow", "--run", "1"],
    "kernels": None, "kernels list": ["kernels", "list"], "kernels clear": ["kernels", "clear"],
    "kernels build": ["kernels", "build", "--table", "t.csv", "--devices", "fake:0"],
    "kernels export": ["kernels", "export", "kernels.tar"], "kernels import": ["kernels", "import", "kernels.tar"],
    "paths": ["paths"],
    "quarantine": None, "quarantine list": ["quarantine", "list"], "quarantine clear": ["quarantine", "clear"],
    "quarantine add": ["quarantine", "add", "portable.gemm", "--reason", "It is slow."],
    "quarantine remove": ["quarantine", "remove", "portable.gemm"],
    "status": ["status"],
    "configs": None, "configs import": ["configs", "import", "-t", "t", "-f", "lines.txt"], "configs list": ["configs", "list"],
    "configs show": ["configs", "show", CONVOLUTION], "configs export": ["configs", "export", "-t", "t"],
    "configs tag": ["configs", "tag", "-t", "u", CONVOLUTION], "configs untag": ["configs", "untag", "-t", "u"],
    "solvers": None, "solvers update": ["solvers", "update", *HOST], "solvers list": ["solvers", "list"],
    "session": None, "session init": ["session", "init", "-l", "one", *HOST], "session list": ["session", "list"],
    "session show": ["session", "show", "1"], "session close": ["session", "close", "2"],
    "session abort": ["session", "abort", "2"],
    "session import": ["session", "import", "-l", "old", "-t", "t", "-f", "a.fdb.txt", "-a", "gfx908", "-n", "120"],
    "applicability": None, "applicability update": ["applicability", "update", "--session", "1"],
    "jobs": None, "jobs load": ["jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-l", "x"],
    "jobs list": ["jobs", "list", "--session", "1"], "jobs reset": ["jobs", "reset", "--session", "1", "--class", "crashed"],
    "fleet": None,
    "fleet run": ["fleet", "run", "--session", "1", "--steps", "find_compile,find_eval", "--quiet-wait", "0"],
    "fleet submit": None, "fleet drain": None,  # Nothing without Slurm.
    "fleet status": ["fleet", "status", "--session", "1"],
    "export": ["export", "--session", "1", "-f"],
    "golden": None, "golden update": ["golden", "update", "--golden_v", "1", "--session", "1", "--force"], "golden list": ["golden", "list"],
    "golden diff": ["golden", "diff", "--golden_v", "1", "--session", "1"],
    "tuna": ["tuna", "go_fish", "--list_solvers"],
    "serve": ["serve", "--listen", "127.0.0.1:0"],  # Whatever it takes, it goes on: each option more must be refused.
    "online": ["online", "--device", "fake:0"],
    "worker": None,  # Speaks on descriptors that its parent hands it.
    "compile-worker": None,  # The same.
}
# Where the option has no effect beside what COMMANDS gives.
INSTEAD = {
    ("tune", "-i"): ["tune", "-o", "new.csv", *FAKE],
    ("tune", "--gemm_size_file"): ["tune", *FAKE],
    ("tune", "--model_dir"): ["tune", "-o", "new.csv", *FAKE],
    ("tune", "-o"): ["tune", "-i", "shapes.csv", *FAKE],
    ("tune", "--config-dir"): ["tune", "-i", "shapes.csv", *FAKE],
    ("tune", "--tuning_results_file"): ["tune", "--gemm_size_file", "sizes.yaml", *FAKE],
    ("tune", "--compare_wo_tuning"): ["tune", *FAKE],
    ("tune", "--run_config"): ["tune", *FAKE],
    ("bench", "-i"): ["bench", *FAKE], ("bench", "-t"): ["bench", "-i", "shapes.csv", *FAKE],
    ("bench", "--op"): ["bench", "-i", "shapes.csv", *FAKE], ("ci validate", "tables"): ["ci", "validate"],
    ("ci compare", "before"): ["ci", "compare", *FAKE], ("ci compare", "after"): ["ci", "compare", *FAKE, "t.csv"],
    ("ci run", "--config-dir"): ["ci", "run", "--arguments", CI_ARGUMENTS], ("ci run", "--arguments"): ["ci", "run", "--config-dir", "configs"],
    ("serve", "--listen"): ["serve"], ("kernels export", "file"): ["kernels", "export"], ("kernels import", "file"): ["kernels", "import"],
    ("kernels export", "--cache"): ["kernels", "export", "more.tar"],
    ("list", "--device-info"): ["list", "candidates", PROBLEM, "--devices", "fake:0"],
    ("diff", "before"): ["diff"], ("diff", "after"): ["diff", "t.csv"], ("check", "table"): ["check"],
    ("convert", "input"): ["convert", "-o", "b.fdb.txt"], ("convert", "-o"): ["convert", "a.fdb.txt"],
    ("capture show", "sources"): ["capture", "show"], ("capture clear", "folder"): ["capture", "clear"],
    ("capture merge", "sources"): ["capture", "merge", "-o", "merged.csv"],
    ("configs import", "-t"): ["configs", "import", "-f", "lines.txt"], ("configs import", "-f"): ["configs", "import", "-t", "t"],
    ("configs import", "-d"): ["configs", "import", "-t", "t"], ("configs export", "-t"): ["configs", "export"],
    ("configs tag", "-t"): ["configs", "tag", CONVOLUTION], ("configs untag", "-t"): ["configs", "untag"],
    ("session init", "-l"): ["session", "init", *HOST], ("configs import", "--from-issue"): ["configs", "import", "-t", "t"],
    ("session import", "-l"): ["session", "import", "-t", "t", "-f", "a.fdb.txt", "-a", "gfx908", "-n", "120"],
    ("session import", "-t"): ["session", "import", "-l", "old", "-f", "a.fdb.txt", "-a", "gfx908", "-n", "120"],
    ("session import", "-f"): ["session", "import", "-l", "old", "-t", "t", "-a", "gfx908", "-n", "120"],
    ("session import", "-a"): ["session", "import", "-l", "old", "-t", "t", "-f", "a.fdb.txt", "-n", "120"],
    ("session import", "--from"): ["session", "import", "-l", "old"],
    ("jobs load", "-t"): ["jobs", "load", "--session", "1", "--steps", "find_compile", "-l", "x"],
    ("jobs load", "-l"): ["jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile"],
    ("jobs reset", "--class"): ["jobs", "reset", "--session", "1"],
    ("fleet run", "--steps"): ["fleet", "run", "--session", "1"],
    ("export", "-o"): ["export", "--session", "2", "-f"],  # It has no jobs, so nothing is missing.
    ("tables merge", "tables"): ["tables", "merge", "-o", "all.csv"], ("coverage", "captured"): ["coverage"],
}
# A folder is what these ask for: it may be used, and nothing in it is harmed.
TAKES_A_FOLDER = {("tune", "--config-dir"), ("tune", "--keep"), ("tune", "--cache"), ("kernels", "--cache"), ("kernels list", "--cache"),
                  ("kernels clear", "--cache"), ("kernels build", "--cache"), ("kernels export", "--cache"), ("kernels import", "--cache"), ("shapes", "-o"), ("capture show", "sources"),
                  ("capture merge", "sources"), ("capture clear", "folder"), ("coverage", "captured"), ("tables merge", "tables"), ("ci validate", "tables"),
                  ("ci run", "--config-dir"), ("ci run", "-o"), ("fleet run", "--cache"), ("export", "-o")}
# Texts that name nothing on the disk and are not looked up in a list: any is as good as another.
FREE_TEXT = {("quarantine list", "--device"), ("quarantine list", "--candidate"), ("quarantine clear", "--device"), ("quarantine clear", "--candidate"),
             ("quarantine add", "candidate"), ("quarantine add", "--reason"), ("quarantine add", "--device"),
             ("quarantine remove", "candidate"), ("quarantine remove", "--device"),
             ("journal show", "--device"), ("journal export", "--device"), ("journal follow", "--device"),
             ("journal show", "--prefix"), ("journal export", "--prefix"), ("journal follow", "--prefix"), ("quarantine", "--device"), ("quarantine", "--candidate"),
             ("configs import", "-t"), ("configs import", "--source"), ("configs tag", "-t"), ("configs untag", "-t"),
             ("session init", "-l"), ("session init", "--ticket"), ("jobs load", "-l"),
             ("session import", "-l"), ("session import", "-t"), ("session import", "--ticket"), ("session import", "--source"),
             ("list", "problem"), ("list", "--devices")}


def trace(path):
    """All that must not change; the time of the last change of mode or owner as well."""
    status = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, content


class ForeignFiles(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        self.put("a.fdb.txt", "1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F=S:1,0,A\n")
        self.put("captured/bf16_untuned_gemm.csv", SHAPES)
        self.put("configs/bf16_untuned_gemm.csv", SHAPES)
        self.put("model/config.json", '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,'
                 '"intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,'
                 '"vocab_size": 256, "torch_dtype": "bfloat16"}')
        (self.work / "empty").mkdir()
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.put("lines.txt", "MIOpenDriver conv -n 1 -c 4 -H 5 -W 5 -k 4 -y 3 -x 3 -p 0 -q 0 -F 1\n")
        for command in ("configs import", "solvers update", "session init"):
            self.attune(*COMMANDS[command])
        self.attune("session", "init", "-l", "two", *HOST)

    def environment(self, **more):
        """A kernel cache of its own: one of the commands clears it."""
        return {**super().environment(**more), "ATTUNE_CACHE": str(self.folder / "kernels")}

    # -- what the program says of itself -----------------------------------------------------------------------------

    def help(self, *command):
        return self.attune(*command, "--help").stdout

    def commands(self):
        found = []
        for command in self.subcommands():
            found.append(command)
            found += [f"{command} {below}" for below in self.subcommands(command)]
        return found

    def subcommands(self, *command):
        if command:
            block = self.help(*command).partition("\nSubcommands:\n")[2].partition("\n\n")[0]
            return re.findall(r"(?m)^  (\S+) ", block)
        # The commands stand in groups; those of workers are hidden.
        return [*re.findall(r"(?m)^  ([a-z]\S*) ", self.help()), "worker", "compile-worker"]

    def text_options(self, command):
        """Each option or positional whose value is any text, by its first name: all that could name a path."""
        found = []
        for line in self.help(*command.split()).splitlines():
            option = re.match(r"  (-\S+|[a-z_]+)(,\S+)* TEXT(?!:)", line)
            if option:
                found.append(option.group(1).split(",")[0])
        return found

    # -- foreign things ----------------------------------------------------------------------------------------------

    def foreign_things(self, name="elsewhere"):
        """In a new folder: a file of another program, a database, a link to the file, a pipe, a folder with a file."""
        place = self.folder / name
        place.mkdir()
        (place / "passwd").write_text(PASSWD)
        with contextlib.closing(sqlite3.connect(place / "mail.db")) as database:
            database.execute("CREATE TABLE mail (body)")
            database.commit()
        (place / "empty").write_text("")
        (place / "link").symlink_to("passwd")
        (place / "dangling").symlink_to("nowhere")
        os.mkfifo(place / "pipe")
        (place / "folder").mkdir()
        (place / "folder" / "letter").write_text("Dear reader\n")
        for path in [place, *place.rglob("*")]:
            if not path.is_symlink():
                os.chmod(path, 0o755 if path.is_dir() else 0o644)
        return place

    def run_with(self, command, option, path):
        arguments = INSTEAD.get((command, option), COMMANDS[command])
        named = [option, str(path)] if option.startswith("-") else [str(path)]
        if command == "explain" and option == "problem":
            arguments = ["explain"]
        if command == "bench" and option == "problem":
            arguments = ["bench"]
        if command in ("diff", "ci compare") and option == "before":
            named.append("t.csv")
        return self.attune(*arguments, *named, status=None, timeout=DEADLINE_S)

    def try_option(self, command, option):
        place = self.foreign_things((command + option).replace(" ", "_"))
        everything = [place, *sorted(place.rglob("*"))]
        for what in ("passwd", "mail.db", "link", "dangling", "pipe", "folder"):
            folder_wanted = (command, option) in TAKES_A_FOLDER and what == "folder"
            before = {path: trace(path) for path in everything}
            result = self.run_with(command, option, place / what)
            with self.subTest(command=command, option=option, what=what):
                for path in everything:
                    if folder_wanted and path == place / "folder":
                        self.assertEqual(trace(path)[0], before[path][0], f"{path} has another mode\n{result}")
                    else:
                        self.assertEqual(trace(path), before[path], f"{path} was touched\n{result}")
                if not folder_wanted:
                    self.assertEqual(sorted(place.rglob("*")), everything[1:], f"something new\n{result}")
                self.assertNotRegex(result.stderr + result.stdout, r"terminate|what\(\)|std::|filesystem error|a bug")
                errors = [line for line in result.stderr.splitlines() if line.startswith("attune: ")]
                if folder_wanted or (command, option) in FREE_TEXT:
                    self.assertIn(result.status, (0, 1, 2), str(result))
                else:
                    self.assertEqual(result.status, 2, str(result))
                self.assertEqual(len(errors), 1 if result.status == 2 else 0, f"not one sentence\n{result}")
            if folder_wanted:
                for new in set(place.rglob("*")) - set(everything):
                    if new.is_file():
                        new.unlink()

    def test_every_option_that_takes_a_text(self):
        commands = self.commands()
        self.assertEqual(set(commands), set(COMMANDS), "say in COMMANDS how a new command does its work")
        tried = 0
        for command in commands:
            if COMMANDS[command] is None:
                continue
            above = self.text_options(command.split()[0]) if " " in command else []
            for option in dict.fromkeys(self.text_options(command) + [one for one in above if one.startswith("-")]):
                self.try_option(command, option)
                tried += 1
        print(f"  {tried} options of {len(commands)} commands tried", flush=True)
        self.assertGreater(tried, 60)

    def test_the_commands_themselves_do_their_work(self):
        """Else an option could be refused for another reason."""
        for command, arguments in COMMANDS.items():
            if arguments is not None and (command != "serve" or story.HAS_SERVER):
                with self.subTest(command):
                    running = self.start(*arguments)
                    if command == "serve":  # It goes on until it is told to end.
                        time.sleep(2)
                        running.send(signal.SIGTERM)
                    result = running.wait()
                    if command not in ("online", "kernels build"):
                        self.assertEqual(result.status, 0, str(result))

    # -- the journal -------------------------------------------------------------------------------------------------

    def test_a_journal_that_is_none_keeps_mode_bytes_and_times(self):
        place = self.foreign_things()
        journals = [["tune", "-m", "1", "-n", "8", "-k", "8", "--dtype", "fp32", *FAKE], ["journal", "show"], ["journal", "vacuum"],
                    ["journal", "export", "--csv", "out.csv"], ["quarantine", "list"], ["quarantine", "clear"], ["quarantine", "add", "portable.gemm", "--reason", "It is slow."],
                    ["quarantine", "remove", "portable.gemm"], ["explain", PROBLEM, "--devices", "fake:0"]]
        for what, says in (("passwd", "not a journal"), ("mail.db", "another program"), ("empty", "not a journal"),
                           ("link", "link"), ("dangling", "link"), ("pipe", "regular file"), ("folder", "regular file")):
            for arguments in journals:
                with self.subTest(what, arguments=arguments):
                    before = trace(place / what), trace(place / "passwd")
                    self.refused(*arguments, "--journal", place / what, says=(says, what))
                    self.assertEqual((trace(place / what), trace(place / "passwd")), before)

    def test_a_link_to_a_journal_of_ours_is_not_followed_either(self):
        own = self.home / "journal.db"
        own.chmod(0o644)
        (self.work / "link.db").symlink_to(own)
        self.refused(*TUNE, "--journal", "link.db", says="must not be a link")
        self.refused("journal", "vacuum", "--journal", "link.db", says="must not be a link")
        self.assertEqual(own.stat().st_mode & 0o777, 0o644)

    def test_links_beside_the_journal_are_not_followed(self):
        foreign = self.foreign_things() / "passwd"
        for ending in ("-wal", "-shm"):
            beside = self.home / ("journal.db" + ending)
            beside.symlink_to(foreign)
            self.refused(*TUNE, says="must not be a link")
            self.refused("journal", "show", says="must not be a link")
            beside.unlink()
        self.attune(*TUNE)

    def test_a_journal_deleted_under_a_run_is_noticed_and_what_was_decided_is_published(self):
        self.put("many.csv", "M,N,K,dtype\n" + "".join(f"{m},8,16,fp32\n" for m in range(1, 60)))
        for replaced in (False, True):
            with self.subTest(replaced=replaced):
                journal = self.home / "journal.db"
                table = f"many_{replaced}.csv"
                running = self.start("tune", "-i", "many.csv", "-o", table, "--batch", "1", *FAKE)
                end = time.monotonic() + 30
                while not (self.work / table).exists() and time.monotonic() < end:
                    time.sleep(0.001)
                journal.unlink()
                if replaced:
                    journal.write_text(PASSWD)
                result = running.wait()
                self.assertEqual(result.status, 3, str(result))
                errors = [line for line in result.stderr.splitlines() if line.startswith("attune: ")]
                self.assertEqual(len(errors), 1, str(result))
                self.assertIn("the journal was removed or replaced", errors[0])
                told = len(re.findall(r"(?m)^\[?\s*\d+/59", result.stderr + result.stdout))
                published = len(self.rows(table))
                self.assertGreater(published, 0)
                self.assertLess(published, 59, "the run went on to its end")
                self.assertTrue(told == 0 or published >= told, f"{published} of {told} rows published\n{result}")
                if replaced:
                    self.assertEqual(journal.read_text(), PASSWD)
                for left in self.home.glob("journal.db*"):
                    left.unlink()

    # -- outputs -----------------------------------------------------------------------------------------------------

    def test_outputs_do_not_replace_what_is_none_of_theirs(self):
        for name, content in (("passwd.csv", PASSWD), ("accounts.csv", "date,amount\n2026-01-01,5\n")):
            for arguments in (["tune", "-i", "shapes.csv", *FAKE, "-o"], ["tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--profile_file"],
                              ["tune", "--gemm_size_file", "sizes.yaml", *FAKE, "--tuning_results_file"],
                              ["journal", "export", "--csv"], ["report", "-o"], ["capture", "merge", "captured", "-o"],
                              ["capture", "merge", "captured", "-o", "m.csv", "--counts"], ["tables", "merge", "t.csv", "-o"],
                              ["shapes", "--model_dir", "model", "--dtype", "bf16", "-o"]):
                with self.subTest(name, arguments=arguments):
                    self.put(name, content)
                    with self.untouched(name):
                        self.attune(*arguments, name, status=2)

    def test_their_own_outputs_are_replaced(self):
        for _ in range(2):
            self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, "--profile_file", "p.csv", "--all")
            self.attune("journal", "export", "--csv", "all.csv")
            self.attune("tables", "merge", "t.csv", "-o", "merged.csv")

    def test_a_private_tables_lock_is_private(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.put("private.csv", self.read("t.csv")).chmod(0o600)
        self.tune("-i", "shapes.csv", "-o", "private.csv", "--all")
        self.assertEqual((self.work / "private.csv.lock").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.work / "t.csv.lock").stat().st_mode & 0o777, 0o644)


if __name__ == "__main__":
    story.main()
