# SPDX-License-Identifier: MIT
"""Routes PyTorch's matrix products through Attune.

attune.torch.patch()      # import attune.torch first; PyTorch is imported with it
model(x)
attune.torch.unpatch()

with attune.torch.patched():
    model(x)
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import warnings
from typing import Any, Iterator

import torch
from torch.autograd import forward_ad as _forward_ad

from attune import errors
from attune import _libraries, _torch_build, _torch_group, _torch_library
from attune._attune import (
    captured_stand_ins,
    count_product,
    examine_linear,
    product_counts,
    product_functions,
    product_types,
    run_product,
    serve_untuned,
)

_NUMBERS = {getattr(torch, name): number for name, number in product_types.items()}
_KINDS = (torch.Tensor, torch.nn.Parameter)  # Subclasses may behave differently.
_STRIDED = torch.strided
_lock = threading.RLock()
_way = ""  # What patch() did: one of WAYS, or nothing.
WAYS = ("dispatcher", "library", "python")  # The first that can be had is the best.
_why = ""  # Why it was not the dispatcher.
_why_no_cuda = ""  # Why CUDA tensors are not served.
_was_patched = False
_OPERATORS = "ATTUNE_TORCH_OPERATORS"  # Names the library in which the solver torch.gemm finds PyTorch's operators.
_variables: dict[str, tuple[str | None, str]] = {}  # Those that patch() set: what they were before, and what it set.
_kernels: ctypes.CDLL | None = None
_kernels_file = ""
_kernels_without_cuda = ""  # Why they serve no CUDA tensors.
_registration: _torch_library.Registration | None = None
_original: Any = None
_ranks: _torch_group.RankGroup | None = None  # Whose changes all make together.


def patch(way: str | None = None, group: Any = None, untuned: bool = False) -> None:
    """Routes products of host and CUDA tensors through Attune, in all threads: linear layers, mm, mv and addmm, whoever
    calls them. Rows of the tables serve, and PyTorch computes what no row serves (`no_row`) or whose kernel is not compiled
    yet (`not_ready`), so that nothing is slower than it was.

    way  "dispatcher": kernels at PyTorch's dispatcher, compiled at the first use on a machine, which takes seconds.
         "library": kernels of this package at PyTorch's dispatcher (PyTorch 2.9 and later), for host tensors alone. Nothing
         is compiled; calls of linear and addmm take the GIL, and 2 us more where PyTorch computes them.
         "python": torch.nn.functional.linear is replaced, which only its callers in Python meet, without gradients.
         None: the first of these that can be had; status() says which and why.

    group  a torch.distributed process group, or True for the default one, whose ranks are to serve every shape with the
           same kernel. All of them call patch() and then sync() where a step ends; tables and kernels change what serves
           there and nowhere else (docs/adr/0024). This call is a collective then. None: each process changes by itself.

    untuned  True: host products that no row serves are computed by a library of Attune's, for machines where PyTorch's own
             is slow. Has no effect on a GPU.

    On a GPU products are served on the current stream.

    Attune takes tensors of one type (fp32, bf16 or fp16) whose strides its kernels read; PyTorch's own kernels compute
    all other calls, and those that no library supports; calls() counts them by reason. Gradients, autocast, compiled
    and scripted models work as before. With ATTUNE_REQUIRE a call that Attune handles and no kernel serves as required
    raises (RuntimeError from compiled kernels and from mm, otherwise UnavailableError); what PyTorch handles is not covered
    by the requirement. A call runs on at most torch.get_num_threads() threads, with the rows for that many.

    A second call does nothing, whatever its way and `untuned` are. No other thread may run PyTorch while it is patched or
    unpatched. Raises ValueError for another way, for a group that this process is no rank of, and for another group than the first call's;
    UnavailableError if the way that was asked for cannot be had. Whatever it raises, KeyboardInterrupt too, PyTorch is as it was before.
    """
    global _was_patched, _ranks
    if way is not None and way not in WAYS:
        raise ValueError(f"way must be 'dispatcher', 'library', 'python' or None, got {way!r}")
    with _lock:
        if _way:
            if group is not None and (_ranks is None or not _ranks.is_of(group)):
                raise ValueError("PyTorch is patched without this group, call attune.torch.unpatch() first")
            return
        _restore()  # An interrupt, or a fork() beside another thread's patch() or unpatch(), has left a part.
        try:
            if group is not None:
                _ranks = _torch_group.RankGroup(group)
                _ranks.hold()
            serve_untuned(untuned)
            _patch_by([way] if way else list(WAYS))
            if _ranks is not None:
                _ranks.exchange()
        except BaseException:
            _restore()
            raise
        if not _was_patched:
            _was_patched = True
            atexit.register(_warn_of_nothing_routed)


def _patch_by(ways: list[str]) -> None:
    """Takes the first that can be had. Raises UnavailableError without any."""
    global _way, _why, _why_no_cuda
    hindrances = []
    for way in ways:
        try:
            {"dispatcher": _register, "library": _register_library, "python": _replace_function}[way]()
        except (_torch_build.NotBuilt, _torch_library.NotAvailable) as error:
            hindrances.append(str(error))
            continue
        if way != "dispatcher":
            _why_no_cuda = f"the way '{way}' serves host tensors alone"
        if way != "dispatcher" and not hindrances:
            hindrances.append(f"the way '{way}' was asked for")
        _way, _why = way, "; ".join(hindrances)
        return
    raise errors.UnavailableError("; ".join(hindrances))


def sync() -> bool:
    """Changes what serves, on all ranks of the group that PyTorch was patched for, and returns whether anything changed.

    A collective, which all ranks call at the same place, where a step ends: tables that all of them have read since, and
    kernels that all have compiled, serve from now on. Usually it exchanges two numbers. It waits for the other ranks,
    never for a compiler. What keeps ranks from agreeing is a RuntimeWarning, once each. No other thread may run PyTorch meanwhile.

    Raises what the collective raises, such as RuntimeError after the group's timeout if a rank is gone; this rank then
    serves as before. Raises ValueError without a group.
    """
    with _lock:
        if _ranks is None:
            raise ValueError("there is no group to agree with, call attune.torch.patch(group=...) first")
        return _ranks.exchange()


def unpatch() -> None:
    """Restores PyTorch's own kernels and the variables that patch() set, and ends what a group agrees on. Does nothing without a
    patch."""
    with _lock:
        _restore()


def _restore() -> None:
    """Undoes what there is of a patch, however far patch() or an earlier call came."""
    global _way, _original, _ranks, _registration
    _way = ""
    if _ranks is not None:
        _ranks.end()
        _ranks = None
    if _kernels is not None:
        _kernels.attune_torch_unregister()
    _give_back_operators()
    if _registration is not None:
        _registration.end()
        _registration = None
    if _original is not None:
        torch.nn.functional.linear, _original = _original, None


def _renew_lock() -> None:
    """In a child of fork(), which lacks the thread that may hold the lock."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


