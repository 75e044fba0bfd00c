# SPDX-License-Identifier: MIT
"""A program that uses the package, checked by mypy and never run."""

from pathlib import Path
from typing import Any, assert_type

import attune
from attune import errors


class Array:
    pass


def use(x: Array, w: Array, bias: Array | None, out: bytearray) -> None:
    assert_type(attune.gemm_a16w16(x, w), Array)
    assert_type(attune.gemm_a16w16(x, w, bias), Array)
    assert_type(attune.gemm_a16w16(x, w, bias, out), bytearray)
    assert_type(attune.gemm_a16w16(x, w, out=out), bytearray)
    attune.gemm_a16w16(x)  # type: ignore[call-overload]
    assert_type(attune.explain("gemm_a16w16 m=1 n=1 k=1"), str)
    attune.explain(3)  # type: ignore[arg-type]
    attune.run("gemm_a16w16 m=1 n=1 k=1", "portable.gemm@1:block=4x4", [x, w, out])
    packed = attune.pack_weights(w, bias=True, max_bytes=1 << 20)
    assert_type(packed, attune.PackedWeights)
    assert_type(packed.layouts, list[str])
    assert_type(attune.gemm_a16w16(x, packed, bias), Array)
    operands = attune.pack_operands("gemm_a16w16 m=1 n=1 k=1 bpreshuffle=1", {"b": w})
    assert_type(operands, attune.PackedOperands)
    attune.run("gemm_a16w16 m=1 n=1 k=1 bpreshuffle=1", None, [x, out], operands)
    attune.run("gemm_a16w16 m=1 n=1 k=1", [x, w, out])  # type: ignore[call-arg, arg-type]
    assert_type(attune.counts(), dict[str, int])
    assert_type(attune.candidates("gemm_a16w16 m=1 n=1 k=1", "portable", first=3, limit=5), list[dict[str, Any]])
    assert_type(attune.notices(), list[str])
    assert_type(attune.reload(), bool)
    assert_type(attune.release_memory("cpu:0"), int)
    assert_type(attune.tables()[0]["file"], Path)
    with attune.capture("folder") as shapes:
        assert_type(shapes, attune.capture)
        assert_type(shapes.num_shapes, int)
    assert_type(attune.tune("a.csv", "b.csv", progress=told, budget="10m"), list[dict[str, Any]])
    attune.tune("a.csv", "b.csv", progress=told_wrong)  # type: ignore[arg-type]
    try:
        attune.reload()
    except errors.IoError as error:
        assert_type(error.code, str)


def told(progress: attune.Progress) -> None:
    assert_type(progress.decided, int)


def told_wrong(progress: str) -> None:
    pass
