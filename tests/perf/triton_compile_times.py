#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times how long Triton takes to compile GEMM kernels for a GPU that need not be here, with the script that attune runs.

usage: triton_compile_times.py [--python PYTHON] [--packages FOLDER] [--kernels N] [--processes N] [--arch sm_90] [--seed N]
Takes random tiles of at most 128 accumulators and 128 operand registers a thread, which do not spill.
"""
import argparse
import json
import os
import pathlib
import queue
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "src" / "compile" / "triton" / "compile_kernels.py"
KERNEL = '''
import triton
import triton.language as tl


@triton.jit
def gemm_kernel(a, b, c, M, N, K, stride_a, stride_b, stride_c, GROUP_SIZE_M,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tile = tl.program_id(0)
    width = GROUP_SIZE_M * tl.cdiv(N, BLOCK_N)
    first = tile // width * GROUP_SIZE_M
    rows = min(tl.cdiv(M, BLOCK_M) - first, GROUP_SIZE_M)
    m = ((first + tile % width % rows) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    n = (tile % width // rows * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    k = tl.arange(0, BLOCK_K)
    pa = a + (m % M)[:, None] * stride_a + k[None, :]
    pb = b + k[:, None].to(tl.int64) * stride_b + (n % N)[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        x = tl.load(pa, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        y = tl.load(pb, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        sums = tl.dot(x, y, sums)
        pa += BLOCK_K
        pb += BLOCK_K * stride_b
    tl.store(c + m[:, None] * stride_c + n[None, :], sums.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
'''


def configs():
    sizes = (16, 32, 64, 128, 256)
    for m in sizes:
        for n in sizes:
            for k in sizes:
                for warps in (1, 2, 4, 8):
                    for stages in range(1, 6):
                        fits = stages * (m + n) * k * 2 <= 227 << 10
                        if fits and m * n <= 128 * 32 * warps and (m + n) * k <= 2 * 128 * 32 * warps:
                            yield m, n, k, warps, stages


def options(m, n, k, warps, stages):
    return [*(f"--argument={name}:*bf16:16" for name in "abc"), *(f"--argument={name}:i32" for name in "MNK"),
            *(f"--argument=stride_{name}:i32:16" for name in "abc"), "--argument=GROUP_SIZE_M:i32",
            *(f"--constant=BLOCK_{name}:{size}" for name, size in zip("MNK", (m, n, k))), f"--num-warps={warps}", f"--num-stages={stages}"]


def triton_folder(python, packages):
    script = SCRIPT.with_name("find_package.py")
    done = subprocess.run([python, "-I", "-B", script, packages], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.split("attune-triton: ")[1])["folder"]


def compile_all(args, folder, work, times):
    home = tempfile.mkdtemp(dir=folder)
    (requests, to_python), (from_python, answers) = os.pipe(), os.pipe()
    tools = triton_folder(args.python, args.packages) + "/backends/nvidia/bin/"
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home, "TRITON_CACHE_DIR": home + "/cache",
                   "TRITON_PTXAS_PATH": tools + "ptxas", "TRITON_PTXAS_BLACKWELL_PATH": tools + "ptxas-blackwell",
                   "TRITON_DEFAULT_FP_FUSION": "1", "TRITON_DUMP_PTXAS_LOG": "1", "TRITON_STORE_BINARY_ONLY": "1", "TRITON_DISABLE_LINE_INFO": "1"}
    command = 'exec "$0" -I -B "$1" "$2" 3<&%d 4>&%d' % (requests, answers)
    with open(home + "/printed", "w") as printed:
        child = subprocess.Popen(["bash", "-c", command, args.python, SCRIPT, args.packages], env=environment, cwd=home,
                                 pass_fds=(requests, answers), stdout=printed, stderr=printed)
    os.close(requests), os.close(answers)
    with os.fdopen(to_python, "w") as sink, os.fdopen(from_python) as source:
        while True:
            try:
                number, config = work.get_nowait()
            except queue.Empty:
                break
            begin = time.monotonic()
            request = {"number": number, "source": KERNEL, "arch": args.arch, "entry": "gemm_kernel", "options": options(*config), "output": "cubin"}
            print(json.dumps(request), file=sink, flush=True)
            answer = json.loads(source.readline())
            times.append((time.monotonic() - begin, config, answer))
    child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--packages", default="")
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    work, times = queue.Queue(), []
    for item in enumerate(random.Random(args.seed).sample(list(configs()), args.kernels)):
        work.put(item)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        threads = [threading.Thread(target=compile_all, args=(args, folder, work, times)) for _ in range(args.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    wall = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.sort(key=lambda one: one[0])
    failed = [(config, answer["log"]) for _, config, answer in times if not answer["ok"]]
    print(f"{len(times)} kernels for {args.arch}, {args.processes} processes: {wall:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time; a kernel: median {times[len(times) // 2][0]:.2f} s, "
          f"longest {times[-1][0]:.2f} s {times[-1][1]}; {len(failed)} failed")
    for config, log in failed[:5]:
        print(config, log[:300])


if __name__ == "__main__":
    main()