@contextlib.contextmanager
def patched(way: str | None = None, group: Any = None, untuned: bool = False) -> Iterator[None]:
    """Context manager: patch(way, group, untuned) while it is entered. One inside another, or inside patch(), changes
    nothing."""
    with _lock:
        was_patched = bool(_way)
        patch(way, group, untuned)
    try:
        yield
    finally:
        if not was_patched:
            unpatch()


def status() -> dict[str, str | int]:
    """Returns `way`, how PyTorch is patched now ('dispatcher', 'library', 'python', or '' if it is not); `why`: why the
    last patch() took none of the ways before it ('' if there is none); `why_no_cuda`: why it does not serve CUDA tensors (''
    if it does); and `captured_stand_ins`: how many calls in captured CUDA graphs kept PyTorch's kernel so far because the
    row's was not compiled in time, or cannot be (docs/online_tuning.md, Captured graphs)."""
    return {"way": _way, "why": _why, "why_no_cuda": _why_no_cuda, "captured_stand_ins": captured_stand_ins()}


def calls() -> dict[str, int]:
    """Returns how many calls Attune (`routed`) and PyTorch (`passed_on`) have computed since the first patch, and why.

    `untuned` are those of `routed` that no row of a table served; each other name is a reason of `passed_on`
    (docs/pytorch.md). A call is counted once: a linear layer is not counted as the products that it consists of.
    """
    counts = product_counts()
    by_row, without = counts.pop("routed"), counts.pop("untuned")
    return {"routed": by_row + without, "untuned": without, "passed_on": sum(counts.values()), **counts}


def operators() -> str:
    """Returns the file of the library in which the tuner finds this PyTorch's operators, to be named by
    ATTUNE_TORCH_OPERATORS: `torch.gemm` is then a candidate of every shape. Compiles it first on a machine that lacks
    it, which takes seconds. patch() sets the variable itself until unpatch(); `python -m
    attune.torch` prints the file. Raises UnavailableError without headers of PyTorch or a compiler."""
    try:
        return str(_torch_build.build(torch)[0])
    except _torch_build.NotBuilt as error:
        raise errors.UnavailableError(str(error)) from None


def _warn_of_nothing_routed() -> None:
    now = calls()
    left_to_pytorch = now["stock_row"]
    reasons = ", ".join(f"{name} {number}" for name, number in now.items() if number and name != "passed_on")
    text = f"attune.torch was patched in and computed none of {now['passed_on']} products: {reasons or 'none arrived'}"
    if now["no_row"]:
        text += "; tables have no rows for those of no_row: capture and tune their shapes, or set ATTUNE_ONLINE_TUNING=1"
    if now["routed"] + left_to_pytorch == 0:
        warnings.warn(text, RuntimeWarning, stacklevel=1)


