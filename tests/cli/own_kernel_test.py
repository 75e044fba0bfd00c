# SPDX-License-Identifier: MIT
"""A user's own Triton GEMM (--kernel): what is refused, and how it is listed, stored and compiled for a GPU that is not here. The
package triton is a copy that compiles nothing."""
import json
import os
import sys

import story

H200 = {"id": "cuda:0", "kind": "cuda", "gfx": "sm_90", "cu_num": 132, "model": "NVIDIA H200", "processor": "", "memory_bytes": 150121545728,
        "cache_bytes": 62914560, "facts": {"num_units": 132, "l2_bytes": 62914560, "shared_bytes": 232448}}
PROBLEM = "gemm_a16w16 m=128 n=256 k=512 dtype=fp16"
SIZE = ("-m", "128", "-n", "256", "-k", "512", "--dtype", "fp16")
HEADER = ("gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
          "tflops,bw,layout\n")
PACKAGE = '''
import inspect, struct, types
class JITFunction:
    def __init__(self, function):
        found = inspect.signature(function).parameters.values()
        self.fn, self.__name__, self.arg_names = function, function.__name__, [one.name for one in found]
        self.params = [types.SimpleNamespace(name=one.name, is_constexpr="constexpr" in str(one.annotation),
                                             has_default=one.default is not one.empty, default=one.default) for one in found]
class Autotuner:
    def __init__(self, fn, configs, reset_to_zero, restore_value):
        self.fn, self.configs, self.reset_to_zero, self.restore_value = fn, configs, reset_to_zero, restore_value
class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3):
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
def autotune(configs, key, reset_to_zero=(), restore_value=()):
    return lambda fn: Autotuner(fn, configs, reset_to_zero, restore_value)
runtime, jit = types.SimpleNamespace(JITFunction=JITFunction), JITFunction
def cubin(name, arch):
    texts = b"\\0" + name.encode() + b"\\0"
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0, 0)
    header = b"\\x7fELF\\2\\1\\1\\x33\\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, arch, 64, 0, 0, 64, 3, 0)
    section = lambda kind, offset, size, link: struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, 24)
    at = 64 + 3 * 64
    return header + section(0, 0, 0, 0) + section(3, at, len(texts), 0) + section(2, at + len(texts), len(symbols), 1) + texts + symbols
def compile(source, target, options):
    facts = types.SimpleNamespace(shared=1024, num_warps=options["num_warps"], global_scratch_size=0)
    return types.SimpleNamespace(asm={"cubin": cubin(source.fn.__name__, target.arch)}, metadata=facts)
'''
MODULES = {
    "__init__.py": PACKAGE,
    "language.py": "class constexpr:\n    pass\n",
    "compiler.py": "class ASTSource:\n    def __init__(self, fn, signature, constexprs, attrs):\n        self.fn = fn\n",
    "backends/compiler.py": "import collections\nGPUTarget = collections.namedtuple('GPUTarget', 'backend arch warp_size')\n",
}
PARAMETERS = "a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BM: 'tl.constexpr', BN: 'tl.constexpr', BK: 'tl.constexpr'"
JIT = f"@triton.jit\ndef gemm({PARAMETERS}):\n    pass\n"
CONFIGS = "[triton.Config({'BM': size, 'BN': 64, 'BK': 32}) for size in (32, 64)]"
TUNED = f"import triton\n\n@triton.autotune(configs={CONFIGS}, key=['M'])\n{JIT}"


