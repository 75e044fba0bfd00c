# SPDX-License-Identifier: MIT
"""The tuner as a function, which runs the program in a process of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from attune import _attune, _libraries, errors

PathText = str | os.PathLike[str]
_EVERY_S = 0.1


@dataclasses.dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    shapes: int  #: Number of shapes of the run.
    decided: int  #: Now or by an earlier run.
    given_up: int  #: No candidate could serve them.
    left: int  #: Left for the next run.
    doing: str  #: `racing 24 candidates of 64x1152x896 fp32`
    elapsed_s: float
    best_ratio: float  #: Largest gain over a default so far; 0: none yet.
    best_shape: str  #: Shape with that gain.
    failures: Mapping[str, int]  #: Number of failed candidates by status.


def program() -> Path:
    """Returns $ATTUNE_PROGRAM, else the program in the library's installation tree. Raises NotFoundError."""
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
    raise errors.NotFoundError(f"the attune program was not found, set ATTUNE_PROGRAM to its path: {places[0]}")


def tune(
    untuned: PathText | None,
    tuned: PathText,
    *,
    progress: Callable[[Progress], None] | None = None,
    **flags: object,
) -> list[dict[str, Any]]:
    """Finds the fastest correct kernel of each shape and publishes the kernels in a table.

    untuned   a shape list, for example from capture(); None if flags select the shapes (m=, n=, k=, dtype=)
    tuned     the table, which is created or keeps its rows
    progress  called in this thread about twice a second, and once at the end; an exception in it stops the run
    flags     of `attune tune` (docs/cli.md), with `_` for `-`: budget="10m", max_trials=50, devices="cpu:0". True adds
              a flag without a value, False and None add nothing, a list is joined by commas

    Returns a dict for each shape: problem, ending, seconds, candidates, failed and, if one won, decision (winner, us,
    default, default_us, speedup, interval, ...). Other threads keep running; their work would disturb the measurements.
    Later calls use the table if it is one of theirs (ATTUNE_CONFIG_GEMM_BF16).

    Raises TypeError for an unknown flag, the class of the program's error with its sentence, and Error if a signal
    ended the program.
    """
    attune = program()
    arguments = [f"--tuned_file={os.fspath(tuned)}", "--json", *_arguments(attune, flags)]
    if untuned is not None:
        arguments.append(f"--untune_file={os.fspath(untuned)}")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [attune, "tune", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            process_group=0,
            env=_libraries.environment(),
        )
        last = _follow(process, _progress_files(attune) if progress else None, progress)
        results = _results(process.returncode, _text(out), _text(err))
    _attune.reload()
    if progress is not None:
        progress(_at_the_end(last, results))
    return results


def _at_the_end(last: Progress, results: list[dict[str, Any]]) -> Progress:
    """Returns the progress of a run that has ended with these results."""
    given_up = sum(one["ending"] in ("refused", "unsupported") for one in results)
    decided = sum(one["decided"] for one in results)
    shapes = max(last.shapes, len(results))
    left = len(results) - decided - given_up
    return dataclasses.replace(last, shapes=shapes, decided=decided, given_up=given_up, left=left, doing="done")


def _arguments(attune: Path, flags: Mapping[str, object]) -> list[str]:
    """Returns the flags in the program's spelling: some have `-`, some `_`."""
    if not flags:
        return []
    listed = subprocess.run([attune, "tune", "--list-flags"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise _failure(listed.returncode, listed.stdout, listed.stderr)
    names = {
        name.lstrip("-").replace("-", "_"): name for flag in json.loads(listed.stdout) for name in flag["names"]
    }
    arguments = []
    for flag, value in flags.items():
        if flag not in names:
            raise TypeError(f"unknown flag of tune(), see `attune tune --help`: '{flag}'")
        if value is None or value is False:
            continue
        name = names[flag]
        if value is True:
            arguments.append(name)
            continue
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        shown = ",".join(map(str, value)) if is_list else str(value)  # type: ignore[call-overload]
        arguments += [f"{name}={shown}"] if name.startswith("--") else [name, shown]
    return arguments


def _progress_files(attune: Path) -> Path | None:
    """Returns the folder of progress files. Reading them starts no process, which would disturb the measurements."""
    done = subprocess.run([attune, "paths", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None
    return next((Path(one["path"]) / "runs" for one in json.loads(done.stdout) if one["name"] == "home"), None)


def _follow(
    process: subprocess.Popen[bytes], folder: Path | None, progress: Callable[[Progress], None] | None
) -> Progress:
    """Waits for the process to end. It has ended even if this raises."""
    last = Progress(0, 0, 0, 0, "", 0.0, 0.0, "", {})
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
        process.send_signal(signal.SIGINT)  # The program publishes its decisions and ends.
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
            progress = json.loads(file.read_text())
            if progress["pid"] == pid:
                return Progress(
                    progress["shapes"],
                    progress["decided"],
                    progress["given_up"],
                    progress["left"],
                    progress["doing"],
                    progress["elapsed_s"],
                    progress["best_ratio"],
                    progress["best_shape"],
                    progress["failures"],
                )
        except (OSError, ValueError, KeyError, TypeError):
            pass  # Removed meanwhile, or left by a dead run.
    return None


def _results(status: int, answer: str, log: str) -> list[dict[str, Any]]:
    """Returns the results of a finished program. If SIGCHLD is ignored, its status is unknown and reads as 0."""
    if status == 0:
        try:
            results: list[dict[str, Any]] = json.loads(answer)["results"]
            return results
        except (ValueError, KeyError, TypeError):
            pass
    raise _failure(status, answer, log)


def _failure(status: int, answer: str, log: str) -> errors.Error:
    """Returns the error of a program run with --json. A killed program has written no answer."""
    try:
        error = json.loads(answer)["error"]
        return errors.CLASSES[error["code"]](error["message"])
    except (ValueError, KeyError, TypeError):
        pass
    lines = [line.removeprefix("attune: ") for line in log.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if not line.startswith("note: ")), None)
    if last is None and status == 1:
        last = "nothing could be tuned, or a checked row is wrong"
    return errors.Error(f"the attune program ended with status {status}: {last or 'it printed no error'}")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
