# SPDX-License-Identifier: MIT
"""attune.torch at PyTorch's dispatcher: what arrives there, and that everything else of PyTorch stays as it was.

test_torch_library.py runs most of this with the kernels that torch.library registers.
"""

import os
import random
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import attune

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is not installed (python3-torch): {error}")
import attune.torch
from torch.autograd import forward_ad
from torch.nn.functional import linear as imported_early

from torch_patches import Patched, WithKernels, numbers

F = torch.nn.functional
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-2, torch.float16: 1e-2}


class WhatArrives(Patched):
    def test_the_fast_path_of_an_encoder_layer(self):
        x = numbers(2, 10, 64)
        for activation in ("relu", "gelu"):
            layer = torch.nn.TransformerEncoderLayer(64, 4, 128, activation=activation, batch_first=True).eval()
            with self.subTest(activation), torch.inference_mode():
                self.check(lambda: layer(x), routed=4, passed_on=2, no_family=2)

    def test_an_encoder_layer_that_is_trained(self):
        torch.manual_seed(1)
        layer, x = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0, batch_first=True), numbers(2, 10, 64)
        _, counted = self.counted(lambda: layer(x))
        self.assertEqual(counted["routed"], 4)

    def test_attention(self):
        attention, x = torch.nn.MultiheadAttention(64, 4, batch_first=True).eval(), numbers(4, 10, 64)
        with torch.no_grad():
            self.check(lambda: attention(x, x, x)[0], routed=2, passed_on=2, no_family=2)
            self.check(lambda: attention(x, x[:, :5], x[:, :5])[0], routed=4, passed_on=2, no_family=2)

    def test_autocast_casts_first(self):
        x, layer = numbers(4, 64), torch.nn.Linear(64, 32)

        def call():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return layer(x)

        result = self.check(call, TOLERANCE[torch.bfloat16], routed=1)
        self.assertEqual(result.dtype, torch.bfloat16)

    def test_a_function_that_was_imported_before_the_patch(self):
        self.check(lambda: imported_early(numbers(4, 64), numbers(32, 64), numbers(32)), routed=1)

    def test_slices_and_strides_of_the_rows(self):
        x, w = numbers(4, 10, 64), numbers(48, 64)
        slices = {
            "last token": x[:, -1],
            "last token, one axis more": x[:, -1:],
            "first of a batch": x[0],
            "part of each": x[:, :3],
            "rows in another order": x.transpose(0, 1),
            "stored as columns": numbers(64, 5).t(),
            "expanded": numbers(1, 64).expand(5, 64),
            "every second column": numbers(4, 128)[:, ::2],
            "not aligned": numbers(4 * 64 + 1)[1:].reshape(4, 64),
            "one row": numbers(64),
        }
        for name, part in slices.items():
            for bias in (None, numbers(48), numbers(96)[::2]):
                with self.subTest(name, bias=bias is not None), torch.no_grad():
                    result = self.check(lambda: F.linear(part, w, bias), routed=1)
                    self.assertTrue(result.is_contiguous())

    def test_random_sizes_and_strides(self):
        choice = random.Random(5)
        base = numbers(200_000)

        def strided(*sizes):
            """A view with gaps, in any order of the axes, at any address."""
            strides, step = [0] * len(sizes), choice.choice((1, 1, 1, 2))
            axes = list(range(len(sizes)))[::-1]
            if choice.random() < 0.5:
                choice.shuffle(axes)
            for axis in axes:
                strides[axis], step = step, step * sizes[axis] + choice.choice((0, 0, 0, 4))
            return base.as_strided(sizes, strides, choice.choice((0, 0, 4, 1)))

        def size():
            return choice.choice((1, 1, 2, 3, 4, 8, 12))

        before = attune.torch.calls()
        for _ in range(1000):
            leading, n, k = [size() for _ in range(choice.choice((0, 1, 1, 2, 3)))], size(), size()
            x, w, bias = strided(*leading, k), strided(n, k), choice.choice((None, strided(n)))
            matrix, addend = strided(size(), k), choice.choice((strided(n), strided(1, n)))
            calls = [lambda: F.linear(x, w, bias), lambda: torch.mm(matrix, w.t())]
            calls.append(lambda: torch.addmm(addend, matrix, w.t()))
            for call in calls:
                got, wanted = call(), self.stock(call)
                with self.subTest(x=(x.shape, x.stride()), w=(w.shape, w.stride()), matrix=matrix.stride()):
                    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
                    self.assertEqual(got.stride(), wanted.stride())
        now = attune.torch.calls()
        self.assertGreater(now["routed"] - before["routed"], 1000)
        self.assertGreater(now["passed_on"] - before["passed_on"], 1000)

    def test_types_and_shapes(self):
        for dtype in (torch.float32, torch.bfloat16):
            for leading in ((), (3,), (2, 5), (2, 1, 3)):
                with self.subTest(dtype=dtype, leading=leading):
                    x, w = numbers(*leading, 48, dtype=dtype), numbers(16, 48, dtype=dtype)
                    self.check(lambda: F.linear(x, w), TOLERANCE[dtype], routed=1)

    def test_parameters_without_gradients(self):
        layer, x = torch.nn.Linear(64, 32), numbers(4, 64)
        for mode in (torch.no_grad, torch.inference_mode):
            with self.subTest(mode.__name__), mode():
                result = self.check(lambda: layer(x), routed=1)
                self.assertEqual(result.is_inference(), mode is torch.inference_mode)
                self.assertFalse(result.requires_grad)

    def test_mm_and_addmm_in_all_orders_of_the_weights(self):
        x, bias = numbers(4, 64), numbers(32)
        for name, w in {"kn": numbers(64, 32), "nk": numbers(32, 64).t()}.items():
            with self.subTest(name):
                self.check(lambda: torch.mm(x, w), routed=1)
                self.check(lambda: x @ w, routed=1)
                self.check(lambda: x[0] @ w, routed=1)
                self.check(lambda: torch.mv(w.t(), x[0]), routed=1)
                self.check(lambda: torch.addmm(bias, x, w), routed=1)
                self.check(lambda: torch.mm(numbers(64, 4).t(), w), routed=1)
                out = torch.empty(4, 32)
                address = out.data_ptr()
                self.assertIs(self.check(lambda: torch.mm(x, w, out=out), routed=1), out)
                self.check(lambda: torch.addmm(bias, x, w, out=out), routed=1)
                self.assertEqual(out.data_ptr(), address)

    def test_graphs_of_traced_and_scripted_layers(self):
        layer, x = torch.nn.Linear(64, 32).eval(), numbers(4, 64)
        traced = torch.jit.trace(layer, x, check_trace=False)
        self.assertIn("aten::linear", str(traced.graph))
        scripted = torch.jit.script(layer)
        for program in (traced, scripted):
            for _ in range(3):  # The executor compiles in its second run.
                with torch.no_grad():
                    self.check(lambda: program(x), routed=1)

    def test_shapes_are_captured_and_calls_in_threads_are_counted(self):
        x, w = numbers(4, 64), numbers(32, 64)
        with tempfile.TemporaryDirectory() as folder, attune.capture(folder) as shapes:

            def work():
                for rows in range(1, 5):
                    for _ in range(50):
                        F.linear(x[:rows], w)

            def all_threads():
                threads = [threading.Thread(target=work) for _ in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()

            _, counted = self.counted(all_threads)
            self.assertEqual(counted, {"routed": 800})
            self.assertEqual(shapes.num_shapes, 4)


class WhatIsPyTorchs(Patched):
    def test_reasons(self):
        x, w, wide = numbers(4, 64), numbers(32, 64), numbers(32, 128)
        big = numbers(80, 128)[:, :64]
        square = numbers(4, 32)
        cases = {
            "dtype": (lambda: F.linear(x.double(), w.double())),
            "shape": (lambda: F.linear(x[:0], w)),
            "layout": (lambda: F.linear(x, wide[:, ::2])),
            "alignment": (lambda: F.linear(x, numbers(32 * 64 + 1)[1:].reshape(32, 64))),
            "addend": (lambda: torch.addmm(square, x, w.t())),
            "no_family": (lambda: torch.bmm(x[None], w.t()[None])),
        }
        for reason, call in cases.items():
            with self.subTest(reason):
                self.check(call, passed_on=1, **{reason: 1})
        with self.subTest("rows that are many and not contiguous"):
            self.check(lambda: F.linear(big, w), passed_on=1, layout=1)
        with self.subTest("a scaled product"):
            self.check(lambda: torch.addmm(numbers(32), x, w.t(), beta=0.5), passed_on=1, addend=1)
            self.check(lambda: torch.addmm(numbers(32), x, w.t(), alpha=2), passed_on=1, addend=1)
        with self.subTest("a batch with an addend"):
            self.check(lambda: torch.baddbmm(square[None], x[None], w.t()[None]), passed_on=1, no_family=1)

    def test_results_given_by_the_caller(self):
        x, w = numbers(4, 64), numbers(64, 32)
        for reason, out in {
            "shape": torch.empty(0),
            "layout": torch.empty(32, 4).t(),
            "alignment": torch.empty(4 * 32 + 1)[1:].reshape(4, 32),
        }.items():
            with self.subTest(reason), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch's own, of a result that is resized.
                self.check(lambda: torch.mm(x, w, out=out), passed_on=1, **{reason: 1})

    def test_a_result_over_an_operand(self):
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)  # Two threads of MKL race for such a result.
        for which in range(3):

            def call():
                operands = [numbers(32, 32), numbers(32, 32, seed=2), numbers(32, seed=3)]
                out = operands[which] if which < 2 else torch.zeros(33, 32)[:32]
                bias = operands[2] if which < 2 else out[3]
                return torch.addmm(bias, *operands[:2], out=out)

            self.check(call, passed_on=1, layout=1)

    def test_errors_are_pytorch_s_own(self):
        x, w = numbers(4, 64), numbers(32, 64)
        for call in (
            lambda: F.linear(x, numbers(32, 60)),
            lambda: F.linear(x, w, numbers(31)),
            lambda: F.linear(x, w.double()),
            lambda: F.linear(x, numbers(2, 32, 64)),
            lambda: F.linear([1.0], w),
            lambda: torch.mm(x, w),
            lambda: torch.mm(x[0], w),
            lambda: torch.addmm(numbers(31), x, w.t()),
            lambda: torch.bmm(x, w),
            lambda: torch.mm(x, w.t(), out=torch.empty(4, 32, dtype=torch.float64)),
        ):
            with self.assertRaises((RuntimeError, TypeError)) as patched:
                call()
            with self.assertRaises(type(patched.exception)) as stock:
                self.stock(call)
            self.assertEqual(str(patched.exception), str(stock.exception))

    def test_unpatch_gives_back_the_same_bits(self):
        x, w, bias = numbers(7, 300), numbers(50, 300), numbers(50)
        calls = (
            lambda: F.linear(x, w, bias),
            lambda: torch.mm(x, w.t()),
            lambda: torch.addmm(bias, x, w.t()),
            lambda: torch.bmm(x[None], w.t()[None]),
        )
        attune.torch.unpatch()
        before = [call() for call in calls]
        for _ in range(3):
            self.patch()
            for call in calls:
                call()
            attune.torch.unpatch()
            _, counted = self.counted(lambda: [call() for call in calls])
            self.assertEqual(counted, {})
            for call, wanted in zip(calls, before):
                self.assertTrue(torch.equal(call(), wanted))

    def test_subclasses_see_the_operators_that_they_saw(self):
        from torch.utils._pytree import tree_map

        class Seeing(torch.Tensor):
            seen = []

            @staticmethod
            def __new__(cls, plain):
                made = torch.Tensor._make_wrapper_subclass(
                    cls, plain.size(), dtype=plain.dtype, device=plain.device, requires_grad=plain.requires_grad
                )
                made.plain = plain
                return made

            @classmethod
            def __torch_dispatch__(cls, function, types, arguments=(), named=None):
                cls.seen.append(str(function))
                arguments = tree_map(lambda one: one.plain if isinstance(one, cls) else one, arguments)
                return function(*arguments, **(named or {}))

        def operators():
            Seeing.seen = []
            F.linear(Seeing(numbers(4, 64)), numbers(32, 64), numbers(32))
            return Seeing.seen

        self.assertEqual(operators(), self.stock(operators))

    def test_traced_graphs_of_functions_are_what_they_were(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        def code():
            return make_fx(F.linear)(numbers(4, 64), numbers(32, 64), numbers(32)).code

        self.assertEqual(code(), self.stock(code))

    @unittest.skipUnless(hasattr(torch, "compile"), "this PyTorch has no torch.compile")
    def test_compiled_models(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 48))
        x = numbers(4, 64)
        for backend in ("eager", "aot_eager", "inductor"):
            torch._dynamo.reset()
            compiled = torch.compile(model, backend=backend)
            with self.subTest(backend), torch.no_grad():
                compiled(x)
                self.check(lambda: compiled(x), routed=2)

    def test_negated_memory(self):
        x = torch.imag(torch.conj(torch.complex(numbers(4, 64), numbers(4, 64, seed=2))))
        self.assertTrue(x.is_neg())
        w = numbers(32, 64)
        torch.testing.assert_close(F.linear(x, w), self.stock(lambda: F.linear(x, w)))
        torch.testing.assert_close(torch.mm(x, w.t()), self.stock(lambda: torch.mm(x, w.t())))

    def test_sparse_tensors(self):
        x, w = numbers(4, 64).to_sparse(), numbers(64, 32)
        result, counted = self.counted(lambda: torch.mm(x, w))
        torch.testing.assert_close(result, self.stock(lambda: torch.mm(x, w)))
        self.assertEqual(counted, {})


