# SPDX-License-Identifier: MIT
"""PyTorch's TunableOp: its switches, its files as shapes to tune, and results of tables in its notation.

attune.tunableop.tuning_enable()  # before PyTorch's first product
attune.tunableop.enable()
attune.tunableop.write_shapes(["tunableop_untuned0.csv"], "bf16_untuned_gemm.csv")    # of results files, too
attune.tune("bf16_untuned_gemm.csv", "tuned.csv")
attune.tunableop.write_file("tunableop_results0.csv", "tuned.csv")

A file has lines `Validator,NAME,VALUE` and `OPERATOR,PARAMETERS[,SOLUTION,MILLISECONDS]`, such as
`GemmTunableOp_float_TN,tn_96_4_64_ld_64_64_96,Gemm_Hipblaslt_219,0.012`. TunableOp counts columns first: this is a
product of 4 rows and 96 columns. The first letter says how the weights are stored (T: [n][k], N: [k][n]), the second how
the rows are (N: [m][k]).
"""

from __future__ import annotations

import csv
import os
import re
from typing import TYPE_CHECKING, Iterable, NamedTuple

from attune._attune import tables, usable_rows, version
from attune.errors import InvalidInputError

if TYPE_CHECKING:
    from attune._attune import UsableRow

_DTYPES = {"float": "fp32", "BFloat16": "bf16", "Half": "fp16"}
_COLUMN_TYPES = {"fp32": "torch.float32", "bf16": "torch.bfloat16", "fp16": "torch.float16"}
_TUNABLEOP_TYPES = {dtype: name for name, dtype in _DTYPES.items()}
_ONLINE = "ATTUNE_ONLINE_TUNING"
_OP = "gemm_a16w16"
# What has no notation in TunableOp must have these values.
_PLAIN = {"scale_ab": "0", "bpreshuffle": "0", "out_scale": "0", "act": "none", "alpha": "1", "beta": "0"}
_COLUMNS = ("M", "N", "K", "bias", "dtype", "outdtype", "scaleAB", "bpreshuffle", "trans_a", "trans_b")


class Result(NamedTuple):
    """A line of a TunableOp file; an untuned file has neither solution nor time."""

    operator: str
    parameters: str
    solution: str | None = None
    milliseconds: float | None = None


class Shape(NamedTuple):
    """A product of the family gemm_a16w16. `trans_a`: x is stored [k][m]; `trans_b`: the weights are stored [n][k]."""

    m: int
    n: int
    k: int
    dtype: str
    bias: bool
    trans_a: bool
    trans_b: bool


def enable(on: bool = True) -> None:
    """Has PyTorch's products served by tables, or by PyTorch alone again: attune.torch.patch() and unpatch(). Raises what they do."""
    from attune import torch as attune_torch

    if on:
        attune_torch.patch()
    else:
        attune_torch.unpatch()


def is_enabled() -> bool:
    """Returns whether PyTorch is patched."""
    from attune import torch as attune_torch

    return attune_torch.status()["way"] != ""


def tuning_enable(on: bool = True) -> None:
    """Has shapes without a row tuned beside the program, or not: sets ATTUNE_ONLINE_TUNING, which a program reads at its first
    product. A value that the user has set, such as `shared`, stays while it is on."""
    if not on:
        os.environ[_ONLINE] = "0"
    elif not tuning_is_enabled():
        os.environ[_ONLINE] = "1"


def tuning_is_enabled() -> bool:
    """Returns whether ATTUNE_ONLINE_TUNING, or the older HIP_ONLINE_TUNING, is on."""
    value = os.environ.get(_ONLINE) or os.environ.get("HIP_ONLINE_TUNING")
    return value in ("1", "true", "shared")


def read_file(filename: str | os.PathLike[str]) -> list[Result]:
    """Returns the lines of a file of TunableOp, without the validators. Raises OSError, and InvalidInputError for a line
    that is none."""
    results = []
    with open(filename, newline="") as file:
        for number, cells in enumerate(csv.reader(file), 1):
            if not cells or cells[0] == "Validator":
                continue
            try:
                has_time = len(cells) > 3 and cells[3] != ""
                solution = cells[2] if len(cells) > 2 else None
                result = Result(cells[0], cells[1], solution, float(cells[3]) if has_time else None)
            except (IndexError, ValueError):
                line = ",".join(cells)
                raise InvalidInputError(f"this is no line of TunableOp: {filename}:{number}: '{line}'") from None
            results.append(result)
    return results


