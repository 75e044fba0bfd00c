# SPDX-License-Identifier: MIT
"""The installed tree, moved from where it was installed to: what the library exports and links, the examples built
against it and run with tables, its variables, and the C interface with every mistake that it can see."""
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import story

BUILD = Path(os.environ["ATTUNE_BUILD_FOLDER"])
CMAKE = os.environ.get("ATTUNE_CMAKE", "cmake")
CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
HERE = Path(__file__).resolve().parent
EXAMPLES = story.REPOSITORY / "examples"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
SHAPE = "gemm_a16w16 m=4 n=96 k=64 dtype=fp32"
HEADER = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
# What libattune.so may need: the C and C++ run time and the small libraries of its lower layers.
NEEDED = {"libattune", "libc", "libcsv", "libfmt", "libgcc_s", "libm", "libnettle", "libstdc++", "libxxhash", "ld-linux-x86-64"}
NEVER = re.compile(r"sqlite|soci|yaml|CLI|blas|blis|mkl|dnnl|xsmm|gomp|iomp|cuda|cublas|hip|rocm", re.IGNORECASE)


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **how)
    if done.returncode != 0:
        raise AssertionError(f"{command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def in_parallel(*commands):
    """Compilers side by side: two cores are what there is."""
    started = [subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
               for command in commands]
    for process in started:
        text = process.communicate(timeout=120)[0]
        if process.returncode != 0:
            raise AssertionError(f"{process.args}\n{text}")


class AnInstalledTree(story.Story):
    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="attune_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)
        run(CMAKE, "--install", BUILD, "--prefix", cls.shared / "first", "--strip")
        cls.prefix = cls.shared / "moved" / "here"
        cls.prefix.parent.mkdir()
        (cls.shared / "first").rename(cls.prefix)
        cls.library = cls.prefix / "lib" / "libattune.so"
        packages = dict(os.environ, PKG_CONFIG_PATH=str(cls.prefix / "lib" / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "attune", env=packages).split()
        cls.linear, cls.linear_c = cls.shared / "linear" / "linear", cls.shared / "linear_c"
        cls.api_use, cls.bad_input = cls.shared / "api_use", cls.shared / "bad_input"
        in_parallel((CMAKE, "-S", EXAMPLES / "linear", "-B", cls.shared / "linear", f"-DCMAKE_PREFIX_PATH={cls.prefix}"),
                    (CXX, "-std=c++20", "-fvisibility=hidden", HERE / "api_use.cpp", *flags, "-o", cls.api_use))
        in_parallel((CMAKE, "--build", cls.shared / "linear"),
                    (CC, "-std=c99", *STRICT, EXAMPLES / "linear_c" / "main.c", *flags, "-lm", "-o", cls.linear_c),
                    (CC, "-std=c99", *STRICT, HERE / "bad_input.c", *flags, "-o", cls.bad_input))

    def start_installed(self, *command, status=0, **env):
        """Runs a program against the installed library; returns its standard output and error."""
        whole = self.environment(LD_LIBRARY_PATH=str(self.prefix / "lib"), **env)
        done = subprocess.run([str(part) for part in command], cwd=self.work, env=whole, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def table(self, candidate, name="tuned.csv", bias=False):
        device = self.attune("list", "devices", "--json").json[0]
        row = f"{device['gfx']},{device['cu_num']},4,96,64,{bias},torch.float32,torch.float32,False,False,x,1,0,5.0,{candidate},0.0,1.0,1.0\n"
        return self.put(name, HEADER + row)

    def candidates(self, problem=SHAPE):
        listed = self.attune("list", "candidates", problem, "--json").json
        return {one["solver"]: one["candidates"][0] for one in listed if one["supported"] and one["candidates"]}

    # -- what is in it -----------------------------------------------------------------------------------------------

    def test_only_the_api_is_exported_and_all_of_it_has_the_version(self):
        symbols = run("nm", "-D", "-C", "--defined-only", "--with-symbol-versions", self.library).splitlines()
        names = [line.split(maxsplit=2)[2] for line in symbols]
        self.assertEqual([n for n in names if n != "ATTUNE_0.1" and not n.endswith("@@ATTUNE_0.1")], [])
        names = {n.removesuffix("@@ATTUNE_0.1") for n in names} - {"ATTUNE_0.1"}
        headers = {path.name: path.read_text() for path in (self.prefix / "include" / "attune").glob("*.h")}
        c_headers = "".join(headers[name] for name in ("attune.h", "attune_weights.h", "attune_key.h", "attune_workspace.h",
                                                      "attune_candidates.h", "attune_quantise.h"))
        declared = set(re.findall(r"ATTUNE_API [^;(]*?\b(attune_\w+)\(", c_headers))
        self.assertGreater(len(declared), 20)
        self.assertEqual({n for n in names if not n.startswith(("attune::", "typeinfo", "vtable"))}, declared)
        words = set(re.findall(r"\w+", " ".join(headers.values()))) - {"State"}
        for name in names - declared:
            function = re.match(r"(?:(?:typeinfo|typeinfo name|vtable) for )?((?:~?\w+::)*~?\w+)", name).group(1)
            self.assertTrue(all(part.lstrip("~") in words for part in function.split("::")), name)

    def test_the_library_pulls_in_no_vendor_library_no_database_no_yaml(self):
        dynamic = run("readelf", "-d", self.library)
        needed = {name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)}
        self.assertIn("libstdc++", needed)
        self.assertEqual(needed - NEEDED, set())
        self.assertIn("[libattune.so.0]", dynamic)
        closure = re.findall(r"^\s*(\S+)", run("ldd", self.library), re.MULTILINE)
        self.assertEqual([name for name in closure if NEVER.search(Path(name).name)], [])

    def test_the_whole_api_links_and_works(self):
        out, _ = self.start_installed(self.api_use, self.work / "captures")
        self.assertEqual(out.strip(), self.attune("--version").stdout.split()[-1])

    def test_mistakes_of_a_c_caller_are_codes_and_sentences(self):
        self.start_installed(self.bad_input)

    def test_a_c_project_finds_the_package(self):
        folder = self.shared / "linear_c_cmake"
        run(CMAKE, "-S", EXAMPLES / "linear_c", "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run(CMAKE, "--build", folder)
        out, _ = self.start_installed(folder / "linear_c")
        self.assertIn("match: fallback", out)

    # -- running with tables -----------------------------------------------------------------------------------------

    def test_a_row_of_a_linked_in_solver_serves_the_example(self):
        candidate = self.candidates(SHAPE + " bias=1")["portable.gemm"]
        table = self.table(candidate, bias=True)
        out, err = self.start_installed(self.linear, ATTUNE_CONFIG_GEMM_BF16=str(table))
        self.assertIn("match: exact\n", out)
        self.assertIn(candidate, out)
        self.assertEqual(err, "")

    def test_rows_of_every_module_serve_the_c_example(self):
        solvers = {one["id"]: one for one in self.attune("list", "solvers", "--json").json}
        for solver, candidate in self.candidates().items():
            with self.subTest(candidate):
                table = self.table(candidate)
                # A generated kernel is compiled before it serves; the first run of the example asks for it.
                out, err = self.start_installed(self.linear_c, SHAPE, AITER_CONFIG_GEMM_BF16=str(table), ATTUNE_BUILD="blocking")
                self.assertTrue(solvers[solver]["available"])
                self.assertIn("match: exact\n", out)
                self.assertIn(f"{table}:2 {candidate}", out)
                self.assertIn(candidate, out)
                self.assertNotIn("untuned", out)
                self.assertEqual(err, "")

    def test_the_default_table_lies_beside_the_library(self):
        table = self.table(self.candidates()["portable.gemm"])
        default = self.prefix / "share" / "attune" / "configs" / "bf16_tuned_gemm.csv"
        shutil.copy(table, default)
        self.addCleanup(default.unlink)
        out, _ = self.start_installed(self.linear_c, SHAPE)
        self.assertIn("match: exact\n", out)
        self.assertIn(f"{default}:2 ", out)

    def test_the_installed_program_finds_tables_and_modules(self):
        program = self.prefix / "bin" / "attune"
        paths, _ = self.start_installed(program, "paths")
        self.assertIn(str(self.prefix / "share" / "attune" / "configs"), paths)
        solvers = json.loads(self.start_installed(program, "list", "solvers", "--json")[0])
        here = {one["id"]: one["available"] for one in self.attune("list", "solvers", "--json").json}
        self.assertEqual({one["id"]: one["available"] for one in solvers}, here)

    def test_without_a_table_the_untuned_kernel_runs_and_says_so(self):
        out, err = self.start_installed(self.linear)
        self.assertIn("match: fallback\n", out)
        self.assertIn("no row of a table serves gemm_a16w16 m=4 n=96 k=64", err)
        self.assertIn("lookups found no row in the tables", err.splitlines()[-1])

    # -- variables -----------------------------------------------------------------------------------------------------

    def test_shapes_are_captured_when_a_program_ends(self):
        for variable in ("ATTUNE_TUNE_GEMM", "AITER_TUNE_GEMM"):
            folder = self.work / variable
            self.start_installed(self.linear, ATTUNE_CAPTURE_DIR=str(folder), **{variable: "1"})
            rows = story.rows_of((folder / "bf16_untuned_gemm.csv").read_text())
            self.assertEqual([(row["M"], row["N"], row["K"], row["bias"]) for row in rows], [("4", "96", "64", "True")])
            (counts,) = (folder / "counts").iterdir()
            self.assertEqual([row["calls"] for row in story.rows_of(counts.read_text())], ["4"])
        self.start_installed(self.linear, ATTUNE_CAPTURE_DIR=str(self.work / "off"), ATTUNE_TUNE_GEMM="0")
        self.assertFalse((self.work / "off").exists())

    def test_a_capture_that_fails_is_not_claimed(self):
        (self.work / "file").write_text("")
        folder = self.work / "file" / "below"
        _, err = self.start_installed(self.linear, ATTUNE_CAPTURE_DIR=str(folder), ATTUNE_TUNE_GEMM="1")
        last = err.splitlines()[-1]
        self.assertIn("they are not all captured, set ATTUNE_CAPTURE_DIR to a folder that can be written: ", last)
        self.assertIn(str(self.work / "file"), last)
        self.assertNotIn("they are captured", err)

    def test_a_home_that_is_missing_is_not_made_for_captures(self):
        home = self.work / "nobody"
        _, err = self.start_installed(self.linear, ATTUNE_HOME="", HOME=str(home), ATTUNE_TUNE_GEMM="1")
        self.assertRegex(err, f"shapes are not captured: .*set ATTUNE_CAPTURE_DIR to a folder: '{home}'")
        self.assertFalse(home.exists())

    def test_rows_that_cannot_be_used_are_said_once_with_the_first(self):
        table = self.table(self.candidates()["portable.gemm"])
        good = table.read_text().splitlines()[1]
        cells = story.rows_of(table.read_text())[0]
        bad = good.replace(f",{cells['us']},", ",banana,", 1)
        self.assertNotEqual(bad, good)
        with table.open("a") as file:
            file.write(f"{bad}\n{bad}\n")
        out, err = self.start_installed(self.linear_c, SHAPE, ATTUNE_CONFIG_GEMM_BF16=str(table))
        self.assertIn("match: exact\n", out)
        self.assertEqual(err, f"attune: 2 rows cannot be used, run attune check '{table}'; the first is {table}:3: column "
                              "'us' expects a time in µs from 1e-09 to 1e+18, got 'banana'\n")

    def test_hits_are_logged_when_asked_for(self):
        table = self.table(self.candidates()["portable.gemm"])
        for variable in ("ATTUNE_LOG_TUNED_CONFIG", "AITER_LOG_TUNED_CONFIG"):
            _, err = self.start_installed(self.linear_c, ATTUNE_CONFIG_GEMM_BF16=str(table), **{variable: "1"})
            self.assertIn("exact of ", err)
            self.assertEqual(len(err.splitlines()), 1)

    def test_the_bound_of_plans_comes_from_the_environment(self):
        for wanted, says in (("0", "a plan that is made at each call"), ("1000000", "the default config")):
            out, err = self.start_installed(self.linear, ATTUNE_MAX_PLAN_BYTES=wanted)
            self.assertIn(f"served by       {says}", out)
            self.assertNotIn("ATTUNE_MAX_PLAN_BYTES", err)

    def test_a_wrong_variable_costs_a_line_and_not_the_program(self):
        for variable, value in (("ATTUNE_BUILD", "perhaps"), ("ATTUNE_DEVICE", "cpu:99"), ("ATTUNE_TUNE_GEMM", "yes"),
                                ("ATTUNE_LOG_TUNED_CONFIG", "2"), ("ATTUNE_MAX_PLAN_BYTES", "64 MB"), ("ATTUNE_GRAPH_WAIT_S", "-1")):
            _, err = self.start_installed(self.linear, **{variable: value})
            lines = [line for line in err.splitlines() if variable in line and "they are not captured" not in line]
            self.assertEqual(len(lines), 1, err)
            self.assertIn(value, lines[0])


if __name__ == "__main__":
    story.main()
