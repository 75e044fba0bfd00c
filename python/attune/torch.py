# SPDX-License-Identifier: MIT
"""Routes PyTorch's linear layers through Attune.

attune.torch.patch()      # import attune.torch first; PyTorch is imported with it
with torch.inference_mode():
    model(x)
attune.torch.unpatch()
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad as _forward_ad

from attune import errors
from attune._attune import requirement, run_addresses

_MISALIGNED = 15  # Address bits that are 0 at a multiple of 16.
_STRIDED = torch.strided
_NUMBERS = {torch.float32: 1, torch.bfloat16: 2, torch.float16: 3}  # Numbers of attune::DType.
_KINDS = (torch.Tensor, torch.nn.Parameter)  # Subclasses may behave differently.
_original: Any = None
_routed = _passed_on = 0


def patch() -> None:
    """Routes torch.nn.functional.linear, and with it torch.nn.Linear, through Attune, in all threads.

    Attune handles contiguous CPU tensors of one type (fp32, bf16 or fp16), aligned to 16 bytes, if no gradients are
    needed (torch.no_grad(), torch.inference_mode(), or no tensor requires one). PyTorch's function handles all other
    calls, and those that no library supports: training, other devices, autocast, tracing, subclasses of tensors, wrong
    shapes. With ATTUNE_REQUIRE a call that Attune handles and no kernel serves as required raises UnavailableError; what
    PyTorch handles is not covered by the requirement. A call runs on at most torch.get_num_threads() threads, with the rows for that many. A second call does nothing.
    """
    global _original
    if _original is None:
        _original = torch.nn.functional.linear
        torch.nn.functional.linear = linear
        # In a scripted module the function stands for the operator.
        register = getattr(getattr(torch.jit, "_builtins", None), "_register_builtin", None)
        if register is not None:
            register(linear, "aten::linear")


def unpatch() -> None:
    """Restores PyTorch's own function. Does nothing without a patch."""
    global _original
    if _original is not None:
        torch.nn.functional.linear, _original = _original, None


def calls() -> dict[str, int]:
    """Returns the numbers of calls that Attune (`routed`) and PyTorch (`passed_on`) have handled."""
    return {"routed": _routed, "passed_on": _passed_on}


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Replacement of torch.nn.functional.linear: (..., k), (n, k), (n,) -> (..., n)."""
    global _routed, _passed_on
    if _is_ours(input, weight, bias):
        out = _run(input, weight, bias)
        if out is not None:
            _routed += 1
            return out
    _passed_on += 1
    return (_original or torch.nn.functional.linear)(input, weight, bias)


def _is_plain(tensor: Any, dtype: Any) -> bool:
    return (
        type(tensor) in _KINDS
        and tensor.dtype is dtype
        and tensor.is_cpu
        and tensor.layout is _STRIDED
        and tensor.is_contiguous()
        and not tensor.is_neg()  # Its memory has the opposite sign.
    )


def _is_ours(x: Any, w: Any, bias: Any) -> bool:
    if (
        type(x) not in _KINDS
        or torch._C._get_tracing_state() is not None
        or torch.is_autocast_cpu_enabled()
        or _is_compiling()
        or _forward_ad._current_level >= 0  # A dual tensor looks plain, and its tangent would be lost.
    ):
        return False
    dtype = x.dtype
    if dtype not in _NUMBERS or not _is_plain(x, dtype) or not _is_plain(w, dtype):
        return False
    if bias is not None and not (_is_plain(bias, dtype) and bias.dim() == 1 and bias.size(0) == w.size(0)):
        return False
    if w.dim() != 2 or x.dim() < 1 or x.size(-1) != w.size(1) or x.numel() == 0 or w.numel() == 0:
        return False
    return not (
        torch.is_grad_enabled() and (x.requires_grad or w.requires_grad or (bias is not None and bias.requires_grad))
    )


def _is_compiling() -> bool:
    return False


if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    _is_compiling = torch.compiler.is_compiling


def _run(x: Any, w: Any, bias: Any) -> Any:
    """Returns None if PyTorch must handle the call."""
    try:
        at_x, at_w, at_bias = x.data_ptr(), w.data_ptr(), 0 if bias is None else bias.data_ptr()
    except RuntimeError:
        return None  # A transform's tensor has no memory of its own.
    if (at_x | at_w | at_bias) & _MISALIGNED:
        return None
    n, k = w.shape
    *leading, _ = x.shape
    out = torch.empty((*leading, n), dtype=x.dtype, device="cpu")  # Faster than x.new_empty().
    threads = torch.get_num_threads()
    try:
        run_addresses(at_x, at_w, at_bias, out.data_ptr(), x.numel() // k, n, k, _NUMBERS[x.dtype], threads)
    except errors.UnavailableError:
        if requirement():
            raise  # PyTorch's function promises nothing of what is required.
        return None
    finally:
        # Libraries that share OpenMP with PyTorch change its number of threads.
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)
    return out
