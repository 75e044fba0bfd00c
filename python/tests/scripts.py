# SPDX-License-Identifier: MIT
"""Programs that tests run in an interpreter of their own."""

import subprocess
import sys
import tempfile
import textwrap


def run_script(case, start, text, environment):
    """Runs `start` and `text`, with state and kernels in a folder that is removed; returns the standard error.

    The program must succeed, or `case`, a TestCase, fails.
    """
    with tempfile.TemporaryDirectory(prefix="attune_script_") as folder:
        done = subprocess.run(
            [sys.executable, "-c", start + textwrap.dedent(text)],
            env={**environment, "ATTUNE_HOME": folder, "ATTUNE_CACHE": folder + "/kernels"},
            cwd=folder,
            timeout=120,
            capture_output=True,
            text=True,
        )
    case.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    return done.stderr
