# SPDX-License-Identifier: MIT
"""Patches PyTorch when a program imports it, if $ATTUNE_TORCH asks for that (docs/pytorch.md).

attune_torch.pth imports this module at the start of an interpreter in whose environment the variable is; nothing of
Attune is imported before PyTorch is.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import warnings


def arguments_of(value, ways):
    """Of patch(). The value is 1, `true` or a way, and `,untuned` behind it if that is wanted."""
    word, comma, rest = value.partition(",")
    if word not in ("1", "true", *ways) or (comma and rest != "untuned"):
        raise ValueError(f"ATTUNE_TORCH expects 1 or a way ({', '.join(ways)}), with ',untuned' or without: '{value}'")
    return {"way": word if word in ways else None, "untuned": bool(comma)}


def tune_online():
    """The process's dispatcher reads the variable at its first call."""
    of_user = any(os.environ.get(name) for name in ("ATTUNE_ONLINE_TUNING", "HIP_ONLINE_TUNING"))
    if not of_user and not os.environ.get("ATTUNE_REQUIRE"):  # Rows that online tuning finds state no requirement.
        os.environ["ATTUNE_ONLINE_TUNING"] = "1"


def patch():
    """Never an error: the program did not call it."""
    try:
        import attune.torch

        arguments = arguments_of(os.environ.get("ATTUNE_TORCH", ""), attune.torch.WAYS)
        tune_online()
        attune.torch.patch(**arguments)
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
