# SPDX-License-Identifier: MIT
"""Python and PyTorch in processes with another allocator or a sanitizer, and an extension that is built with a static C++
run time: guest.py, with the environment that wheel_test.py makes. Ends with 77, and a line that says why, where this
cannot be done. $ATTUNE_RUNTIME_CALLS: calls of each program (default 60); PyTorch runs only if it is set, because its
kernels take a while to compile."""
import ctypes.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import wheel_test as wheel

CALLS = os.environ.get("ATTUNE_RUNTIME_CALLS")
PROBLEM = "gemm_a16w16 m=48 n=96 k=64 dtype=fp32"  # As in guest.py.
HEADER = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
STATIC = "-static-libstdc++ -static-libgcc -rdynamic"
ALLOCATORS = ("", "libjemalloc.so.2", "libtcmalloc_minimal.so.4", ctypes.util.find_library("mimalloc") or "libmimalloc.so")
# Python keeps memory until its end, which is no concern of a guest. NumPy uses the same OpenBLAS, whose threads
# ThreadSanitizer does not understand (docs/process.md).
SANITIZER_OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0:intercept_tls_get_addr=0", "TSAN_OPTIONS": "exitcode=66:ignore_noninstrumented_modules=1", "LSAN_OPTIONS": "exitcode=0"}


def program(*arguments):
    return json.loads(wheel.must(wheel.BUILD / "attune", *arguments, "--json"))


def table(path, device, candidate):
    path.write_text(HEADER + f"{device['gfx']},{device['cu_num']},48,96,64,False,torch.float32,torch.float32,False,False,"
                             f"x,1,0,5.0,{candidate},0.0,1.0,1.0\n")
    return path


def build(name, flags):
    """The package, built with these flags of the linker, in a folder of its own."""
    folder = wheel.FOLDER / f"runtime_{name}"
    environment = dict(os.environ, CMAKE_PREFIX_PATH=str(wheel.PREFIX), LDFLAGS=flags)
    if shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    wheel.must(*wheel.PIP, "install", "--no-build-isolation", "--no-deps", "--upgrade", "--target", folder,
               f"--config-settings=build-dir={wheel.FOLDER / ('runtime_build_' + name)}", wheel.PACKAGE, env=environment)
    (extension,) = (folder / "attune").glob("_attune*.so")
    exported = wheel.must("nm", "-D", "--defined-only", extension).split()[2::3]
    if exported != ["PyInit__attune"]:
        sys.exit(f"the extension exports {exported}")
    return folder


def run_guest(package, kind, preloaded, kernels, listed, device):
    every = {one["solver"]: one["candidates"] for one in listed if one["supported"] and one["candidates"]}
    generated = every.pop("jit_cpu.gemm")[0]
    candidates = [next((name for name in names if "threads=2" in name), names[0]) for names in every.values()]
    with tempfile.TemporaryDirectory() as work:
        cache = Path(work) / "kernels"
        if (kernels / "torch").exists():
            shutil.copytree(kernels / "torch", cache / "torch")
        first = table(Path(work) / "tuned.csv", device, generated)
        following = table(Path(work) / "next.csv", device, next(name for name in candidates if name.startswith("portable")))
        environment = dict(os.environ, LD_PRELOAD=preloaded, PYTHONPATH=str(package), ATTUNE_CONFIG_GEMM_BF16=str(first),
                           ATTUNE_CACHE=str(cache), ATTUNE_HOME=work, **SANITIZER_OPTIONS)
        done = subprocess.run([wheel.PYTHON, Path(__file__).with_name("guest.py"), kind, CALLS or "60", first, following, *candidates],
                              env=environment, cwd=work, capture_output=True, text=True, timeout=600)
        if kind == "torch" and not (kernels / "torch").exists() and (cache / "torch").exists():
            shutil.copytree(cache / "torch", kernels / "torch")
    if done.returncode == 0 and "ERROR: AddressSanitizer" not in done.stderr:
        return None
    return f"{package.name} {kind} {preloaded}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"


def main():
    python = wheel.interpreter()
    wheel.FOLDER.mkdir(exist_ok=True)
    wheel.prepare_environment(python)
    wheel.must(os.environ.get("ATTUNE_CMAKE", "cmake"), "--install", wheel.BUILD, "--prefix", wheel.PREFIX, "--strip")
    runtimes = {"static": STATIC, **({"dynamic": ""} if CALLS else {})}
    kinds = ("numpy", "torch") if CALLS and not subprocess.run([wheel.PYTHON, "-c", "import torch"], capture_output=True).returncode else ("numpy",)
    sanitizers = []
    for name in ("asan", "tsan", "lsan", "ubsan"):
        library = wheel.must(os.environ.get("CC", "cc"), f"-print-file-name=lib{name}.so").strip()
        # AddressSanitizer looks for __cxa_throw when it is loaded: Python itself has none.
        sanitizers.append(f"{library} libstdc++.so.6")
    listed, (device, *_) = program("list", "candidates", PROBLEM), program("list", "devices")
    wrong = []
    with tempfile.TemporaryDirectory() as kernels:
        for name, flags in runtimes.items():
            package = build(name, flags)
            for kind in kinds:
                wrong += [run_guest(package, kind, preloaded, Path(kernels), listed, device) for preloaded in (*ALLOCATORS, *sanitizers)]
    failed = [text for text in wrong if text]
    print(f"{len(wrong)} programs, {len(failed)} failed; PyTorch: {'yes' if 'torch' in kinds else 'skipped, set ATTUNE_RUNTIME_CALLS'}")
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
