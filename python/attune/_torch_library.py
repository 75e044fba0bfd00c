# SPDX-License-Identifier: MIT
"""Kernels at PyTorch's dispatcher that are part of this package, compiled with it (docs/adr/0021).

They use PyTorch's stable C interface. It has no numbers, so that kernels of operators with numbers, addmm, and of linear,
which asks for gradients, are functions of Python that torch.library registers.
"""

from __future__ import annotations

import warnings
from typing import Any

from attune._attune import (
    library_kernels,
    open_library_kernels,
    register_stable_kernels,
    withdraw_stable_kernels,
)

_STABLE = ("mm", "mm.out", "mv", "bmm", "bmm.out")  # Registered through the stable interface.


class NotAvailable(Exception):
    """This PyTorch lacks what the kernels need; one sentence."""


class Registration:
    """The kernels, for dense host tensors, until end(); PyTorch's own are in force again afterwards."""

    def __init__(self, torch: Any) -> None:
        """Raises NotAvailable."""
        _open(torch)
        self._library = torch.library.Library("aten", "IMPL")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Of kernels that are replaced, which is what was asked for.
                for name, kernel in library_kernels.items():
                    for key in ("CPU", "AutogradCPU") if name == "linear" else ("CPU",):
                        self._library.impl(name, kernel, key, with_keyset=name == "linear")
                why_not = register_stable_kernels()
            if why_not:
                raise RuntimeError(why_not)
        except BaseException as error:
            self.end()
            if isinstance(error, RuntimeError):
                raise NotAvailable(f"PyTorch refuses the kernels: {error}") from None
            raise

    def end(self) -> None:
        withdraw_stable_kernels()
        self._library._destroy()


def _open(torch: Any) -> None:
    """Finds PyTorch's functions and its own kernels, at the first call of the process."""
    get_kernel = getattr(torch.library, "get_kernel", None)
    exchange = getattr(torch._C, "_aoti", None)
    to_capsule = getattr(exchange, "unsafe_alloc_void_ptr_from_tensor", None)
    from_capsule = getattr(exchange, "alloc_tensor_by_stealing_from_void_ptr", None)
    if get_kernel is None or to_capsule is None or from_capsule is None:
        raise NotAvailable(f"PyTorch {torch.__version__} has no stable interface for kernels, 2.9 is the first that has")
    functions = {
        "to_capsule": to_capsule,
        "from_capsule": from_capsule,
        "get_num_threads": torch.get_num_threads,
        "set_num_threads": torch.set_num_threads,
        "relu_": torch.relu_,
        "gelu_": torch.ops.aten.gelu_.default,
        "forward_mode": torch.autograd.forward_ad,
    }
    stock = {name: get_kernel(f"aten::{name}", "CPU").call_boxed for name in (*library_kernels, *_STABLE)}
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    with_autograd = keys.add(torch._C.DispatchKey.AutogradCPU)
    plain = [keys, with_autograd, with_autograd.add(torch._C.DispatchKey.ADInplaceOrView)]
    why_not = open_library_kernels(torch._C.__file__, functions, keys, [one.raw_repr() for one in plain], stock)
    if why_not:
        raise NotAvailable(why_not)
