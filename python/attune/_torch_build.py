# SPDX-License-Identifier: MIT
"""Compiles the kernels for PyTorch's dispatcher (torch_kernels/) against the headers of the PyTorch that runs.

Once for each PyTorch and version of the sources, into `torch/` of the folder of kernels ($ATTUNE_CACHE, otherwise
$XDG_CACHE_HOME/attune or ~/.cache/attune); later processes open what is there.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "torch_kernels"
LIBRARY = "attune_torch.so"
FAILURE = "failure.txt"
DEADLINE_S = 600


class NotBuilt(Exception):
    """The kernels cannot be had here; one sentence that says what to do."""


def build(torch: Any) -> tuple[Path, str]:
    """Returns the file of the library of kernels for `torch`, compiled first if this user's cache lacks it, which takes
    seconds, and why it has none for CUDA tensors ('' if it has).

    Raises NotBuilt. Two processes compile once: the second waits for the first.
    """
    headers = _Headers(torch)
    folder = _private_folder(headers)
    try:
        library = folder / LIBRARY
        if not library.exists():
            _build_once(folder, headers)
        _check_private(library)
        return library, headers.why_no_cuda
    except OSError as error:
        raise NotBuilt(f"the kernels for PyTorch cannot be compiled or read: {error}") from None


def load(file: Path) -> ctypes.CDLL:
    """Opens what build() returned. Raises NotBuilt."""
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise NotBuilt(f"the kernels for PyTorch cannot be opened: {error}") from None


class _Headers:
    """The headers and libraries of a PyTorch, and the compiler for them."""

    def __init__(self, torch: Any) -> None:
        self.version = str(torch.__version__)
        self.build = str(getattr(torch.version, "git_version", None))
        self.has_new_strings = bool(torch._C._GLIBCXX_USE_CXX11_ABI)
        installed = Path(torch.__file__).parent
        self.include = self._find(installed, self.version)
        # Debian's are in the compiler's own folders.
        self.libraries = installed / "lib" if (installed / "lib" / "libtorch_cpu.so").exists() else None
        self.compiler = _compiler()
        self.why_no_cuda = self._why_no_cuda(torch)

    def _why_no_cuda(self, torch: Any) -> str:
        """Why the kernels do not serve CUDA tensors; '' if they do."""
        if getattr(torch.version, "cuda", None) is None:
            return "this PyTorch is built without CUDA"
        if self.libraries is None or not (self.libraries / "libtorch_cuda.so").exists():
            return "the folder of PyTorch's libraries has no libtorch_cuda.so"
        # How a kernel gets the current stream without headers of CUDA, which users need not have.
        guard = self.include / "c10" / "cuda" / "impl" / "CUDAGuardImpl.h"
        if not guard.exists() or "getStreamNativeHandle" not in guard.read_text():
            return f"PyTorch {self.version} does not name the current stream of a device to kernels without CUDA's headers"
        return ""

    @staticmethod
    def _find(installed: Path, version: str) -> Path:
        wanted = re.match(r"\d+\.\d+\.\d+", version)
        for folder in (installed / "include", Path("/usr/include")):
            header = folder / "torch" / "csrc" / "api" / "include" / "torch" / "version.h"
            if not header.exists():
                continue
            # Since 2.9 the numbers are in a header that this one includes.
            numbers = folder / "torch" / "headeronly" / "version.h"
            text = (numbers if numbers.exists() else header).read_text()
            found = ".".join(
                number.group(1) if (number := re.search(rf"#define TORCH_VERSION_{part} (\d+)", text)) else "?"
                for part in ("MAJOR", "MINOR", "PATCH")
            )
            if wanted is None or found != wanted.group():
                raise NotBuilt(f"the headers of PyTorch in {folder} are of version {found}, not {version}")
            return folder
        raise NotBuilt(f"PyTorch {version} has no headers here; Debian has its own in libtorch-dev")

    def key(self) -> str:
        """Names everything that the library depends on."""
        digest = hashlib.sha256()
        parts = [self.version, self.build, str(self.has_new_strings), platform.machine(), self.compiler]
        parts += [self.why_no_cuda, str(self.libraries)]
        for source in sorted(SOURCES.iterdir()):
            if source.suffix in (".h", ".cpp", ".map"):
                parts += [source.name, source.read_text()]
        for part in parts:
            digest.update(f"{len(part)}:{part}".encode())
        return digest.hexdigest()[:32]

    def command(self, output: Path) -> list[str]:
        standard = "c++20" if _at_least(self.version, 2, 9) else "c++17"
        command = [self.compiler, f"-std={standard}", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-w"]
        # A compiler that links its C++ run time statically must not offer it to other libraries of the process.
        command.append(f"-Wl,--version-script={SOURCES / 'exports.map'}")
        command.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(self.has_new_strings)}")
        command.append(f"-DATTUNE_TORCH_CUDA={int(not self.why_no_cuda)}")
        if self.include != Path("/usr/include"):
            command += ["-isystem", str(self.include)]
        command += ["-isystem", str(self.include / "torch" / "csrc" / "api" / "include")]
        command += [str(SOURCES / "torch_kernels.cpp"), "-o", str(output)]
        if self.libraries is not None:
            # A worker of the tuner opens them without Python.
            command += [f"-L{self.libraries}", f"-Wl,-rpath,{self.libraries}"]
        # The C++ run time of PyTorch, also where the compiler links its own statically.
        command += ["-Wl,--push-state,--no-as-needed", "-lstdc++", "-lgcc_s", "-Wl,--pop-state"]
        return [*command, *(() if self.why_no_cuda else ("-ltorch_cuda",)), "-ltorch_cpu", "-lc10"]


def _at_least(version: str, major: int, minor: int) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found.group(1)), int(found.group(2))) >= (major, minor)


def _compiler() -> str:
    """$ATTUNE_CXX (a path, or a name on PATH), otherwise the first of g++, c++ and clang++ on PATH."""
    named = os.environ.get("ATTUNE_CXX")
    for name in [named] if named else ["g++", "c++", "clang++"]:
        found = shutil.which(name)
        if found is not None:
            return os.path.realpath(found)
    raise NotBuilt(
        f"ATTUNE_CXX names no compiler: {named}" if named else "there is no C++ compiler on PATH (g++, c++ or clang++)"
    )


def _cache() -> Path:
    named = os.environ.get("ATTUNE_CACHE")
    if named:
        return Path(named).absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return Path(shared) / "attune" if os.path.isabs(shared) else Path("~/.cache/attune").expanduser()


def _private_folder(headers: _Headers) -> Path:
    folder = _cache() / "torch" / headers.key()
    try:
        _cache().mkdir(parents=True, exist_ok=True)
        folder.parent.mkdir(mode=0o700, exist_ok=True)  # Whatever the umask says.
        folder.mkdir(mode=0o700, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise NotBuilt(f"the folder of kernels cannot be made, set ATTUNE_CACHE: {error}") from None
    _check_private(folder.parent)
    _check_private(folder)
    return folder


def _check_private(path: Path) -> None:
    """What other users could have written is not opened."""
    facts = path.lstat()
    if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or stat.S_ISLNK(facts.st_mode):
        raise NotBuilt(f"other users could have written {path}; remove it, or set ATTUNE_CACHE to a folder of your own")


def _build_once(folder: Path, headers: _Headers) -> None:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / LIBRARY).exists():
            return
        failure = folder / FAILURE
        if failure.exists():  # It would fail again, after seconds, in every process.
            raise NotBuilt(
                f"{_summary(failure.read_text())} (the compiler's whole text, which keeps it from a new try: {failure})"
            )
        with tempfile.TemporaryDirectory(prefix=".build.", dir=folder) as work:
            output = Path(work) / LIBRARY
            status, text = _run(headers.command(output), work)
            if status != 0:
                failure.write_text(text)
                raise NotBuilt(f"{_summary(text)} (the compiler's whole text: {failure})")
            output.chmod(0o700)
            output.replace(folder / LIBRARY)
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)  # A child that another thread has forked meanwhile keeps the descriptor open.
        os.close(lock)


def _run(command: list[str], folder: str) -> tuple[int, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    child = subprocess.Popen(
        command,
        cwd=folder,
        env={**kept, "LC_ALL": "C", "TMPDIR": folder},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        errors="replace",
    )
    try:
        text, _ = child.communicate(timeout=DEADLINE_S)
        return child.returncode, text
    except subprocess.TimeoutExpired:
        return -1, f"error: the compiler did not end within {DEADLINE_S} s"
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _summary(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "error" in line.lower()]
    return f"the kernels for PyTorch do not compile: {lines[0] if lines else text.strip()[:200]}"
