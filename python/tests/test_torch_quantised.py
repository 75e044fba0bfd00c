# SPDX-License-Identifier: MIT
"""Quantised products of PyTorch under attune.torch: they are PyTorch's, and counted; what a version lacks is not added."""

import unittest
import warnings

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")

import attune.torch

from torch_patches import Patched, numbers


def whole(*shape):
    return torch.randint(-8, 8, shape, dtype=torch.int8, generator=torch.Generator().manual_seed(1))


def packed(n, k):
    """Weights of a quantised layer, for an engine that all versions compute right."""
    engines = [engine for engine in ("fbgemm", "qnnpack") if engine in torch.backends.quantized.supported_engines]
    if not engines:
        raise unittest.SkipTest("this PyTorch has no quantised layers for this processor")
    torch.backends.quantized.engine = engines[0]
    weights = torch.quantize_per_tensor(numbers(n, k), 0.05, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(weights, numbers(n))


def has_kernel(name, key):
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    except RuntimeError:  # There is no such operator.
        return False


class Quantised(Patched):
    def check_counted(self, *calls):
        for call in calls:
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    result = self.check(call, 0, passed_on=1, no_family=1)
                    self.assertTrue(torch.equal(result, self.stock(call)))
        _, counted = self.counted(lambda: [self.stock(call) for call in calls])
        self.assertEqual(counted, {}, "nothing is counted without the patch")

    def test_products_of_integers(self):
        if not hasattr(torch, "_int_mm"):
            self.skipTest("this PyTorch has no _int_mm")
        x, w = whole(24, 32), whole(32, 16)
        out = torch.empty(24, 16, dtype=torch.int32)
        self.check_counted(lambda: torch._int_mm(x, w), lambda: torch._int_mm(x, w, out=out))

    def test_weights_of_integers(self):
        if not hasattr(torch, "_weight_int8pack_mm"):
            self.skipTest("this PyTorch has no _weight_int8pack_mm")
        x, w, scales = numbers(4, 64, dtype=torch.bfloat16), whole(32, 64), numbers(32, dtype=torch.bfloat16)
        self.check_counted(lambda: torch._weight_int8pack_mm(x, w, scales))

    def test_scaled_products(self):
        if not has_kernel("aten::_scaled_mm", "CPU"):
            self.skipTest("this PyTorch has no _scaled_mm on a CPU")
        x, w = (numbers(16, 32).to(torch.float8_e4m3fn) for _ in range(2))
        scale = torch.tensor(1.0)
        # Its kernel on a CPU may be made of a plain product, which is counted as one.
        _, counted = self.counted(lambda: torch._scaled_mm(x, w.t(), scale, scale, out_dtype=torch.float32))
        self.assertEqual(counted["no_family"], 1)

    def test_layers(self):
        x = numbers(4, 64)
        quantised, weights = torch.quantize_per_tensor(x, 0.05, 0, torch.quint8), packed(32, 64)
        ops = torch.ops.quantized
        self.check_counted(
            lambda: ops.linear(quantised, weights, 0.1, 0).dequantize(),
            lambda: ops.linear_relu(quantised, weights, 0.1, 0).dequantize(),
            lambda: ops.linear_dynamic(x, weights, False),
            lambda: ops.linear_relu_dynamic(x, weights, False),
        )

    def test_a_model_that_pytorch_quantises(self):
        packed(1, 1)
        model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of its end in later versions.
            dynamic = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
        result, counted = self.counted(lambda: dynamic(numbers(4, 64)))
        self.assertEqual(counted, {"passed_on": 2, "no_family": 2})
        self.assertTrue(torch.equal(result, self.stock(lambda: dynamic(numbers(4, 64)))))

    def test_what_a_version_lacks_is_not_registered(self):
        attune.torch.unpatch()
        names = ("aten::_int_mm", "aten::_scaled_mm", "aten::_weight_int8pack_mm", "aten::_weight_int4pack_mm")
        names += ("aten::_weight_int4pack_mm_for_cpu", "quantized::linear", "quantized::linear_dynamic")

        def there():
            return {(name, key) for name in names for key in ("CPU", "QuantizedCPU") if has_kernel(name, key)}

        before = there()
        self.patch()
        self.assertEqual(there(), before)


if __name__ == "__main__":
    unittest.main()