def _register() -> None:
    global _kernels, _kernels_file, _kernels_without_cuda, _why_no_cuda
    if _kernels is None:
        file, why_no_cuda = _torch_build.build(torch)
        library = _torch_build.load(file)
        library.attune_torch_register.restype = ctypes.c_char_p
        library.attune_torch_register.argtypes = [ctypes.c_void_p]
        library.attune_torch_unregister.restype = None
        _kernels, _kernels_file, _kernels_without_cuda = library, str(file), why_no_cuda
    _why_no_cuda = _kernels_without_cuda
    failure = _kernels.attune_torch_register(product_functions())
    if failure is not None:
        raise _torch_build.NotBuilt(f"PyTorch refuses the kernels: {failure.decode(errors='replace')}")
    _take_operators()


def _register_library() -> None:
    global _registration
    _registration = _torch_library.Registration(torch)


def _take_operators() -> None:
    """Tuners that this process starts have PyTorch among their candidates, and rows that name it serve here. They use the
    CUDA libraries that PyTorch has loaded."""
    wanted = {_OPERATORS: _kernels_file}
    libraries = _libraries.folder()
    if libraries is not None and _libraries.is_unset():
        wanted[_libraries.VARIABLE] = libraries
    _variables.update({name: (os.environ.get(name), value) for name, value in wanted.items()})
    os.environ.update(wanted)


def _give_back_operators() -> None:
    """Restores the user's own variables, but for those that the user has changed meanwhile."""
    for name, (before, ours) in _variables.items():
        if os.environ.get(name) != ours:
            continue
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
    _variables.clear()


def _replace_function() -> None:
    global _original
    _original = torch.nn.functional.linear
    torch.nn.functional.linear = linear
    # In a scripted module the function stands for the operator.
    register = getattr(getattr(torch.jit, "_builtins", None), "_register_builtin", None)
    if register is not None:
        register(linear, "aten::linear")


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Replacement of torch.nn.functional.linear in the Python way: (..., k), (n, k), (n,) -> (..., n)."""
    why = _reason_of_context(input, weight, bias)
    if why:
        count_product(why)
    else:
        out = _run(input, weight, bias)
        if out is not None:
            return out
    return (_original or torch.nn.functional.linear)(input, weight, bias)


def _is_plain(tensor: Any) -> bool:
    return (
        type(tensor) in _KINDS
        and tensor.is_cpu
        and tensor.layout is _STRIDED
        and not tensor.is_neg()  # Its memory has the opposite sign.
    )


def _reason_of_context(x: Any, w: Any, bias: Any) -> str:
    """What the dispatcher settles before its kernels are called. Returns '' where nothing stands against Attune."""
    if (
        not (_is_plain(x) and _is_plain(w) and (bias is None or _is_plain(bias)))
        or torch._C._get_tracing_state() is not None
        or torch.is_autocast_cpu_enabled()
        or _is_compiling()
        or _forward_ad._current_level >= 0  # A dual tensor looks plain, and its tangent would be lost.
    ):
        return "context"
    needs_gradient = torch.is_grad_enabled() and (
        x.requires_grad or w.requires_grad or (bias is not None and bias.requires_grad)
    )
    return "grad" if needs_gradient else ""


def _is_compiling() -> bool:
    return False


if hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling"):
    _is_compiling = torch.compiler.is_compiling


def _description(tensor: Any) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    return tensor.data_ptr(), _NUMBERS.get(tensor.dtype, 0), tuple(tensor.shape), tensor.stride()


def _run(x: Any, w: Any, bias: Any) -> Any:
    """Returns None if PyTorch must handle the call."""
    threads = torch.get_num_threads()
    try:
        return _run_on(threads, x, w, bias)
    finally:
        # Libraries that share OpenMP with PyTorch change its number of threads.
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def _run_on(threads: int, x: Any, w: Any, bias: Any) -> Any:
    try:
        product = examine_linear(
            _description(x), _description(w), None if bias is None else _description(bias), threads
        )
    except RuntimeError:
        count_product("context")
        return None  # A transform's tensor has no memory of its own.
    if product is None:
        return None
    if product.copies_x:
        x = x.clone(memory_format=torch.contiguous_format)
    if product.copies_bias:
        bias = bias.clone(memory_format=torch.contiguous_format)
    out = torch.empty((*x.shape[:-1], w.shape[0]), dtype=x.dtype, device="cpu")  # Faster than x.new_empty().
    is_done = run_product(
        product, x.data_ptr(), w.data_ptr(), 0 if bias is None else bias.data_ptr(), out.data_ptr()
    )
    return out if is_done else None


if __name__ == "__main__":
    try:
        print(operators())
    except errors.UnavailableError as error:
        raise SystemExit(f"attune: {error}") from None