class OwnKernels(story.Story):
    def setUp(self):
        super().setUp()
        if "triton.own_gemm" not in {e["id"] for e in self.attune("list", "solvers", "--json").json}:
            self.skipTest("triton.own_gemm is not in this build")
        packages = self.folder / "python" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        record = ""
        for name, text in MODULES.items():
            (packages / "triton" / name).parent.mkdir(parents=True, exist_ok=True)
            (packages / "triton" / name).write_text(text)
            record += f"triton/{name},sha256=0,{len(text.encode())}\n"
        facts = packages / "triton-3.9.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 3.9.0\n")
        (facts / "RECORD").write_text(record)
        program = self.folder / "python" / "bin" / "python3"
        program.parent.mkdir()
        base = os.path.realpath(sys._base_executable)
        program.symlink_to(base)
        (self.folder / "python" / "pyvenv.cfg").write_text(f"home = {os.path.dirname(base)}\n")
        self.python = ("--python", str(program))
        self.put("h200.json", json.dumps(H200))
        self.device = ("--devices", "cuda:0", "--device-info", "h200.json")

    def kernel(self, text, name="mine.py"):
        self.put(name, text)
        return ("--kernel", f"{name}:gemm")

    def listed(self, *flags):
        listed = self.attune("list", "candidates", PROBLEM, *self.device, "--json", *flags).json
        return next(e for e in listed if e["solver"] == "triton.own_gemm")

    def test_are_listed_where_they_are_named_and_no_search_tries_them_else(self):
        self.assertFalse(self.listed()["supported"])
        mine = self.listed(*self.python, *self.kernel(TUNED))
        self.assertEqual([c.split(";")[:3] for c in mine["candidates"]],
                         [[f"triton.own_gemm@1:BK=32", f"BM={size}", "BN=64"] for size in (32, 64)])
        stored = list((self.home / "triton").iterdir())
        self.assertEqual([(file.suffix, file.stat().st_mode & 0o777) for file in stored], [(".json", 0o600)])
        self.assertIn(f";kernel={stored[0].stem};", mine["candidates"][0])
        self.assertEqual(self.listed()["allowed"], 0)
        both = self.listed(*self.python, *self.kernel(TUNED), *self.kernel("# another\n" + TUNED, "another.py"))
        self.assertEqual(both["allowed"], 4)

    def test_without_configs_get_attunes_values(self):
        self.assertGreater(self.listed(*self.python, *self.kernel("import triton\n" + JIT))["allowed"], 50)

    def test_are_compiled_by_name_and_a_row_is_skipped_where_the_kernel_is_missing(self):
        cache = ("--cache", str(self.work / "cache"))
        built = self.attune("kernels", "build", "--space", "triton.own_gemm", "--problem", PROBLEM, "--device-info", "h200.json",
                            *cache, *self.python, *self.kernel(TUNED))
        kernels = self.attune("kernels", "list", "--json", *cache).json
        self.assertEqual({kernel["arch"] for kernel in kernels}, {"sm_90"}, built)
        self.assertEqual(len(kernels), 2, built)
        name = self.listed(*self.python, *self.kernel(TUNED))["candidates"][0]
        self.put("fp16_tuned_gemm.csv", HEADER + "sm_90,132,128,256,512,False,torch.float16,torch.float16,False,False,triton,-1,1,5,"
                 f"{name},0,1,1,plain\n")
        row = ("kernels", "build", "--table", "fp16_tuned_gemm.csv", "--op", "gemm_a16w16", "--device-info", "h200.json", *cache, *self.python)
        self.assertIn("1 of 1 row with generated kernels", self.attune(*row).stdout)
        missing = self.attune(*row, status=1, env={"ATTUNE_HOME": str(self.folder / "other")})
        self.assertIn("skipped", missing.stderr)
        self.assertIn(str(self.folder / "other" / "triton"), missing.stderr)

    def test_once_compiled_need_no_python(self):
        """Triton's kernels, too: the cache answers for a compiler that is not here."""
        cache, none = ("--cache", str(self.work / "cache")), {"ATTUNE_PYTHON": "/no/python"}
        build = ("kernels", "build", "--space", "triton.gemm", "--problem", PROBLEM, "--max-kernels", "3", *self.device)
        built = self.attune(*build, *cache, *self.python).stdout
        self.assertEqual(self.attune(*build, *cache, env=none).stdout, built)
        listed = self.attune("list", "candidates", PROBLEM, *self.device, "--json", env=none).json
        self.assertGreater(next(e for e in listed if e["solver"] == "triton.gemm")["allowed"], 100)
        alone = self.attune(*build, "--cache", str(self.work / "empty"), env=none, status=1)
        self.assertIn("unsupported: ATTUNE_PYTHON expects a Python program", alone.stderr)

    def test_that_cannot_be_used_are_refused_in_one_sentence(self):
        head = "import os, triton\n"
        listing = ("list", "candidates", PROBLEM, *self.device, *self.python)
        for text, says in (
                ("raise ValueError('no luck')", ("mine.py:2: ", "ValueError: no luck")),
                ("os._exit(3)", ("mine.py", "status 3")),
                ("raise SystemExit(3)", ("mine.py:2: ", "SystemExit: 3")),
                ("def other(): pass", ("mine.py: ", "there is no function 'gemm'")),
                ("def gemm(): pass", ("mine.py:2: ", "'gemm' is no @triton.jit function")),
                ("def gemm(:", ("mine.py:2: ", "SyntaxError")),
                ("\n" + JIT.replace("M, N, K,", "M, N, K, lda,"), ("mine.py:3: ", "'lda'", "known are a, b, c, bias, m, n, k, stride_am")),
                (JIT.replace("BK: ", "ACT: 'tl.constexpr', BK: "), ("mine.py:2: ", "'ACT'", "default")),
                (TUNED.replace("'BK': 32", "'BK': 0.5"), ("mine.py:4: ", "a config gives BK a value")),
                (TUNED.replace("key=['M']", "key=['M'], reset_to_zero=['a_ptr']"), ("mine.py:4: ", "reset_to_zero names 'a_ptr'"))):
            with self.subTest(text):
                self.refused(*listing, *self.kernel(head + text), says=says)
        self.refused(*listing, "--kernel", "none.py:gemm", says="none.py")
        self.refused(*listing, "--kernel", "mine.py", says=("FILE:FUNCTION", "'mine.py'"))
        named = self.kernel(TUNED)
        self.refused("list", "candidates", PROBLEM, *self.device, "--python", "/bin/true", *named, says="--kernel needs Triton")
        self.refused("list", "candidates", PROBLEM, "--python", "/no/python", *named, says="/no/python")

    def test_a_machine_without_a_gpu_is_told_so_before_anything_of_triton(self):
        named = self.kernel(TUNED)
        for python in ((), ("--python", "/bin/true")):
            self.refused("tune", *SIZE, *story.FAKE, *python, *named, says=("--kernel needs an NVIDIA GPU", "'fake:0'"))
        if not any(e["kind"] == "cuda" for e in self.attune("list", "devices", "--json").json):
            self.refused("tune", *SIZE, *named, env={"ATTUNE_PYTHON": "/bin/true"}, says=("--kernel needs an NVIDIA GPU", "none is here"))

    def test_what_lies_where_a_kernel_is_stored_is_named(self):
        listing = ("list", "candidates", PROBLEM, *self.device, *self.python, *self.kernel(TUNED))
        self.attune(*listing)
        stored, = (self.home / "triton").iterdir()
        for make, says in ((stored.mkdir, "a folder lies where the kernel is stored, remove it"),
                           (lambda: os.mkfifo(stored), "a pipe or a device lies where the kernel is stored, remove it")):
            stored.rmdir() if stored.is_dir() else stored.unlink()
            make()
            self.refused(*listing, says=(says, str(stored)))


if __name__ == "__main__":
    story.main()
