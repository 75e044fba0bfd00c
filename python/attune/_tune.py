# SPDX-License-Identifier: MIT
"""The tuner as a function: the program in a process of its own, as a user starts it."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from attune import _attune, errors

PathText = str | os.PathLike[str]
_EVERY_S = 0.1
_NOT_OF_A_RUN = ("h", "help", "help_all")
_OF_CODE: Mapping[str, type[errors.Error]] = {kind.code: kind for kind in errors.Error.__subclasses__()}


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a run is."""

    shapes: int  #: In all.
    done: int
    doing: str  #: `racing 24 of 64x1152x896 fp32`
    elapsed_s: float
    best_ratio: float  #: Largest gain over a default so far; 0: none yet.
    best_shape: str  #: Whose that is.
    failures: Mapping[str, int]  #: Candidates, by what became of them.


def program() -> Path:
    """$ATTUNE_PROGRAM, else that of the installed tree the library is of. Raises NotFoundError."""
    named = os.environ.get("ATTUNE_PROGRAM")
    folder = Path(_attune.library).resolve().parent
    places = (
        [Path(named)]
        if named
        else [folder.parent / "bin" / "attune", folder.parent.parent / "bin" / "attune", folder / "attune"]
    )
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place.absolute()
    raise errors.NotFoundError(f"the program of attune is not there, name it with ATTUNE_PROGRAM: {places[0]}")


def tune(
    untuned: PathText | None,
    tuned: PathText,
    *,
    progress: Callable[[Progress], None] | None = None,
    **flags: object,
) -> list[dict[str, Any]]:
    """Finds the fastest correct kernel of each shape and publishes them in a table.

    untuned   a list of shapes, as capture() writes it; None when flags say what to tune (m=, n=, k=, dtype=)
    tuned     the table: made, or what it has is kept
    progress  called in this thread about twice a second, and once at the end; what it raises stops the run
    flags     of `attune tune` (docs/cli.md), with `_` for `-`: budget="10m", max_trials=50, devices="cpu:0". True is a
              flag without a value, False and None are left out, a list is joined by commas

    Returns a dict for each shape: problem, ending, seconds, candidates, failed and, when one won, decision (winner, us,
    default, default_us, speedup, interval, ...). Other threads run meanwhile, and would disturb what is measured.
    Calls from then on see the table if it is one of theirs (ATTUNE_CONFIG_GEMM_BF16).

    Raises TypeError for a flag that there is not, the class of the program's error with its sentence, and Error for
    an end by a signal.
    """
    attune = program()
    arguments = [f"--tuned_file={os.fspath(tuned)}", "--json", *_arguments(attune, flags)]
    if untuned is not None:
        arguments.append(f"--untune_file={os.fspath(untuned)}")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [attune, "tune", *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err, process_group=0
        )
        last = _follow(process, _progress_files(attune) if progress else None, progress)
        results = _results(process.returncode, _text(out), _text(err))
    _attune.reload()
    if progress is not None:
        progress(
            dataclasses.replace(
                last, shapes=max(last.shapes, len(results)), done=max(last.shapes, len(results)), doing="done"
            )
        )
    return results


def _arguments(attune: Path, flags: Mapping[str, object]) -> list[str]:
    """As the program writes them: some have `-`, some `_`."""
    if not flags:
        return []
    text = subprocess.run([attune, "tune", "--help"], capture_output=True, text=True, check=True).stdout
    names = {}
    for line in re.findall(r"^ +(-[^ ]+)", text, re.MULTILINE):
        for name in line.split(","):
            names[name.lstrip("-").replace("-", "_")] = name
    arguments = []
    for flag, value in flags.items():
        if flag not in names or flag in _NOT_OF_A_RUN:
            raise TypeError(f"tune() has no flag of that name, see `attune tune --help`: '{flag}'")
        if value is None or value is False:
            continue
        name = names[flag]
        if value is True:
            arguments.append(name)
            continue
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        shown = ",".join(map(str, value)) if listed else str(value)  # type: ignore[call-overload]
        arguments += [f"{name}={shown}"] if name.startswith("--") else [name, shown]
    return arguments


def _progress_files(attune: Path) -> Path | None:
    """Folder where runs say how far they are; reading them starts no process, which would disturb what is measured."""
    done = subprocess.run([attune, "paths", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return next((Path(one["path"]) / "runs" for one in json.loads(done.stdout) if one["name"] == "home"), None)


def _follow(
    process: subprocess.Popen[bytes], folder: Path | None, progress: Callable[[Progress], None] | None
) -> Progress:
    """Waits for the end. However this is left, the process has ended."""
    last = Progress(0, 0, "", 0.0, 0.0, "", {})
    try:
        if progress is None:
            process.wait()
        while process.poll() is None:
            found = _read_progress(folder, process.pid)
            if found is not None and found != last and progress is not None:
                last = found
                progress(last)
            time.sleep(_EVERY_S)
    except BaseException:
        process.send_signal(signal.SIGINT)  # It publishes what is decided, and ends.
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return last


def _read_progress(folder: Path | None, pid: int) -> Progress | None:
    for file in folder.glob(f"*-{pid}.json") if folder else ():
        try:
            said = json.loads(file.read_text())
            if said["pid"] == pid:
                return Progress(
                    said["shapes"],
                    said["done"],
                    said["doing"],
                    said["elapsed_s"],
                    said["best_ratio"],
                    said["best_shape"],
                    said["failures"],
                )
        except (OSError, ValueError, KeyError, TypeError):
            pass  # Removed meanwhile, or of a run that died.
    return None


def _results(status: int, answer: str, said: str) -> list[dict[str, Any]]:
    """Of a program that has ended; where SIGCHLD is ignored its status is not known, and taken for 0."""
    if status == 0:
        try:
            results: list[dict[str, Any]] = json.loads(answer)["results"]
            return results
        except (ValueError, KeyError, TypeError):
            pass
    raise _failure(status, answer, said)


def _failure(status: int, answer: str, said: str) -> errors.Error:
    """What a program failed with that was asked for JSON; one that was killed has not answered."""
    try:
        error = json.loads(answer)["error"]
        return _OF_CODE[error["code"]](error["message"])
    except (ValueError, KeyError, TypeError):
        pass
    lines = [line.removeprefix("attune: ") for line in said.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if not line.startswith("note: ")), None)
    if last is None and status == 1:
        last = "nothing could be tuned, or a checked row is wrong"
    return errors.Error(f"the program of attune ended with status {status}: {last or 'it said nothing'}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
