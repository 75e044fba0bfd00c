# SPDX-License-Identifier: MIT
"""An application that packs weights and scales of the toy product with the Python package, and multiplies with them."""
import attune
import ml_dtypes
import numpy as np

problem = "toy_scaled m=2 n=3 k=32 packed=1"
a, b = np.ones((2, 32), np.int8), np.repeat(np.arange(1, 4, dtype=np.int8)[:, None], 32, 1)
a_scale, b_scale = np.array([1, 2], np.float32), np.array([1, 2, 4], np.float32)
packed = attune.pack_operands(problem, {"b_scale": b_scale, "b": b})
assert packed.layouts == ["toy_scaled.reversed@1"], packed.layouts
c = np.zeros((2, 3), ml_dtypes.bfloat16)
b[...] = 0
attune.run(problem, None, {"a": a, "a_scale": a_scale, "c": c}, packed)
assert c.astype(np.float32).tolist() == [[32, 128, 384], [64, 256, 768]], c
try:
    attune.pack_operands(problem, [b])
    raise SystemExit("one of two operands was taken")
except ValueError as error:
    assert "the problem packs 2 operands (b, b_scale), got 1" in str(error), error
