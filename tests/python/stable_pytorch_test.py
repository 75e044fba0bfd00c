# SPDX-License-Identifier: MIT
"""wheel_test.py with PyPI's PyTorch 2.9, for faults that only a PyTorch with a stable interface shows (tests/mutation)."""

import os

os.environ["ATTUNE_TEST_PYTORCH"] = "pypi-2.9"

import wheel_test  # noqa: E402  It reads the variable.

wheel_test.main()
