# SPDX-License-Identifier: MIT
"""Patches PyTorch when a program imports it, if $ATTUNE_TORCH asks for that (docs/python.md).

attune_torch.pth imports this module at the start of an interpreter in whose environment the variable is; nothing of
Attune is imported before PyTorch is.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import warnings

WAYS = {"1": None, "true": None, "dispatcher": "dispatcher", "python": "python"}


def patch():
    """Never an error: the program did not call it."""
    try:
        wanted = os.environ.get("ATTUNE_TORCH", "")
        if wanted not in WAYS:
            raise ValueError(f"ATTUNE_TORCH expects 1, dispatcher or python: '{wanted}'")
        # The process's dispatcher reads it at its first call.
        if not os.environ.get("ATTUNE_REQUIRE"):  # Rows that online tuning finds state no requirement.
            os.environ.setdefault("ATTUNE_ONLINE_TUNING", "1")
        import attune.torch

        attune.torch.patch(WAYS[wanted])
    except Exception as error:
        warnings.warn(f"attune: PyTorch is not patched: {error}", RuntimeWarning, stacklevel=1)


class PatchingLoader(importlib.abc.Loader):
    """PyTorch's own loader, and the patch after it."""

    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        patch()


class PyTorchFinder(importlib.abc.MetaPathFinder):
    """Sees the first import of PyTorch."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = PatchingLoader(spec.loader)
        return spec


if os.environ.get("ATTUNE_TORCH", "") not in ("", "0", "false"):
    sys.meta_path.insert(0, PyTorchFinder())
