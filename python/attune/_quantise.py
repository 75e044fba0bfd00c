# SPDX-License-Identifier: MIT
"""Quantised operands of NumPy's arrays, for the products of docs/formats/quantised.md."""

from __future__ import annotations

from typing import Any

from attune import _attune

_FLOATS = {"e4m3fn": "float8_e4m3fn", "e4m3fnuz": "float8_e4m3fnuz"}


def _matrix(x: Any) -> Any:
    import numpy

    matrix = numpy.ascontiguousarray(x, numpy.float32)
    if matrix.ndim != 2:
        raise ValueError(f"x must be a matrix, got the shape {matrix.shape}")
    return matrix


def _elements(shape: tuple[int, int], dtype: str) -> Any:
    import numpy

    if dtype == "int8":
        return numpy.empty(shape, numpy.int8)
    if dtype not in _FLOATS:
        raise ValueError(f"dtype must be one of int8, e4m3fn and e4m3fnuz, got '{dtype}'")
    import ml_dtypes

    return numpy.empty(shape, getattr(ml_dtypes, _FLOATS[dtype]))


def _blocks(count: int, size: int) -> int:
    return -(-count // (size or count))


def _check_block(block: Any, least: int) -> None:
    if not isinstance(block, tuple) or len(block) != 2 or not all(isinstance(one, int) and least <= one < 2**63 for one in block):
        raise ValueError(f"block must be a pair of whole numbers from {least}, got {block!r}")


def _check_scale(scale: Any, is_power: bool, shape: tuple[int, int]) -> None:
    dtype = str(getattr(scale, "dtype", type(scale).__name__))
    if dtype not in (("uint8", "float8_e8m0fnu") if is_power else ("float32",)):
        raise ValueError(f"scale must be {'e8m0, as uint8' if is_power else 'fp32'}, got {dtype}")
    shorter = {shape[:1] if shape[1] == 1 else shape, (1,) if shape == (1, 1) else shape}
    if scale.shape != shape and scale.shape not in shorter:
        raise ValueError(f"scale must have the shape {shape}, got {scale.shape}")


def _quantise(x: Any, dtype: str, scales: tuple[int, ...], group: tuple[int, int]) -> tuple[Any, Any]:
    import numpy

    matrix = _matrix(x)
    (rows, k), (group_rows, group_depth) = matrix.shape, group
    elements = _elements((rows, k), dtype)
    scale: Any = numpy.empty(scales, numpy.float32)
    _attune.quantise(dtype, rows, k, group_rows, group_depth, matrix, elements.view(numpy.uint8), scale)
    return elements, scale


def quantise_rows(x: Any, dtype: str = "e4m3fn") -> tuple[Any, Any]:
    """Returns the elements (int8, or fp8 of ml_dtypes) of a matrix and a scale for each row, fp32 (rows,).

    A scale is the largest finite magnitude over the largest number of the type, 1 for zeros. Elements are rounded to
    nearest, ties to even, and saturate.
    """
    return _quantise(x, dtype, (len(_matrix(x)),), (1, 0))


def quantise_tensor(x: Any, dtype: str = "e4m3fn") -> tuple[Any, Any]:
    """Like quantise_rows() with one scale, fp32 (1,)."""
    return _quantise(x, dtype, (1,), (0, 0))


def quantise_blocks(x: Any, block: tuple[int, int] = (1, 128), dtype: str = "e4m3fn") -> tuple[Any, Any]:
    """Like quantise_rows() with a scale for each block: (1, 128) for activations, (128, 128) for weights."""
    rows, k = _matrix(x).shape
    _check_block(block, 1)
    return _quantise(x, dtype, (_blocks(rows, block[0]), _blocks(k, block[1])), block)


def quantise_mxfp4(x: Any, rounding: str = "floor") -> tuple[Any, Any]:
    """Returns MXFP4 as uint8: elements (rows, ceil(k / 2)), two a byte, and e8m0 scales (rows, ceil(k / 32)).

    rounding: 'floor', the Microscaling specification's power of two, or 'rceil', the smallest with which none saturates.
    """
    import numpy

    if rounding not in ("floor", "rceil"):
        raise ValueError(f"rounding must be 'floor' or 'rceil', got '{rounding}'")
    matrix = _matrix(x)
    rows, k = matrix.shape
    elements, scale = numpy.empty((rows, _blocks(k, 2)), numpy.uint8), numpy.empty((rows, _blocks(k, 32)), numpy.uint8)
    _attune.quantise_mxfp4(rows, k, rounding == "rceil", matrix, elements, scale)
    return elements, scale


def dequantise(elements: Any, scale: Any, block: tuple[int, int] = (1, 0), k: int | None = None) -> Any:
    """Returns elements times their scales, fp32 (rows, k).

    block: the rows and the columns that share a scale, 0: all; (1, 0) as of quantise_rows(), (1, 32) of MXFP4. Elements
    of uint8 are MXFP4; k states an odd number of columns.
    """
    import numpy

    types = {"int8": "int8", "uint8": "e2m1", "float8_e4m3fn": "e4m3fn", "float8_e4m3fnuz": "e4m3fnuz"}
    dtype = types.get(str(getattr(elements, "dtype", None)))
    if dtype is None or elements.ndim != 2 or elements.size == 0:
        raise ValueError("elements must be a matrix of int8, uint8 or fp8, got "
                         f"{getattr(elements, 'dtype', type(elements).__name__)} {getattr(elements, 'shape', '')}")
    _check_block(block, 0)
    columns = elements.shape[1] * (2 if dtype == "e2m1" else 1) if k is None else k
    rows, (group_rows, group_depth) = elements.shape[0], block
    if _blocks(columns, 2 if dtype == "e2m1" else 1) != elements.shape[1]:
        raise ValueError(f"k must fit the elements {elements.shape}, got {k}")
    is_power = dtype == "e2m1"
    _check_scale(scale, is_power, (_blocks(rows, group_rows), _blocks(columns, group_depth)))
    values = numpy.empty((rows, columns), numpy.float32)
    _attune.dequantise(dtype, is_power, rows, columns, group_rows, group_depth, numpy.ascontiguousarray(elements).view(numpy.uint8),
                       numpy.ascontiguousarray(scale).view(numpy.uint8), values)
    return values