class Gradients(Patched):
    def both(self, call):
        """Results of the patched and of the stock call, each a tuple."""
        patched, counted = self.counted(call)
        self.assertGreaterEqual(counted.get("routed", 0), 1)
        return patched, self.stock(call)

    def check_close(self, call):
        for got, wanted in zip(*self.both(call)):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)

    def test_backward(self):
        for leading in ((), (5,), (2, 5), (2, 3, 5)):
            for has_bias in (True, False):

                def call():
                    x = numbers(*leading, 64).requires_grad_()
                    w, bias = numbers(32, 64).requires_grad_(), numbers(32).requires_grad_() if has_bias else None
                    y = F.linear(x, w, bias)
                    self.assertTrue(y.requires_grad)
                    y.pow(2).sum().backward()
                    return y.detach(), x.grad, w.grad, *([bias.grad] if has_bias else [])

                with self.subTest(leading=leading, bias=has_bias):
                    self.check_close(call)

    def test_forward_goes_through_attune_when_gradients_are_wanted(self):
        layer = torch.nn.Linear(64, 32)
        _, counted = self.counted(lambda: layer(numbers(4, 64)))
        self.assertEqual(counted, {"routed": 1})

    def test_double_backward(self):
        def call():
            x, w = numbers(4, 64).requires_grad_(), numbers(32, 64).requires_grad_()
            (first,) = torch.autograd.grad(F.linear(x, w).tanh().sum(), x, create_graph=True)
            return torch.autograd.grad(first.pow(2).sum(), (x, w))

        self.check_close(call)

    def test_forward_mode(self):
        def call():
            with forward_ad.dual_level():
                x = forward_ad.make_dual(numbers(4, 64), numbers(4, 64, seed=2))
                w = forward_ad.make_dual(numbers(32, 64), numbers(32, 64, seed=3))
                results = []
                for y in (F.linear(x, w, numbers(32)), F.linear(x, numbers(32, 64)), F.linear(numbers(4, 64), w)):
                    results += forward_ad.unpack_dual(y)
                self.assertNotIn(None, results)
                return results

        self.check_close(call)
        with torch.no_grad():
            self.check_close(call)

    def test_transforms(self):
        try:
            if hasattr(torch, "func"):
                from torch.func import grad, jvp, vmap
            else:
                from functorch import grad, jvp, vmap
        except ImportError as error:
            self.skipTest(f"this PyTorch has no transforms of functions: {error}")
        x, w = numbers(3, 4, 64), numbers(32, 64)
        each = numbers(3, 32, 64)

        def call():
            return (
                vmap(lambda one: F.linear(one, w))(x),
                vmap(F.linear)(x, each),
                grad(lambda one: F.linear(one, w).pow(2).sum())(x),
                vmap(grad(lambda one: F.linear(one, w).pow(2).sum()))(x),
                jvp(lambda one: F.linear(one, w), (x,), (x,))[1],
            )

        self.check_close(call)


