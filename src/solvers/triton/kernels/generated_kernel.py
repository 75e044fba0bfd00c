# The part of a generated script that is the same for all products. The part before it states M, N, K, A_IS_KM, B_IS_KN,
# HAS_BIAS, IN, OUT and LIMIT.
import argparse
import os
import sys
import torch


def operands():
    """A, B, the bias and C."""
    a = torch.randn((K, M) if A_IS_KM else (M, K), device="cuda").to(IN)
    b = torch.randn((K, N) if B_IS_KN else (N, K), device="cuda").to(IN)
    bias = torch.randn(N, device="cuda").to(IN) if HAS_BIAS else None
    return a, b, bias, torch.empty((M, N), device="cuda", dtype=OUT)


def launched(a, b, bias, c, BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K, GROUP_SIZE_M, SPLIT_K, num_warps, num_stages):
    """Computes C and returns the compiled kernel of the product."""
    k_of_part = triton.cdiv(triton.cdiv(K, BLOCK_SIZE_K), SPLIT_K) * BLOCK_SIZE_K
    parts = triton.cdiv(K, k_of_part)
    is_split = SPLIT_K > 1
    sums = torch.empty((parts, M, N), device="cuda", dtype=torch.float32) if is_split else c
    tiles = triton.cdiv(M, BLOCK_SIZE_M) * triton.cdiv(N, BLOCK_SIZE_N)
    kernel = gemm[(tiles * parts,)](a, b, bias, sums, M, N, K, k_of_part, GROUP_SIZE_M, A_IS_KM, B_IS_KN,
                                    HAS_BIAS and not is_split, is_split, K % BLOCK_SIZE_K != 0, BLOCK_SIZE_M,
                                    BLOCK_SIZE_N, BLOCK_SIZE_K, num_warps=num_warps, num_stages=num_stages)
    if is_split:
        sum_of_parts[(triton.cdiv(M * N, 1024),)](sums, bias, c, M * N, N, parts, HAS_BIAS, 1024, num_warps=4)
    return kernel


def main(kernels):
    parser = argparse.ArgumentParser(description=f"Checks and times kernels of {M}×{N}×{K}.")
    parser.add_argument("--only", metavar="TEXT", default="", help="kernels whose names contain the text")
    parser.add_argument("--asm", metavar="FOLDER", help="write each kernel's cubin, PTX and Triton's own code there")
    arguments = parser.parse_args()
    a, b, bias, c = operands()
    expected = (a.T if A_IS_KM else a).double() @ (b if B_IS_KN else b.T).double()
    if HAS_BIAS:
        expected += bias.double()
    num_wrong = 0
    for kernel in [one for one in kernels if arguments.only in one.__name__]:
        c.fill_(float("nan"))
        compiled = kernel(a, b, bias, c)
        if arguments.asm:
            os.makedirs(arguments.asm, exist_ok=True)
            for kind, text in compiled.asm.items():
                with open(os.path.join(arguments.asm, f"{kernel.__name__}.{kind}"), "wb") as sink:
                    sink.write(text if isinstance(text, bytes) else str(text).encode())
        error = ((c.double() - expected).norm() / expected.norm()).item()
        if not error < LIMIT:
            num_wrong += 1
            print(f"{kernel.__name__}: wrong, relative error {error:.1e}", flush=True)
            continue
        us = 1000 * triton.testing.do_bench(lambda: kernel(a, b, bias, c), return_mode="median")
        print(f"{kernel.__name__}: {us:.2f} us, {2e-6 * M * N * K / us:.1f} TFLOPS, relative error {error:.1e}", flush=True)
    sys.exit(1 if num_wrong else 0)
