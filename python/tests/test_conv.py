# SPDX-License-Identifier: MIT
"""Convolutions with NumPy arrays through the generic call."""
import unittest

import numpy as np

import attune


def convolution(image, weight, pad):
    """The output in fp64: stride 1, one group, N×C×H×W."""
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], (2, 3))
    return np.einsum("nchwyx,kcyx->nkhw", windows, weight.astype(np.float64))


class Convolution(unittest.TestCase):
    PROBLEM = "conv direction={} n=2 c=6 h=9 w=7 k=8 y=3 x=3 pad_h=1 pad_w=1"

    def setUp(self):
        random = np.random.default_rng(1)
        self.image = random.standard_normal((2, 6, 9, 7), np.float32)
        self.weight = random.standard_normal((8, 6, 3, 3), np.float32)
        self.gradient = random.standard_normal((2, 8, 9, 7), np.float32)

    def test_the_output_is_computed(self):
        output = np.zeros((2, 8, 9, 7), np.float32)
        attune.run(self.PROBLEM.format("fwd"), None, [self.image, self.weight, output])
        np.testing.assert_allclose(output, convolution(self.image, self.weight, 1), rtol=1e-4, atol=1e-4)

    def test_the_gradient_of_the_input_is_a_convolution_with_flipped_weights(self):
        result = np.zeros((2, 6, 9, 7), np.float32)
        attune.run(self.PROBLEM.format("bwd_data"), None,
                   {"output_grad": self.gradient, "weight": self.weight, "input_grad": result})
        flipped = self.weight[:, :, ::-1, ::-1].swapaxes(0, 1)
        np.testing.assert_allclose(result, convolution(self.gradient, flipped, 1), rtol=1e-4, atol=1e-4)

    def test_the_gradient_of_the_weights_is_a_convolution_of_both_tensors(self):
        result = np.zeros((8, 6, 3, 3), np.float32)
        attune.run(self.PROBLEM.format("bwd_weights"), None, [self.image, self.gradient, result])
        want = convolution(self.image.swapaxes(0, 1), self.gradient.swapaxes(0, 1), 1).swapaxes(0, 1)
        np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-3)

    def test_a_candidate_of_another_solver_is_named(self):
        output = np.zeros((2, 8, 9, 7), np.float32)
        name = "conv.im2col@1:gemm=portable.gemm@1:[block=4x4]"
        attune.run(self.PROBLEM.format("fwd"), name, [self.image, self.weight, output])
        np.testing.assert_allclose(output, convolution(self.image, self.weight, 1), rtol=1e-4, atol=1e-4)

    def test_operands_of_the_wrong_shape_are_refused(self):
        with self.assertRaises(ValueError):
            attune.run(self.PROBLEM.format("fwd"), None, [self.image, self.weight, np.zeros((2, 8, 9, 6), np.float32)])


if __name__ == "__main__":
    unittest.main()