def shape_of(result: Result) -> Shape | None:
    """Returns None for what the family gemm_a16w16 has no rows for: batched and scaled products, other types, leading
    dimensions larger than the rows."""
    operator = re.fullmatch(r"Gemm(AndBias)?TunableOp_(\w+)_([TN])([TN])", result.operator)
    sizes = re.fullmatch(r"[tn]{2}_(\d+)_(\d+)_(\d+)(?:_ld_(\d+)_(\d+)_(\d+))?", result.parameters)
    if operator is None or sizes is None or operator[2] not in _DTYPES:
        return None
    n, m, k = (int(sizes[i]) for i in (1, 2, 3))
    trans_a, trans_b = operator[4] == "T", operator[3] == "T"
    if sizes[4] is not None and [int(sizes[i]) for i in (4, 5, 6)] != _leading(m, n, k, trans_a, trans_b):
        return None
    return Shape(m, n, k, _DTYPES[operator[2]], operator[1] is not None, trans_a, trans_b)


def write_shapes(files: Iterable[str | os.PathLike[str]], untuned: str | os.PathLike[str]) -> dict[str, int]:
    """Writes the shapes of TunableOp's files, each once, as a shape list for tune(); replaces `untuned`.

    Returns `shapes`, how many were written, and `skipped`, how many lines are no products of gemm_a16w16.
    """
    shapes: dict[Shape, None] = {}
    skipped = 0
    for file in files:
        for result in read_file(file):
            shape = shape_of(result)
            if shape is None:
                skipped += 1
            else:
                shapes[shape] = None
    fresh = f"{os.fspath(untuned)}.{os.getpid()}.new"
    with open(fresh, "w", newline="") as output:
        lines = csv.writer(output, lineterminator="\n")
        lines.writerow(_COLUMNS)
        for one in shapes:
            dtype = _COLUMN_TYPES[one.dtype]
            lines.writerow([one.m, one.n, one.k, one.bias, dtype, dtype, False, False, one.trans_a, one.trans_b])
    os.replace(fresh, untuned)
    return {"shapes": len(shapes), "skipped": skipped}


def get_results(table: str | os.PathLike[str] | None = None) -> list[Result]:
    """Returns the rows of a table, or of all tables of gemm_a16w16 in use, as TunableOp would write them.

    The solution is the name of the kernel, the time that of the row. Rows of packed weights, of an epilogue and of
    results in another type have no notation there and are left out; rows of several devices are not told apart. Rows
    that no lookup takes are left out. Of one key and device the row that serves is returned: the fastest of the first table.
    """
    in_use = [one["file"] for one in tables() if one["op"] == _OP and one["is_there"]]
    files = in_use if table is None else [table]
    rows: dict[tuple[object, ...], UsableRow] = {}  # The first file's row serves.
    for file in files:
        for row in usable_rows(file, _OP):
            rows.setdefault((*row["problem"].items(), row["gfx"], row["cu_num"], row["device"]), row)
    return [result for row in rows.values() if (result := _result_of(row)) is not None]


def write_file(filename: str | os.PathLike[str], table: str | os.PathLike[str] | None = None) -> int:
    """Writes get_results(table), and returns how many. A validator of Attune's makes TunableOp itself refuse the file."""
    results = get_results(table)
    fresh = f"{os.fspath(filename)}.{os.getpid()}.new"
    with open(fresh, "w", newline="") as output:
        lines = csv.writer(output, lineterminator="\n")
        lines.writerow(["Validator", "ATTUNE_VERSION", version])
        lines.writerows([one.operator, one.parameters, one.solution, f"{one.milliseconds:g}"] for one in results)
    os.replace(fresh, filename)
    return len(results)


def _leading(m: int, n: int, k: int, trans_a: bool, trans_b: bool) -> list[int]:
    return [k if trans_b else n, m if trans_a else k, n]


def _result_of(row: UsableRow) -> Result | None:
    problem = row["problem"]
    dtype = problem["dtype"]
    if dtype not in _TUNABLEOP_TYPES or problem["outdtype"] != dtype:
        return None
    if any(problem.get(attribute, plain) != plain for attribute, plain in _PLAIN.items()):
        return None
    m, n, k = (int(problem[name]) for name in ("m", "n", "k"))
    trans_a, trans_b = problem["trans_a"] == "1", problem["trans_b"] == "1"
    order = ("T" if trans_b else "N") + ("T" if trans_a else "N")
    operator = f"Gemm{'AndBias' * (problem['bias'] == '1')}TunableOp_{_TUNABLEOP_TYPES[dtype]}_{order}"
    leading = "_".join(str(size) for size in _leading(m, n, k, trans_a, trans_b))
    return Result(operator, f"{order.lower()}_{n}_{m}_{k}_ld_{leading}", row["candidate"] or None, row["us"] / 1000)
