# SPDX-License-Identifier: MIT
"""What the stories on a GPU share. ATTUNE_GPU: the device (cuda:0). ATTUNE_PYTHON: an interpreter that has PyTorch and the package
attune (default: this one)."""
import os
import subprocess
import sys
import unittest

import story

GPU = os.environ.get("ATTUNE_GPU", "cuda:0")
PYTHON = os.environ.get("ATTUNE_PYTHON", sys.executable)


def has_gpu(device=GPU):
    listed = subprocess.run([story.PROGRAM, "list", "devices"], capture_output=True, text=True, timeout=60)
    return any(line.split()[:1] == [device] for line in listed.stdout.splitlines())


def skip_without_gpu(*devices):
    for device in devices:
        if not has_gpu(device):
            raise unittest.SkipTest("no NVIDIA GPU is here" if device == GPU else f"no NVIDIA GPU is here as {device}")


def skip_without_pytorch():
    """Skips where PyTorch cannot be tested on a GPU, and says why."""
    probe = "import torch, attune, attune.torch\nassert torch.cuda.is_available(), 'PyTorch sees no GPU'"
    done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["it ends"])[-1]
        raise unittest.SkipTest(f"{PYTHON} has no PyTorch for a GPU with the package attune: {why}")


class GpuStory(story.Story):
    """A story that is skipped where no GPU is. Its journal, home and folder are its own."""

    devices = (GPU,)

    @classmethod
    def setUpClass(cls):
        skip_without_gpu(*cls.devices)

    def environment(self, **more):
        # An archive of tools/gpu-pack has libraries of its own; stories side by side have GPUs of their own.
        kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES") if name in os.environ}
        return super().environment(**{**kept, **more})

    def on_gpu(self, command, *arguments, quiet=True, **how):
        """Runs a command on the device. `quiet`: it is one that measures, and does not wait for a quiet machine."""
        how.setdefault("timeout", 300)
        more = ("--quiet-wait", "0") if quiet else ()
        return self.attune(command, *arguments, "--devices", ",".join(self.devices), *more, **how)
