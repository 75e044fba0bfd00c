#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference of `conv` against PyTorch in fp64: random problems of every direction, layout, group and step."""
import os
import random
import subprocess
import sys

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

NUM_PROBLEMS, SEED = 300, 49
MAX_MACS = 2_000_000
TOLERANCE = 1e-11


def random_problem(rng):
    """The attributes of a problem that has an output and at most MAX_MACS products."""
    while True:
        is_3d, transposed = rng.random() < 0.2, int(rng.random() < 0.3)
        axes = "dhw" if is_3d else "hw"
        groups = rng.choice([1, 1, 1, 2, 3, 4])
        one = {"direction": rng.choice(["fwd", "bwd_data", "bwd_weights"]), "n": rng.randint(1, 4),
               "c": groups * rng.randint(1, 6), "k": groups * rng.randint(1, 6), "groups": groups,
               "transposed": transposed,
               "layout": rng.choice(["NCDHW", "NDHWC"] if is_3d else ["NCHW", "NHWC"])}
        for axis, name in zip(axes, "zyx" if is_3d else "yx"):
            one[axis], one[name] = rng.randint(1, 12), rng.randint(1, 4)
            one[f"pad_{axis}"] = rng.randint(0, 2)
            one[f"stride_{axis}"], one[f"dilation_{axis}"] = rng.randint(1, 3), rng.randint(1, 2)
            limit = max(one[f"stride_{axis}"], one[f"dilation_{axis}"])
            one[f"output_pad_{axis}"] = rng.randrange(limit) if transposed else 0
        out = output_extents(one, axes)
        work = one["n"] * one["c"] * one["k"] // groups
        for axis, extent, name in zip(axes, out, "zyx" if is_3d else "yx"):
            work *= max(extent, one[axis]) * one[name]
        if min(out) > 0 and work <= MAX_MACS:
            return one, axes, out


def output_extents(one, axes):
    extents = []
    for axis, name in zip(axes, "zyx" if len(axes) == 3 else "yx"):
        reach = one[f"dilation_{axis}"] * (one[name] - 1) + 1
        pad, stride = one[f"pad_{axis}"], one[f"stride_{axis}"]
        if one["transposed"]:
            extents.append((one[axis] - 1) * stride - 2 * pad + reach + one[f"output_pad_{axis}"])
        else:
            extents.append((one[axis] + 2 * pad - reach) // stride + 1 if one[axis] + 2 * pad >= reach else 0)
    return extents


def shapes(one, axes, out):
    """Shapes of input, weights and output in PyTorch's order: channels first."""
    names = "zyx" if len(axes) == 3 else "yx"
    filters = [one[name] for name in names]
    first, second = (one["c"], one["k"]) if one["transposed"] else (one["k"], one["c"])
    return {"input": [one["n"], one["c"]] + [one[axis] for axis in axes],
            "weight": [first, second // one["groups"]] + filters,
            "output": [one["n"], one["k"]] + out}


def channels_last(one):
    return one["layout"].endswith("C")


def taken(values, shape, one, dtype):
    """The next tensor of `values`, channels first; and the rest."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    stored = [shape[0], *shape[2:], shape[1]] if channels_last(one) else shape
    array = np.frombuffer(values[:count], dtype).reshape(stored).astype(np.float64)
    return torch.from_numpy(np.moveaxis(array, -1, 1).copy() if channels_last(one) else array), values[count:]


def computed(one, axes, tensors, sizes):
    """The result by PyTorch: the forward pass, and gradients by its autograd."""
    steps = {"stride": [one[f"stride_{a}"] for a in axes], "padding": [one[f"pad_{a}"] for a in axes],
             "dilation": [one[f"dilation_{a}"] for a in axes], "groups": one["groups"]}
    kind = f"conv{'_transpose' if one['transposed'] else ''}{len(axes)}d"
    if one["transposed"]:
        steps["output_padding"] = [one[f"output_pad_{a}"] for a in axes]
    function = getattr(torch.nn.functional, kind)
    given = {role: tensors.get(role, torch.zeros(sizes[role], dtype=torch.float64)).requires_grad_()
             for role in ("input", "weight")}
    output = function(given["input"], given["weight"], **steps)
    if one["direction"] == "fwd":
        return output.detach()
    output.backward(tensors["output"])
    return given["input" if one["direction"] == "bwd_data" else "weight"].grad


def main():
    rng = random.Random(SEED)
    problems = [random_problem(rng) for _ in range(NUM_PROBLEMS)]
    text = "".join("conv " + " ".join(f"{name}={value}" for name, value in one.items()) + "\n" for one, _, _ in problems)
    values = subprocess.run([os.environ["ATTUNE_REFERENCE_VALUES"]], input=text.encode(), stdout=subprocess.PIPE,
                            check=True).stdout
    worst = 0.0
    for one, axes, out in problems:
        sizes = shapes(one, axes, out)
        roles = {"fwd": ("input", "weight", "output"), "bwd_data": ("output", "weight", "input"),
                 "bwd_weights": ("input", "output", "weight")}[one["direction"]]
        tensors = {}
        for role in roles[:2]:
            tensors[role], values = taken(values, sizes[role], one, np.float32)
        got, values = taken(values, sizes[roles[2]], one, np.float64)
        want = computed(one, axes, tensors, sizes)
        scale = max(1.0, float(want.abs().max()))
        error = float((got - want).abs().max()) / scale
        if got.shape != want.shape or not error <= TOLERANCE:
            print(f"conv {one}: differs by {error}")
            return 1
        worst = max(worst, error)
    if values:
        print(f"{len(values)} bytes are left over")
        return 1
    print(f"{NUM_PROBLEMS} problems agree, the largest difference is {worst:.2g}")
    return 0


sys.exit(main())
