# SPDX-License-Identifier: MIT
"""Programs with C++ run times, allocators and sanitizers of their own, against the build: guest.c and guest.cpp; and
which symbols the installed objects export.

$ATTUNE_RUNTIME_CALLS: calls of each program (default 60, three of each shape). Python and PyTorch: tests/python/runtimes_test.py."""
import concurrent.futures
import ctypes.util
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
CALLS = os.environ.get("ATTUNE_RUNTIME_CALLS", "60")
PROBLEM = "gemm_a16w16 m=48 n=96 k=64 dtype=fp32"  # As in guest.c.
HEADER = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
ALLOCATORS = {"": "", "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": ctypes.util.find_library("mimalloc") or "libmimalloc.so"}
RUNTIMES = {"dynamic": (), "static": ("-static-libstdc++", "-static-libgcc"),
            "static, exported": ("-static-libstdc++", "-static-libgcc", "-rdynamic")}
SANITIZERS = ("address", "thread", "leak", "undefined")
# GCC 12's AddressSanitizer takes the word before some thread-local blocks for their size, and its leak check then
# crashes: also in a program that opens BLIS or libgomp and no Attune.
SANITIZER_OPTIONS = {"ASAN_OPTIONS": "intercept_tls_get_addr=0", "UBSAN_OPTIONS": "halt_on_error=1", "TSAN_OPTIONS": "exitcode=66:ignore_noninstrumented_modules=1"}
# Each holds a std::locale: two implementations of one in a process destroy each other's.
STREAMS = re.compile(r"std::(locale|ios_base|basic_ios|basic_[io]*f?stream|basic_[io]*stringstream|basic_(stream|string|file)buf|ctype|num_put|num_get|use_facet|__basic_file|istream|ostream)")
VENDORS = "/usr/lib/x86_64-linux-gnu"


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **how)
    if done.returncode != 0:
        raise AssertionError(f"{command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(folder, source, name, *flags, compiler=None):
    """A program linked to the build's library."""
    program = folder / name
    standard = ("-std=c99", "-pedantic") if source == "guest.c" and compiler is None else ("-std=c++20",)
    run(compiler or (CC if source == "guest.c" else CXX), *standard, "-O1", "-Wall", "-Werror", f"-I{story.REPOSITORY}/include",
        HERE / source, "-o", program, *flags, f"-L{BUILD}", "-lattune", f"-Wl,-rpath,{BUILD}")
    return program


class Guests(story.Story):
    """What every program gets: tables and candidates of all solvers."""

    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="attune_runtimes_"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, True)

    def setUp(self):
        super().setUp()
        listed = self.attune("list", "candidates", PROBLEM, "--json").json
        every = {one["solver"]: one["candidates"] for one in listed if one["supported"] and one["candidates"]}
        self.generated = every.pop("jit_cpu.gemm")[0]
        self.candidates = [next((name for name in names if "threads=2" in name), names[0]) for names in every.values()]
        self.assertTrue(any(name.startswith("portable") for name in self.candidates))
        self.device = self.attune("list", "devices", "--json").json[0]

    def table(self, path, candidate):
        path.write_text(HEADER + f"{self.device['gfx']},{self.device['cu_num']},48,96,64,False,torch.float32,torch.float32,False,False,"
                                 f"x,1,0,5.0,{candidate},0.0,1.0,1.0\n")
        return path

    def guest(self, case, program, preloaded="", **env):
        """Runs a program of this case; returns what went wrong."""
        work = self.work / re.sub(r"\W+", "_", case)
        work.mkdir()
        table = self.table(work / "tuned.csv", self.generated)
        following = self.table(work / "next.csv", next(name for name in self.candidates if name.startswith("portable")))
        whole = self.environment(ATTUNE_CONFIG_GEMM_BF16=str(table), ATTUNE_CACHE=str(work / "kernels"), LD_PRELOAD=preloaded, **env)
        done = subprocess.run([str(program), CALLS, table, following, *self.candidates], cwd=work, env=whole, capture_output=True,
                              text=True, timeout=600)
        findings = re.search(r"ERROR: \w*Sanitizer|WARNING: \w*Sanitizer|runtime error|cannot be preloaded", done.stderr)
        if done.returncode == 0 and not findings:
            return None
        found = done.stderr[findings.start():][:4000] if findings else done.stderr[-4000:]
        return f"{case}: status {done.returncode}\n{done.stdout[-2000:]}{found}"

    def all_work(self, cases):
        """`cases`: the arguments of guest(); two at a time."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = [text for text in pool.map(lambda case: self.guest(*case[0], **case[1]), cases) if text]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def built_all(self, wanted):
        """`wanted`: name → source and flags."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            programs = pool.map(lambda one: built(self.shared, one[1][0], one[0], *one[1][1:]), wanted.items())
            return dict(zip(wanted, programs))


