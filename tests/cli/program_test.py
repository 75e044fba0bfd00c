# SPDX-License-Identifier: MIT
"""The program as a whole: its help, mistakes on the command line, the paths that it uses."""
import json
import os
import re
import socket
import subprocess
from pathlib import Path

import story
from story import FAKE, SHAPES

PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"


class Paths(story.Story):
    def paths(self, **env):
        return {e["name"]: (e["path"], e["set_by"]) for e in self.attune("paths", "--json", env=env).json}

    def test_each_variable_moves_what_it_names(self):
        cases = {
            "ATTUNE_HOME": [("home", ""), ("journal", "/journal.db"), ("captures", "/captures"), ("overlay", "/overlay")],
            "ATTUNE_CONFIG_DIR": [("configs", "")],
            "ATTUNE_CAPTURE_DIR": [("captures", "")],
            "ATTUNE_CACHE": [("kernels", "")],
        }
        for variable, expected in cases.items():
            found = self.paths(**{variable: "/some/where"})
            for name, ending in expected:
                self.assertEqual(found[name], ("/some/where" + ending, variable))

    def test_xdg_folders_come_after_attunes_own(self):
        found = self.paths(ATTUNE_CACHE="", XDG_STATE_HOME="/state", XDG_CACHE_HOME="/cache")
        self.assertEqual(found["home"][1], "ATTUNE_HOME")
        self.assertEqual(found["kernels"], ("/cache/attune", "XDG_CACHE_HOME"))
        self.assertEqual(self.paths(XDG_STATE_HOME="/state", ATTUNE_HOME="")["home"], ("/state/attune", "XDG_STATE_HOME"))

    def test_the_default_is_below_the_users_folder(self):
        found = self.paths(ATTUNE_HOME="", ATTUNE_CACHE="", HOME="/users/me")
        self.assertEqual(found["journal"], ("/users/me/.local/state/attune/journal.db", "default"))
        self.assertEqual(found["kernels"], ("/users/me/.cache/attune", "default"))

    def test_without_any_folder_it_says_what_to_set(self):
        self.refused("paths", env={"ATTUNE_HOME": "", "HOME": ""}, says="ATTUNE_HOME")

    def test_for_people(self):
        text = self.attune("paths").stdout
        self.assertRegex(text, r"journal +.*/home/journal\.db  \(ATTUNE_HOME, does not exist yet\)")
        self.assertFalse(self.home.exists(), "looking creates nothing")


    def test_a_home_that_cannot_be_one_is_refused_by_its_variable(self):
        self.put("shapes.csv", SHAPES)
        self.put("file", "x")
        tune = ("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE)
        self.refused(*tune, env={"ATTUNE_HOME": str(self.work / "file")}, says=("ATTUNE_HOME", "work/file"))
        self.refused("journal", "show", env={"ATTUNE_HOME": str(self.work / "file")}, says="ATTUNE_HOME")
        nobody = str(self.folder / "nobody")
        self.refused(*tune, env={"ATTUNE_HOME": "", "HOME": nobody}, says=("HOME names does not exist", nobody, "ATTUNE_HOME"))
        self.refused("quarantine", "list", env={"ATTUNE_HOME": "", "ATTUNE_CACHE": "", "HOME": nobody},
                     says="set ATTUNE_HOME to a folder for state and ATTUNE_CACHE to one for kernels")
        self.refused(*tune, env={"ATTUNE_CACHE": "", "HOME": nobody}, says=("HOME names does not exist", "ATTUNE_CACHE"))

    def test_an_xdg_folder_that_is_not_absolute_is_ignored(self):
        found = self.paths(ATTUNE_HOME="", ATTUNE_CACHE="", HOME="/users/me", XDG_STATE_HOME="state", XDG_CACHE_HOME="cache")
        self.assertEqual(found["home"], ("/users/me/.local/state/attune", "default"))
        self.assertEqual(found["kernels"], ("/users/me/.cache/attune", "default"))


class TheProgram(story.Story):
    def test_what_cannot_be_written_is_told(self):
        with open("/dev/full", "w") as full:
            for arguments in (("--help",), ("--version",), ("tune", "--help"), ("list", "ops"), ("paths",)):
                result = self.attune(*arguments, status=3, stdout=full)
                self.assertIn("cannot write to standard output", result.stderr)

    def test_refused_flags_are_in_the_long_help_alone(self):
        self.assertNotIn("--rotating_tensor", self.attune("tune", "--help").stdout)
        self.assertIn("--help-all", self.attune("tune", "--help").stdout)
        self.assertRegex(self.attune("tune", "--help-all").stdout, r"Refused flags:(\n.*)*--rotating_tensor")

    def test_the_flags_of_a_run_are_listed_for_programs(self):
        flags = self.attune("tune", "--list-flags").json
        by_name = {name: flag for flag in flags for name in flag["names"]}
        self.assertTrue(by_name["--budget"]["needs_value"])
        self.assertTrue(by_name["--bias"]["takes_value"] and not by_name["--bias"]["needs_value"])
        self.assertFalse(by_name["--all"]["takes_value"])
        self.assertTrue({"-m", "-n", "-k", "--dtype", "--dtype_a", "--act", "--alpha", "--beta", "--out_scale"} <= {*by_name})
        for name in ("--help", "-h", "--help-all", "--list-flags", "--rotating_tensor"):
            self.assertNotIn(name, by_name)

    def test_no_driver_is_opened_for_a_device_that_needs_none(self):
        self.put("shapes.csv", SHAPES)
        self.put("empty.csv", "gfx,cu_num,M,N,K,dtype,us,kernelName\n")
        for command in (("list", "ops"), ("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE), ("check", "t.csv", *FAKE),
                        ("coverage", "shapes.csv", "-t", "empty.csv", *FAKE[:2]), ("journal", "show", "--json"), ("quarantine", "list")):
            done = self.attune(*command, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(self.work / "loaded")})
        loaded = "".join(file.read_text() for file in self.work.glob("loaded.*"))
        self.assertIn("libattune" if "libattune" in loaded else "libfmt", loaded, str(done))
        self.assertNotIn("libcuda", loaded)
        self.assertNotIn("libcublasLt", loaded)

    def test_a_broken_driver_stops_nothing_that_needs_none(self):
        library = Path(next(line.split(" => ")[1].split(" (")[0] for line in subprocess.run(
            ["ldd", story.PROGRAM], capture_output=True, text=True).stdout.splitlines() if "libm.so" in line))
        whole = library.read_bytes()
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv", "--max-trials", "2")
        faults = {"cut": (whole[:len(whole) // 3], "the file is cut off"),
                  "zeros": (whole[:len(whole) // 2].ljust(len(whole), b"\0"), "not written to its end"),
                  "foreign": (whole, "another library has its name, without cuInit"),
                  "text": (b"text\n", "libcuda.so.1: "), "empty": (b"", "libcuda.so.1: ")}
        for name, (content, reason) in faults.items():
            self.put(f"{name}/libcuda.so.1", content)
            env = {"LD_LIBRARY_PATH": str(self.work / name)}
            for command in (("journal", "show", "--json"), ("journal", "show"), ("quarantine", "list"), ("quarantine", "clear")):
                self.assertEqual(self.attune(*command, env=env).stderr, "", name)
            refused = self.attune("tune", "-m", "1", "-n", "8", "-k", "8", "--devices", "cuda:0", status=None, env=env)
            self.assertIn(refused.status, (2, 3), str(refused))
            self.assertEqual((refused.stdout, refused.stderr.count("\n")), ("", 1), str(refused))
            self.assertRegex(refused.stderr, "^attune: .*cuda:0")
            if "got 'cuda:0'" not in refused.stderr:  # This build has the kind.
                self.assertIn("the NVIDIA driver (libcuda.so.1) cannot be opened, install it: ", refused.stderr)
                self.assertIn(reason, refused.stderr)
                tuned = self.attune("tune", "-m", "1", "-n", "8", "-k", "8", "-o", f"{name}.csv", "--max-trials", "1",
                                    "--libtype", "portable", "--quiet-wait", "0", env=env)  # On the CPU, and says why.
                self.assertRegex(tuned.stderr, f"(?m)^note: devices of the kind 'cuda' are left out, .*{re.escape(reason)}")

    def test_a_small_stack_is_enough(self):
        if b"__asan_version_mismatch_check" in story.PROGRAM.read_bytes() or b"__tsan_func_entry" in story.PROGRAM.read_bytes():
            self.skipTest("a sanitized program needs more")
        self.put("shapes.csv", SHAPES)
        limited = ["bash", "-c", 'ulimit -s 64 && exec "$@"', "-", story.PROGRAM]
        for command in (("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE), ("check", "t.csv", *FAKE), ("journal", "show")):
            done = subprocess.run([*limited, *command], cwd=self.work, env=self.environment(), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, f"{command}: {done}")
        done = subprocess.run([*limited, "bench", PROBLEM], cwd=self.work, env=self.environment(), capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 3, f"{done}")  # libraries want more
        self.assertIn("raise it with `ulimit -s 8192`: 64 KiB", done.stderr)

    def test_help_and_version(self):
        self.assertRegex(self.attune("--version").stdout, r"^attune \d+\.\d+\.\d+$")
        self.assertEqual(list(self.groups()), ["Tune", "Look and compare", "Tables", "Run time", "Maintenance"])
        for command in sum(self.groups().values(), []):
            self.assertIn("--help", self.attune(command, "--help").stdout)

    def test_each_file_of_a_command_is_a_command(self):
        files = {path.name.removesuffix("_command.cpp") for path in (story.REPOSITORY / "src" / "cli").rglob("*_command.cpp")}
        self.assertGreater(len(files), 10)
        self.assertEqual({*sum(self.groups().values(), []), "worker", "compile_worker"}, files)
        self.refused("worker", says="is started by tune, bench and check")
        self.refused("compile-worker", "hostcc", says="is started by commands that compile, not by hand")

    def test_workers_take_no_other_descriptor_for_their_channel(self):
        datagrams = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        listening, alone = (socket.socket(socket.AF_UNIX) for _ in range(2))
        listening.bind(str(self.folder / "socket"))
        listening.listen()
        network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        file, terminal, pipe = open(self.put("file", "text\n")), os.openpty(), os.pipe()
        for one in (*datagrams, listening, alone, network, file):
            self.addCleanup(one.close)
        for one in (*terminal, *pipe):
            self.addCleanup(os.close, one)
        odd = {"closed": None, "file": file.fileno(), "terminal": terminal[1], "pipe": pipe[0], "datagrams": datagrams[0].fileno(),
               "listening": listening.fileno(), "alone": alone.fileno(), "network": network.fileno()}
        for name, descriptor in odd.items():
            for command, says in (("worker",), "started by tune"), (("compile-worker", "nvrtc"), "started by commands"):
                with self.subTest(descriptor=name, command=command[0]):
                    give = (lambda: os.closerange(3, 4)) if descriptor is None else (lambda: os.dup2(descriptor, 3))
                    result = subprocess.run([story.PROGRAM, *command], preexec_fn=give, close_fds=False, timeout=20, text=True,
                                            stdin=subprocess.DEVNULL, capture_output=True, env=self.environment())
                    self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), result.stderr)
                    self.assertIn(says, result.stderr)

    def test_a_misspelt_flag_or_command_names_the_nearest(self):
        for arguments, sentence in (
                (("tune", "--bugdet", "5m"), "attune tune has no flag '--bugdet', the nearest is --budget; see attune tune --help"),
                (("tune", "--bugdet=5m"), "attune tune has no flag '--bugdet', the nearest is --budget; see attune tune --help"),
                (("tune", "-m", "1", "--max_m", "5"), "attune tune has no flag '--max_m', the nearest is --max-m; see attune tune --help"),
                (("tune", "--colour"), "attune tune has no flag '--colour'; see attune tune --help"),
                (("check", "--no-rum"), "attune check has no flag '--no-rum', the nearest is --no-run; see attune check --help"),
                (("kernels", "build", "--tabel", "t.csv"),
                 "attune kernels build has no flag '--tabel', the nearest is --table; see attune kernels build --help"),
                (("ci", "compare", "old.csv"), "attune ci compare needs the argument after; see attune ci compare --help"),
                (("kernels", "biuld"), "attune kernels has no command 'biuld', the nearest is build; see attune kernels --help"),
                (("check", "t.csv", "u.csv"), "attune check takes no argument 'u.csv'; see attune check --help")):
            with self.subTest(arguments):
                self.assertEqual(self.refused(*arguments).stderr, f"attune: {sentence}\n")
        self.refused("tnue", says="attune has no command 'tnue', the nearest is tune; the commands are ")
        self.refused("--versoin", says="attune has no flag '--versoin', the nearest is --version; the commands are ")
        self.refused("tune", "--icache_flusk", says="'--icache_flusk'; see")  # A refused flag is no advice.

    def test_a_run_without_anything_to_tune_asks_for_shapes(self):
        says = ("name the shapes to tune", "-i FILE", "-m M -n N -k K")
        self.refused("tune", says=says)
        self.refused("tune", *FAKE, "--budget", "5m", says=says)

    def test_without_a_command_or_with_an_unknown_one_it_names_the_commands(self):
        *others, last = sum(self.groups().values(), [])
        names = f"; the commands are {', '.join(others)} and {last}\n"
        self.assertTrue(self.refused(says="no command was given").stderr.endswith(names))
        self.assertTrue(self.refused("frobnicate", says="frobnicate").stderr.endswith(names))
        self.assertTrue(self.refused("--frob", says="--frob").stderr.endswith(names))

    def groups(self):
        """The commands of the help by the heading that they stand under."""
        found = {}
        for line in self.attune("--help").stdout.splitlines():
            if heading := re.fullmatch(r"([A-Z][a-z ]+):", line):
                below = found.setdefault(heading[1], [])
            elif command := re.match(r"  ([a-z]+)  ", line):
                below.append(command[1])
        return {heading: commands for heading, commands in found.items() if commands}


if __name__ == "__main__":
    story.main()
