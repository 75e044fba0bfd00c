# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from types import TracebackType

from attune._attune import ShapeCapture


class capture:
    """Context manager that collects the shapes passed to gemm_a16w16() by all threads of this process:

        with attune.capture("captures") as shapes:
            model(x)
        attune.tune("captures/bf16_untuned_gemm.csv", "tuned.csv")

    On exit it writes a shape list for each family, which the tuner can read, and the call counts to `folder`. Shapes
    that a list already has are not added again, regardless of their writer (docs/formats/capture.md).

    Raises InvalidInputError for an empty `folder`, and IoError on exit if a file cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._shapes = ShapeCapture(self.folder)

    @property
    def num_shapes(self) -> int:
        """Number of distinct shapes called so far."""
        return self._shapes.num_shapes

    @property
    def num_dropped(self) -> int:
        """Number of calls that were not recorded, such as shapes that no list can hold."""
        return self._shapes.num_dropped

    def flush(self) -> None:
        """Writes new shapes and the counts. Raises IoError."""
        self._shapes.flush()

    def __enter__(self) -> capture:
        self._shapes.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shapes.stop()
        self._shapes.flush()
