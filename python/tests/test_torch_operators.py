# SPDX-License-Identifier: MIT
"""PyTorch's own samples of its operators, patched and stock: results, types, strides, gradients and errors are equal."""

import unittest
import warnings

import attune

try:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch, or what its own tests need, is not installed: {error}")
import attune.torch

try:
    with attune.torch.patched("dispatcher"):
        pass
except attune.errors.UnavailableError as error:
    raise unittest.SkipTest(f"the kernels cannot be built (libtorch-dev): {error}")

NAMES = """mm addmm matmul __rmatmul__ bmm baddbmm addbmm mv addmv inner outer kron einsum tensordot cdist
linalg.multi_dot linalg.matrix_power chain_matmul nn.functional.linear nn.functional.bilinear
nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward""".split()
HALVES = (torch.bfloat16, torch.float16)


def tensors(value):
    """All tensors in arguments."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    is_sequence = isinstance(value, (tuple, list, type({}.values())))
    return [one for part in value for one in tensors(part)] if is_sequence else []


def in_fp32(sample):
    def convert(one):
        return one.detach().float().requires_grad_(one.requires_grad) if one.is_floating_point() else one

    return sample.transform(lambda one: convert(one) if isinstance(one, torch.Tensor) else one)


def outcome(operator, sample):
    """Results and gradients, or the error's text."""
    torch.manual_seed(0)
    try:
        results = tensors([operator(sample.input, *sample.args, **sample.kwargs)])
        wanted = [one for one in tensors([sample.input, sample.args, sample.kwargs]) if one.requires_grad]
        gradients = []
        if wanted and results and results[0].requires_grad:
            gradients = torch.autograd.grad(results[0].sum(), wanted, allow_unused=True)
        return [one.detach() for one in results] + [one for one in gradients if one is not None]
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


class Samples(unittest.TestCase):
    def check_equal(self, patched, stock):
        if isinstance(stock, str) or isinstance(patched, str):
            self.assertEqual(patched, stock)
            return
        self.assertEqual(len(patched), len(stock))
        for got, wanted in zip(patched, stock):
            self.assertEqual((got.shape, got.dtype, got.stride()), (wanted.shape, wanted.dtype, wanted.stride()))
            if got.dtype not in HALVES:
                torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)

    def check_no_worse(self, patched, stock, reference):
        """PyTorch adds some products of 16 bits in 16 bits, so equality has no bound: both are compared with fp32."""
        if isinstance(stock, str):
            return
        for got, wanted, exact in zip(patched, stock, reference):
            if got.dtype in HALVES and got.numel() > 0:
                errors = [(one.float() - exact.float()).abs().max().item() for one in (got, wanted)]
                self.assertLessEqual(errors[0], max(errors[1], 1e-2 * (1 + exact.abs().max().item())))

    def test_patched_and_stock_are_equal(self):
        self.addCleanup(attune.torch.unpatch)
        before, num_samples = attune.torch.calls()["routed"], 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for operator in (one for one in op_db if one.name in NAMES):
                for dtype in (torch.float32, *HALVES, torch.float64, torch.int64):
                    for has_gradient in (False, True):
                        if not operator.supports_dtype(dtype, "cpu") or (has_gradient and not dtype.is_floating_point):
                            continue
                        for sample in operator.sample_inputs("cpu", dtype, requires_grad=has_gradient):
                            num_samples += 1
                            with self.subTest(operator.name, dtype=dtype, gradient=has_gradient, number=num_samples):
                                attune.torch.unpatch()
                                stock = outcome(operator, sample)
                                attune.torch.patch("dispatcher", untuned=True)
                                patched = outcome(operator, sample)
                                self.check_equal(patched, stock)
                                if dtype in HALVES:
                                    attune.torch.unpatch()
                                    self.check_no_worse(patched, stock, outcome(operator, in_fp32(sample)))
        self.assertGreater(num_samples, 500)
        self.assertGreater(attune.torch.calls()["routed"] - before, 100)


if __name__ == "__main__":
    unittest.main()
