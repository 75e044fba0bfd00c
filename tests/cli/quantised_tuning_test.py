# SPDX-License-Identifier: MIT
"""Runs every command of docs/quantised_tuning.md, in a folder and a home of its own, with smaller shapes. No time is asserted."""
import re
import subprocess
import sys

import story

BUILD = story.PROGRAM.parent
PAGE = story.REPOSITORY / "docs" / "quantised_tuning.md"
TUNED = "aiter/configs/a4w4_blockscale_tuned_gemm.csv"
COLUMNS = "cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio".split(",")
# Smaller products and less work; and no claim about times: the machine may be busy.
SHORTER = {
    "1536": "48",
    "7168": "96",
    "attune tune": "attune tune --quiet-wait 0 --max-trials 2",
    "attune check": "attune check --quiet-wait 0 --max-slowdown 100000 --slower-than 100000",
    "build/release": str(BUILD),
}
# A program: whether a row serves a shape with its own kernel, by the library that is installed.
CALL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.attune_last_error.restype = ctypes.c_char_p
class Hit(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("match", ctypes.c_uint32), ("row", ctypes.c_uint32), ("ready", ctypes.c_uint8),
                ("is_stand_in", ctypes.c_uint8), ("rest", ctypes.c_uint8 * 6)]
def call(name, *arguments):
    if getattr(library, name)(*arguments) != 0:
        sys.exit(library.attune_last_error().decode())
dispatcher, key, hit = ctypes.c_void_p(), (ctypes.c_size_t * 128)(272), Hit(size=24)
call("attune_global", ctypes.byref(dispatcher))
call("attune_parse_key", sys.argv[2].encode(), ctypes.byref(key))
call("attune_require_key", dispatcher, ctypes.byref(key), None, ctypes.byref(hit))
print("served by its row" if hit.match == 0 and hit.ready and not hit.is_stand_in else f"match {hit.match}, ready {hit.ready}")
"""


def blocks_of(page):
    return re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


class Manual(story.Story):
    def setUp(self):
        super().setUp()
        self.user = self.folder / "user"
        self.user.mkdir()
        (self.work / "csrc").symlink_to(story.REPOSITORY / "csrc")
        self.script = self.folder / "variables"
        self.script.touch()
        self.variables = self.environment(HOME=str(self.user), ATTUNE_HOME=str(self.home), PYTHONDONTWRITEBYTECODE="1",
                                          ATTUNE_CACHE=str(self.folder / "kernels"))

    def shell(self, text, status=0, **more):
        """Runs commands in one session: variables and aliases last. Returns what they print, standard error too."""
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        kept = f"shopt -s expand_aliases\n. {self.script}\n{text}\n{{ export -p; alias -p; }} > {self.script}\n"
        done = subprocess.run(["bash", "-ec", kept], cwd=self.work, env={**self.variables, **more}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=110)
        self.assertEqual(done.returncode, status, f"{text}\n{done.stdout}")
        return done.stdout

    def kernels(self, folder):
        """When each kernel of a cache was written."""
        return {path: path.stat().st_ctime_ns for path in folder.rglob("kernel") if path.is_file()}

    def test_every_command_of_the_page(self):
        install, shapes, tune, older, check, rebuild, merge, alias, options, prebuild = blocks_of(PAGE)
        self.shell(install)
        self.shell(shapes)
        self.assertIn("2 shapes decided", self.shell(tune))
        header = self.read(TUNED).splitlines()[0].split(",")
        self.assertEqual(header[1:1 + len(COLUMNS)], COLUMNS)
        rows = self.rows(TUNED)
        self.assertEqual([(row["M"], row["N"], row["K"]) for row in rows], [("128", "48", "96"), ("16", "48", "96")])

        before = self.read(TUNED)
        said = self.shell(older)
        self.assertIn("GEMM_A4W4_BLOCKWISE_HIP_CLANG_PATH is set, but this build has no HIP solver", said)
        self.assertIn("2 shapes with a row already", said)
        self.assertEqual(self.read(TUNED), before)

        said = self.shell(check)
        self.assertIn("2 rows: 2 ok", said)
        self.assertIn("exact", said)
        self.assertIn(rows[1]["kernelName"], said)

        cached = self.kernels(self.folder / "kernels")
        self.assertTrue(cached)
        self.shell(rebuild)
        again = self.kernels(self.folder / "kernels")
        self.assertEqual(again.keys(), cached.keys())
        self.assertTrue(any(again[path] > cached[path] for path in cached), "no kernel was compiled again")

        said = self.shell(merge)
        merged = self.folder / "kernels" / "merged" / "a4w4_blockscale_tuned_gemm.csv"
        self.assertIn(f"2 rows of gemm_a4w4_blockscale in '{merged}'", said)
        self.assertRegex(said, f"merged +{merged.parent} ")
        self.assertEqual([row["kernelName"] for row in story.rows_of(merged.read_text())], [row["kernelName"] for row in rows])

        self.shell(alias)
        flags = options.splitlines()
        for flag in flags:
            with self.subTest(flag):
                self.shell(flag)
                order = ["16", "128"] if flag in ("tune --sort", "tune --sort True") else ["128", "16"] if flag == flags[0] else None
                if order:
                    self.assertEqual([row["M"] for row in self.rows(TUNED)], order)
        candidates = self.rows("aiter/configs/profile_a4w4_blockscale_all.csv")
        self.assertGreater(len(candidates), 2)
        self.assertLessEqual({*COLUMNS, "status", "samples"}, candidates[0].keys())

        said = self.shell(prebuild)
        prefix = self.user / "attune"
        prebuilt = self.kernels(prefix / "lib" / "attune" / "kernels")
        self.assertTrue(prebuilt)
        self.assertIn(f"{len(prebuilt)} kernel", said)
        self.assertEqual({path.stat().st_mode & 0o777 for path in prebuilt}, {0o644})
        self.serves_without_a_compiler(prefix)

    def serves_without_a_compiler(self, prefix):
        program, shape = self.put("program.py", CALL), "gemm_a4w4_blockscale m=16 n=48 k=96"
        alone = {"ATTUNE_CC": "/nonexistent/cc", "ATTUNE_CACHE": str(self.folder / "empty")}
        command = [sys.executable, program, prefix / "lib" / "libattune.so", shape]
        run = subprocess.run(command, env={**self.variables, **alone}, capture_output=True, text=True, timeout=60)
        self.assertEqual((run.stdout, run.stderr), ("served by its row\n", ""))
        self.assertFalse(self.kernels(self.folder / "empty"))
        (prefix / "lib" / "attune" / "kernels").rename(self.folder / "away")
        run = subprocess.run(command, env={**self.variables, **alone}, capture_output=True, text=True, timeout=60)
        self.assertNotIn("served by its row", run.stdout, "the test must need the kernels that were built ahead")


if __name__ == "__main__":
    story.main()
