# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from types import TracebackType

from attune._attune import ShapeCapture


class capture:
    """Collects the shapes that this process passes to gemm_a16w16(), of all threads, while it is entered:

        with attune.capture("captures") as shapes:
            model(x)
        attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv")

    `folder` gets a list of shapes for each family, which the tuner reads as it is, and counts of the calls; shapes that
    a list has are not added again, whoever wrote it (docs/formats/capture.md). Written when it is left.

    Raises InvalidInputError for an empty folder and, when it is left, IoError for what cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._shapes = ShapeCapture(self.folder)

    @property
    def num_shapes(self) -> int:
        """Distinct shapes that were called so far."""
        return self._shapes.num_shapes

    @property
    def num_dropped(self) -> int:
        """Calls of shapes that no list can hold."""
        return self._shapes.num_dropped

    def flush(self) -> None:
        """Writes what is not written. Raises IoError."""
        self._shapes.flush()

    def __enter__(self) -> capture:
        self._shapes.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shapes.stop()
        self._shapes.flush()