class OnAndOff(WithKernels):
    def setUp(self):
        attune.torch.unpatch()
        self.addCleanup(attune.torch.unpatch)

    def test_patch_and_unpatch_twice(self):
        original = F.linear
        for _ in range(2):
            attune.torch.patch()
            attune.torch.patch()
            status = attune.torch.status()
            self.assertEqual((status["way"], status["why"]), ("dispatcher", ""))
            self.assertEqual("built without CUDA" in status["why_no_cuda"], torch.version.cuda is None)
            self.assertIs(F.linear, original)
            attune.torch.unpatch()
            attune.torch.unpatch()
            self.assertEqual(attune.torch.status()["way"], "")

    def test_the_variable_that_names_the_operators_is_the_users_own_again(self):
        name = "ATTUNE_TORCH_OPERATORS"
        for own in (None, "/somewhere/own.so"):
            environment = {key: value for key, value in os.environ.items() if key != name}
            environment.update({} if own is None else {name: own})
            with self.subTest(own), mock.patch.dict(os.environ, environment, clear=True):
                for _ in range(2):
                    attune.torch.patch("dispatcher")
                    self.assertEqual(os.environ[name], attune.torch.operators())
                    attune.torch.unpatch()
                    self.assertEqual(os.environ.get(name), own)
                attune.torch.patch("dispatcher")
                os.environ[name] = "/somewhere/another.so"
                attune.torch.unpatch()
                self.assertEqual(os.environ[name], "/somewhere/another.so", "what was set meanwhile stays")

    def test_tuners_use_the_cuda_libraries_that_this_process_has_loaded(self):
        name = "ATTUNE_LIBRARIES"
        environment = {key: value for key, value in os.environ.items() if key != name}
        with mock.patch.dict(os.environ, environment, clear=True), mock.patch("attune._libraries.folder", return_value="/wheels/lib"):
            with attune.torch.patched("dispatcher"):
                self.assertEqual(os.environ[name], "/wheels/lib")
            self.assertNotIn(name, os.environ)
            os.environ[name] = ""
            with attune.torch.patched("dispatcher"):
                self.assertEqual(os.environ[name], "/wheels/lib", "empty counts as unset")
            self.assertEqual(os.environ[name], "")
            os.environ[name] = "/own"
            with attune.torch.patched("dispatcher"):
                self.assertEqual(os.environ[name], "/own", "the user has said it")

    def test_a_context_leaves_what_it_found(self):
        with attune.torch.patched():
            with attune.torch.patched():
                pass
            self.assertEqual(attune.torch.status()["way"], "dispatcher")
        self.assertEqual(attune.torch.status()["way"], "")
        with self.assertRaises(KeyError), attune.torch.patched():
            raise KeyError
        self.assertEqual(attune.torch.status()["way"], "")

    def test_a_way_that_there_is_not(self):
        with self.assertRaisesRegex(ValueError, "way must be"):
            attune.torch.patch("sideways")

    def test_numbers_of_threads(self):
        before, own = torch.get_num_threads(), attune.set_num_threads(0)
        self.addCleanup(torch.set_num_threads, before)
        self.addCleanup(attune.set_num_threads, 0)
        x, w = numbers(64, 256), numbers(128, 256)
        with attune.torch.patched():
            for threads in (1, own, 1, own + 3):  # What rows are looked up for.
                torch.set_num_threads(threads)
                F.linear(x, w)
                self.assertEqual(torch.get_num_threads(), threads)
                self.assertEqual(attune.get_num_threads(), min(threads, own))


if __name__ == "__main__":
    unittest.main()
