# SPDX-License-Identifier: MIT
"""PyTorch: tensors through DLPack, and the function that replaces its linear layers without its dispatcher."""

import tempfile
import unittest

import attune

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch

F = torch.nn.functional
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 1e-2}


def numbers(*shape, dtype=torch.float32, seed=1):
    return (torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1).to(dtype)


def product(x, w, bias=None):
    """PyTorch 1.13 has no fp16 product on the CPU."""
    return F.linear(x.float(), w.float(), None if bias is None else bias.float())


class Tensors(unittest.TestCase):
    def close(self, y, wanted, dtype):
        self.assertEqual(y.dtype, dtype)
        torch.testing.assert_close(y.float(), wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    def test_types_shapes_and_bias(self):
        for dtype in TOLERANCE:
            for leading in ((), (3,), (2, 5)):
                with self.subTest(dtype=dtype, leading=leading):
                    x, w, bias = (
                        numbers(*leading, 48, dtype=dtype),
                        numbers(16, 48, dtype=dtype),
                        numbers(16, dtype=dtype),
                    )
                    self.close(attune.gemm_a16w16(x, w), product(x, w), dtype)
                    self.close(attune.gemm_a16w16(x, w, bias), product(x, w, bias), dtype)

    def test_out_is_written_without_a_copy(self):
        x, w, out = numbers(4, 32), numbers(8, 32), torch.zeros(4, 8)
        address = out.data_ptr()
        self.assertIs(attune.gemm_a16w16(x, w, out=out), out)
        self.assertEqual(out.data_ptr(), address)
        self.close(out, product(x, w), torch.float32)

    def test_numpy_and_torch_together(self):
        x, w = numbers(4, 32), numbers(8, 32)
        self.close(attune.gemm_a16w16(x, w.numpy()), product(x, w), torch.float32)

    def test_mistakes(self):
        x, w = numbers(4, 32), numbers(8, 32)
        with self.assertRaisesRegex(ValueError, r"w must be C-contiguous.* in elements; pass w.contiguous\(\)"):
            attune.gemm_a16w16(x, numbers(32, 8).t())
        with self.assertRaisesRegex(TypeError, "x must be fp32, fp16 or bf16, got torch.float64"):
            attune.gemm_a16w16(x.double(), w)
        with self.assertRaisesRegex(ValueError, "x must start at a multiple of 16 bytes"):
            attune.gemm_a16w16(numbers(4 * 32 + 1)[1:].reshape(4, 32), w)
        with self.assertRaisesRegex(ValueError, "w does not expose its memory: .*gradient"):
            attune.gemm_a16w16(x, torch.nn.Parameter(w))
        with self.assertRaisesRegex(ValueError, "x is too large"):
            attune.gemm_a16w16(numbers(1, 32).expand(2**56, 32), w)
        with self.assertRaisesRegex(ValueError, "x must be C-contiguous"):
            attune.gemm_a16w16(numbers(1, 32).expand(2**40, 32), w)
        for strange in (
            torch.empty(4, 32, device="meta"),
            numbers(4, 32).to_sparse(),
            torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        ):
            with self.assertRaises((TypeError, ValueError)):
                attune.gemm_a16w16(strange, w)

    def test_memory_is_given_back(self):
        import gc
        import weakref

        x = numbers(4, 32)
        gone = weakref.ref(x)
        attune.gemm_a16w16(x, numbers(8, 32))
        del x
        gc.collect()
        self.assertIsNone(gone())


class Block(torch.nn.Module):
    """A small transformer block."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (
            part.reshape(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Patch(unittest.TestCase):
    def setUp(self):
        self.original = F.linear
        attune.torch.patch("python", untuned=True)
        self.addCleanup(attune.torch.unpatch)
        self.before = attune.torch.calls()

    def counted(self):
        now = attune.torch.calls()
        return now["routed"] - self.before["routed"], now["passed_on"] - self.before["passed_on"]

    def test_on_and_off(self):
        attune.torch.patch()
        self.assertIs(F.linear, attune.torch.linear)
        status = {"way": "python", "why": "the way 'python' was asked for"}
        status |= {"why_no_cuda": "the way 'python' serves host tensors alone", "captured_stand_ins": 0}
        self.assertEqual(attune.torch.status(), status)
        attune.torch.unpatch()
        self.assertIs(F.linear, self.original)
        attune.torch.unpatch()
        self.assertIs(F.linear, self.original)

    def test_a_block_gives_the_same_and_its_shapes_are_captured(self):
        for dtype in (torch.float32, torch.bfloat16):
            with self.subTest(dtype), tempfile.TemporaryDirectory() as folder, torch.inference_mode():
                torch.manual_seed(3)
                block, x = Block().to(dtype).eval(), numbers(2, 10, 64, dtype=dtype)
                self.before = attune.torch.calls()
                with attune.capture(folder) as shapes:
                    got = block(x)
                self.assertEqual(self.counted(), (4, 0))
                self.assertEqual(shapes.num_shapes, 4)
                attune.torch.unpatch()
                torch.testing.assert_close(got, block(x), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
                attune.torch.patch("python", untuned=True)

    def test_every_type(self):
        for dtype, tolerance in TOLERANCE.items():
            with self.subTest(dtype), torch.inference_mode():
                x, w, bias = numbers(3, 48, dtype=dtype), numbers(16, 48, dtype=dtype), numbers(16, dtype=dtype)
                self.before = attune.torch.calls()
                got = F.linear(x, w, bias)
                self.assertEqual(self.counted(), (1, 0))
                wanted = self.original(x.float(), w.float(), bias.float())
                torch.testing.assert_close(got.float(), wanted, rtol=tolerance, atol=tolerance)

    def test_the_number_of_pytorch_s_threads_stays(self):
        before = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, before)
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            F.linear(numbers(64, 256), numbers(128, 256))
            self.assertEqual(torch.get_num_threads(), threads)
        self.assertEqual(self.counted(), (3, 0))

    def test_a_call_runs_on_pytorch_s_number_of_threads(self):
        before, own = torch.get_num_threads(), attune.set_num_threads(0)
        self.addCleanup(torch.set_num_threads, before)
        self.addCleanup(attune.set_num_threads, 0)
        x, w = numbers(4, 32), numbers(8, 32)
        for threads in (1, own, 1):
            torch.set_num_threads(threads)
            F.linear(x, w)
            self.assertEqual(attune.get_num_threads(), threads)

    def test_training_is_pytorch_s(self):
        layer, x = torch.nn.Linear(16, 8), numbers(4, 16)
        layer(x).sum().backward()
        self.assertEqual(self.counted(), (0, 1))
        self.assertIsNotNone(layer.weight.grad)
        with torch.no_grad():
            layer(x)
        self.assertEqual(self.counted(), (1, 1))

    def test_what_is_not_ours_is_passed_on(self):
        class Own(torch.Tensor):
            pass

        w = numbers(8, 16)
        unaligned = numbers(8 * 16 + 1)[1:].reshape(8, 16)
        cases = {
            "dtype": (numbers(4, 16, dtype=torch.float64), w.double()),
            "layout": (numbers(4, 16), numbers(8, 32)[:, ::2]),
            "alignment": (numbers(4, 16), unaligned),
            "shape": (torch.empty(0, 16), w),
            "context": (numbers(4, 16).as_subclass(Own), w),
            "grad": (numbers(4, 16), w.clone().requires_grad_()),
        }
        for reason, arguments in cases.items():
            with self.subTest(reason):
                self.before = attune.torch.calls()
                got, wanted = F.linear(*arguments), self.original(*arguments)
                self.assertEqual(self.counted(), (0, 1))
                self.assertEqual(attune.torch.calls()[reason] - self.before[reason], 1)
                self.assertEqual((got.shape, got.dtype, type(got)), (wanted.shape, wanted.dtype, type(wanted)))
        for name, arguments in {
            "meta": (torch.empty(4, 16, device="meta"), w.to("meta")),
            "1-d weight": (numbers(4, 16), numbers(16)),
        }.items():
            with self.subTest(name):
                self.before = attune.torch.calls()
                self.assertEqual(F.linear(*arguments).shape, self.original(*arguments).shape)
                self.assertEqual(self.counted(), (0, 1))

    def test_rows_are_copied_as_for_the_dispatcher(self):
        w, bias = numbers(8, 16), numbers(8)
        for x in (numbers(16, 4).t(), numbers(4, 3, 16)[:, -1], numbers(4 * 16 + 1)[1:].reshape(4, 16)):
            self.before = attune.torch.calls()
            torch.testing.assert_close(F.linear(x, w, bias), self.original(x, w, bias), rtol=1e-5, atol=1e-5)
            self.assertEqual(self.counted(), (1, 0))

    def test_pytorch_s_own_errors_stay(self):
        for arguments in (
            (numbers(4, 16), numbers(8, 12)),
            (numbers(4, 16), numbers(8, 16).double()),
            (numbers(4, 16), numbers(8, 16), numbers(7)),
            ([1.0], numbers(8, 16)),
            (numbers(4, 16), None),
        ):
            with self.assertRaises((RuntimeError, TypeError)):
                F.linear(*arguments)

    def test_autocast_and_tracing_are_pytorch_s(self):
        x, layer = numbers(4, 16), torch.nn.Linear(16, 8).requires_grad_(False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertEqual(layer(x).dtype, torch.bfloat16)
        self.assertEqual(self.counted()[0], 0)
        traced = torch.jit.trace(layer, x, check_trace=False)  # The check would call the layer itself.
        self.assertEqual(self.counted()[0], 0)
        torch.testing.assert_close(traced(2 * x), self.original(2 * x, layer.weight, layer.bias))

    def test_a_scripted_module_still_compiles(self):
        layer = torch.nn.Linear(16, 8).requires_grad_(False)
        torch.testing.assert_close(
            torch.jit.script(layer)(numbers(4, 16)), self.original(numbers(4, 16), layer.weight, layer.bias)
        )


if __name__ == "__main__":
    unittest.main()