class ProgramsOfTheirOwnRunTime(Guests):
    def test_a_program_has_any_runtime_and_allocator(self):
        programs = self.built_all({"c": ("guest.c",), **{name: ("guest.cpp", *flags) for name, flags in RUNTIMES.items()}})
        present = {name: file for name, file in ALLOCATORS.items() if not file or ctypes.util.find_library(file[3:].split(".so")[0])}
        self.assertEqual(set(ALLOCATORS) - set(present), set(), "see the set `test` of tools/packages.txt")
        self.all_work([((f"{name} {allocator}", program, file), {}) for name, program in programs.items()
                       for allocator, file in present.items()])

    def test_sanitizers_find_nothing(self):
        programs = self.built_all({f"{source} {name}": (source, f"-fsanitize={name}", "-g") for source in ("guest.c", "guest.cpp")
                                   for name in SANITIZERS})
        self.all_work([((name, program), SANITIZER_OPTIONS) for name, program in programs.items()])

    def test_a_program_of_libcxx_uses_the_c_interface(self):
        clang = next((found for name in ("clang++-19", "clang++-14", "clang++") if (found := shutil.which(name))), None)
        probe = "#include <version>\n#ifndef _LIBCPP_VERSION\n#error\n#endif\nint main() {}"
        if clang is None or subprocess.run([clang, "-stdlib=libc++", "-xc++", "-", "-o", self.work / "probe"], input=probe, text=True,
                                           capture_output=True).returncode != 0:
            self.skipTest("no libc++ is here, see the set `test` of tools/packages.txt")
        flags = ("-stdlib=libc++", "-xc++", "-Wno-writable-strings")
        for name, more in {"libc++": (), "libc++ exported": ("-static-libstdc++", "-rdynamic")}.items():
            program = self.shared / name.replace(" ", "_")
            run(clang, *flags, "-O1", f"-I{story.REPOSITORY}/include", HERE / "guest.c", "-o", program, *more, f"-L{BUILD}", "-lattune",
                f"-Wl,-rpath,{BUILD}")
            self.assertIsNone(self.guest(name, program))

    # -- libraries that the process has already ---------------------------------------------------------------------------

    def foreign_library(self):
        """Defines what OpenBLAS and oneDNN define, and ends the process where one of it is called."""
        source, library = self.work / "foreign.c", self.work / "libforeign.so"
        names = ("cblas_sgemm", "cblas_sgemv", "sgemm_", "openblas_set_num_threads", "dnnl_primitive_create", "dnnl_version",
                 "dnnl_primitive_execute", "bli_sgemm_ex", "bli_init", "blas_memory_alloc")
        source.write_text("#include <stdlib.h>\n#include <stdio.h>\nint gotoblas;\n" +
                          "".join(f'void {name}(void) {{ fputs("foreign {name}\\n", stderr); abort(); }}\n' for name in names))
        run(CC, "-shared", "-fPIC", source, "-o", library)
        return library

    def test_other_libraries_of_the_process_are_not_called(self):
        program = built(self.shared, "guest.c", "preloading")
        foreign = str(self.foreign_library())
        cases = {name: f"{file} {foreign}" for name, file in ALLOCATORS.items()}
        for name, file in {"openblas": "openblas-pthread/libopenblas.so.0", "blas": "openblas-pthread/libblas.so.3",
                           "blis": "blis-openmp/libblis.so.*", "onednn": "libdnnl.so.*"}.items():
            for path in list(Path(VENDORS).glob(file))[:1]:
                cases[name] = f"libjemalloc.so.2 {path}"
        self.all_work([((f"preloaded {name}", program, preloaded), {}) for name, preloaded in cases.items()])

    def test_a_solver_that_a_sanitizer_keeps_from_its_library_says_so(self):
        runtime = run(CC, "-print-file-name=libasan.so").strip()
        preloaded = f"{runtime} {self.foreign_library()}"
        listed = self.attune("list", "solvers", "--json", env={"LD_PRELOAD": preloaded, "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertNotIn("foreign ", listed.stderr)
        why = {one["id"]: one["reason"] for one in listed.json if not one["available"]}
        for solver in ("openblas.gemm", "onednn.gemm", "blis.gemm"):
            self.assertRegex(why[solver], r"the process has another library's \w+ \('.*libforeign.so'\), and a sanitizer forbids to keep them apart")
        self.assertNotIn("jit_cpu.gemm", why)


class InstalledObjects(story.Story):
    """Their dynamic symbols."""

    @classmethod
    def setUpClass(cls):
        cls.prefix = Path(tempfile.mkdtemp(prefix="attune_symbols_"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix, True)
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--strip")
        cls.objects = [file for file in cls.prefix.rglob("*.so") if not file.is_symlink()]

    @staticmethod
    def symbols(file, which):
        names = (line.split()[-1] for line in run("nm", "-D", which, file).splitlines())
        return {name.split("@")[0] for name in names}

    def test_modules_export_their_entry_points_alone(self):
        modules = [file for file in self.objects if file.parent.name == "modules"]
        self.assertGreater(len(modules), 3)
        for file in modules:
            with self.subTest(file.name):
                exported = self.symbols(file, "--defined-only")
                if file.name == "libattune_allocator.so":
                    operators = {name for name in exported if re.match(r"_Z(nw|na|dl|da)", name)}
                    self.assertEqual(len(operators), 20)
                    self.assertEqual(exported - operators, {
                        "malloc", "calloc", "realloc", "reallocarray", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc",
                        "pvalloc", "malloc_usable_size", "__cxa_atexit"})
                elif file.name == "attune_server.so":
                    self.assertEqual(exported, {"attune_serve"})
                else:
                    self.assertEqual(exported, {"attune_register", "attune_solver_interface"})

    def test_the_library_exports_functions_of_its_headers_alone(self):
        (library,) = (file for file in self.prefix.rglob("libattune.so*") if not file.is_symlink())
        for name in self.symbols(library, "--defined-only") - {"ATTUNE_0.1"}:
            self.assertRegex(name, r"^attune_|^_Z\w*6attune")

    def test_no_object_uses_streams(self):
        for file in [*self.objects, *self.prefix.rglob("libattune.so.*")]:
            if file.name == "attune_server.so" or file.is_symlink():  # The program opens it, no application does.
                continue
            undefined = run("nm", "-D", "-C", "--undefined-only", file).splitlines()
            self.assertEqual([line for line in undefined if STREAMS.search(line)], [], file)


if __name__ == "__main__":
    story.main()
