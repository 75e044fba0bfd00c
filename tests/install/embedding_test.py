# SPDX-License-Identifier: MIT
"""libattune embedded in programs that fork, that end while threads are in it, or that have lost their standard error:
embedding.c, against the build. $ATTUNE_EMBEDDING_ENDS: how many processes end in the midst of plans (default 25)."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import story

BUILD = Path(os.environ["ATTUNE_BUILD_FOLDER"])
CC = os.environ.get("CC", "cc")
HERE = Path(__file__).resolve().parent
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
PROBLEM = "gemm_a16w16 m=48 n=256 k=256 dtype=fp32"  # As in embedding.c.


class AnEmbeddedLibrary(story.Story):
    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="attune_embedding_"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)
        cls.embedding = cls.shared / "embedding"
        subprocess.run([CC, *STRICT, f"-I{story.REPOSITORY}/include", HERE / "embedding.c", "-o", cls.embedding, f"-L{BUILD}",
                        "-lattune", f"-Wl,-rpath,{BUILD}", "-lpthread"], check=True, timeout=120)

    def act(self, *arguments, timeout=120, prefix=(), env=None, **how):
        done = subprocess.run([*prefix, str(self.embedding), *map(str, arguments)], cwd=self.work, timeout=timeout, text=True,
                              env=self.environment(**(env or {})), capture_output=True, **how)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def candidates(self):
        """One of each solver, of two threads where it has such."""
        listed = self.attune("list", "candidates", PROBLEM, "--json").json
        every = {one["solver"]: one["candidates"] for one in listed if one["supported"] and one["candidates"]}
        return [next((name for name in names if "threads=2" in name), names[0]) for names in every.values()]

    # -- fork() ------------------------------------------------------------------------------------------------------

    def test_children_of_fork_compute_after_every_solver(self):
        candidates = self.candidates()
        self.assertTrue(any("portable" in name for name in candidates))
        for candidate in candidates:
            with self.subTest(candidate):
                self.act("fork", candidate)

    def test_children_compute_though_other_threads_were_in_the_library(self):
        for candidate in self.candidates():
            with self.subTest(candidate):
                self.act("beside", candidate)

    def test_children_compile_while_the_parent_does(self):
        listed = self.attune("list", "candidates", PROBLEM, "--json").json
        (generated,) = (one["candidates"] for one in listed if one["solver"] == "jit_cpu.gemm")
        kernel = {re.search(r"rows=\d+|$", name).group(): name for name in generated}
        self.assertGreater(len(kernel), 1)
        self.act("compile", *list(kernel.values())[:2], env={"ATTUNE_CACHE": str(self.work / "kernels")})

    def test_parent_and_child_capture_their_own_shapes(self):
        captures = self.work / "captures"
        self.act("fork", "portable.gemm@1:block=4x4", env={"ATTUNE_TUNE_GEMM": "1", "ATTUNE_CAPTURE_DIR": str(captures)})
        calls = [sum(int(row["calls"]) for row in story.rows_of(file.read_text())) for file in (captures / "counts").iterdir()
                 if "bpreshuffle" not in file.name]
        self.assertGreaterEqual(len(calls), 3, calls)  # The parent, its child and that one's.
        rows = {row["M"] for row in story.rows_of((captures / "bf16_untuned_gemm.csv").read_text())}
        self.assertLessEqual({"48", "17", "18"}, rows)

    # -- the end of the process ----------------------------------------------------------------------------------------

    def test_processes_end_while_threads_make_plans(self):
        for i in range(int(os.environ.get("ATTUNE_EMBEDDING_ENDS", "25"))):
            self.act("exit", i * 7 % 60)

    def test_a_process_that_joins_its_threads_at_its_end_ends(self):
        for after_ms in (0, 1, 40):
            self.act("join", after_ms, timeout=60)

    def test_a_process_whose_main_thread_has_ended_ends(self):
        for candidate in self.candidates():
            if not candidate.startswith(("openblas", "blis")):  # OpenBLAS' own threads keep every process, as docs/process.md says.
                with self.subTest(candidate):
                    self.act("leave", candidate, timeout=30)

    def test_a_signal_ends_a_process_that_a_library_keeps(self):
        for candidate in self.candidates():
            with self.subTest(candidate):
                process = subprocess.Popen([str(self.embedding), "leave", candidate], cwd=self.work, env=self.environment(),
                                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                self.addCleanup(process.kill)
                self.assertIn("the main thread ends", process.stdout.readline())
                process.terminate()
                self.assertIn(process.wait(30), (0, -signal.SIGTERM))

    # -- what it writes ------------------------------------------------------------------------------------------------

    def writes(self):
        """Everything that the library writes, and a candidate that is compiled."""
        generated = next(name for name in self.candidates() if name.startswith("jit_cpu"))
        return generated, {"ATTUNE_TUNE_GEMM": "1", "ATTUNE_ONLINE_TUNING": "1", "ATTUNE_CACHE": str(self.work / "kernels"),
                           "ATTUNE_PROGRAM": str(story.PROGRAM)}

    def test_a_standard_error_that_nobody_reads_raises_no_signal(self):
        candidate, variables = self.writes()
        read, write = os.pipe()
        os.close(read)
        self.addCleanup(os.close, write)
        # Signals are as by default in it: subprocess restores them.
        done = subprocess.run([str(self.embedding), "write", candidate], cwd=self.work, env=self.environment(**variables),
                              stdout=write, stderr=write, timeout=120)
        self.assertEqual(done.returncode, 0)

    def test_files_beyond_the_limit_raise_no_signal(self):
        candidate, variables = self.writes()
        for blocks in (0, 1):
            with self.subTest(blocks), open(self.work / "stderr.txt", "wb") as stderr:
                done = subprocess.run(["/bin/sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", str(self.embedding), "write", candidate],
                                      cwd=self.work, env=self.environment(**variables), stderr=stderr, timeout=120)
                self.assertEqual(done.returncode, 0)

    # -- solver modules and tables ---------------------------------------------------------------------------------------

    def lines(self, *arguments, **env):
        """What the library reports, without the shapes."""
        stderr = self.act(*arguments, env=env).stderr
        return [line for line in stderr.splitlines() if "no row of a table" not in line and "lookups found" not in line]

    def test_a_folder_of_modules_that_cannot_be_read_is_one_sentence(self):
        loop = self.work / "loop"
        loop.symlink_to(loop)
        (line,) = self.lines("open", "1", ATTUNE_MODULES=str(loop))
        self.assertIn("ATTUNE_MODULES does not name a readable folder (Too many levels of symbolic links)", line)
        self.refused("list", "solvers", says=("ATTUNE_MODULES", "set it to"), env={"ATTUNE_MODULES": str(loop)})

    def test_an_empty_variable_is_none(self):
        self.assertEqual(self.lines("open", "1", ATTUNE_MODULES=""), [])
        self.assertEqual(self.attune("list", "solvers", env={"ATTUNE_MODULES": ""}).stderr, "")

    def test_a_folder_without_modules_is_said_once(self):
        empty = self.work / "empty"
        empty.mkdir()
        (line,) = self.lines("open", "2", ATTUNE_MODULES=str(empty))
        self.assertIn(f"no solver modules found in '{empty}'", line)
        result = self.attune("list", "solvers", env={"ATTUNE_MODULES": str(empty)})
        self.assertEqual(result.stderr.count("no solver modules found in"), 1)

    def test_modules_that_others_may_write_are_skipped_and_reported(self):
        copies = self.work / "copies"
        shutil.copytree(BUILD / "modules", copies)
        self.assertEqual(self.lines("open", "1", ATTUNE_MODULES=str(copies)), [])
        copies.chmod(0o777)
        said = self.lines("open", "1", ATTUNE_MODULES=str(copies))
        self.assertEqual(len(said), len(list(copies.glob("attune_solver_*.so"))))
        self.assertTrue(all("is excluded" in line and "chmod go-w" in line for line in said), said)
        copies.chmod(0o755)
        (copies / "attune_solver_openblas.so").chmod(0o666)
        (line,) = self.lines("open", "1", ATTUNE_MODULES=str(copies))
        self.assertIn("openblas.gemm is excluded", line)
        listed = self.attune("list", "solvers", "--json", env={"ATTUNE_MODULES": str(copies)}).json
        self.assertEqual([one["id"] for one in listed if "chmod go-w" in one["reason"]], ["openblas.gemm"])

    def test_a_library_that_computes_nothing_opens_no_module(self):
        done = self.act("maps", "look")
        self.assertEqual(re.findall(r"attune_solver_\w+", done.stdout), [])
        # The first shape opens what serves it and nothing else.
        done = self.act("maps", "compute")
        there = {one["id"] for one in self.attune("list", "solvers", "--json").json if one["available"]}
        serving = [f"attune_solver_{name}" for name in ("onednn", "blis", "openblas") if f"{name}.gemm" in there]
        self.assertEqual(set(re.findall(r"attune_solver_\w+", done.stdout)), set(serving[:1]))

    def test_a_library_that_computes_nothing_ends_in_little_memory(self):
        for megabytes in (48, 64, 128, 256):
            for _ in range(5):
                done = subprocess.run(["/bin/sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", str(self.embedding), "maps", "look"],
                                      cwd=self.work, env=self.environment(), capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 1), f"{megabytes} MB: {done.stderr}")  # 1: said that there is no memory.

    def test_a_program_with_rights_of_its_own_is_not_steered_by_the_environment(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user's rights")
        nobody = 65534
        other = Path(tempfile.mkdtemp(prefix="attune_setuid_", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, other, True)
        other.chmod(0o755)
        program = other / "embedding"
        shutil.copy(self.embedding, program)
        os.chown(program, nobody, nobody)
        program.chmod(0o4755)
        done = subprocess.run([str(program), "setuid"], cwd=self.work, capture_output=True, text=True, timeout=60,
                              env=self.environment(ATTUNE_BUILD="perhaps", ATTUNE_MODULES=str(self.work)))
        if "not secure" in done.stderr or "cannot open shared object" in done.stderr:
            self.skipTest(f"the file system takes no such programs, or the library is not for all to read: {done.stderr.strip()}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("perhaps", done.stderr)
        self.assertNotIn("no solver modules found", done.stderr)
        self.assertIn("perhaps", self.act("open", "1", env={"ATTUNE_BUILD": "perhaps"}).stderr)


if __name__ == "__main__":
    story.main()
