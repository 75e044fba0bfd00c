# SPDX-License-Identifier: MIT
"""Online tuning beside PyTorch on a GPU: ATTUNE_ONLINE_TUNING=1 takes an unused GPU of equal fingerprint, else says once that there is none;
ATTUNE_ONLINE_TUNING=shared and HIP_ONLINE_TUNING=1 allow the application's own. A new shape is served by its tuned row while the
application runs."""
import json
import os
import subprocess
from pathlib import Path

import gpu_story
import story

SHAPE = ("5", "1024", "2048")
SERVED_S, NOT_SERVED_S = 150, 15
TOLERANCE = 2e-2


def visible():
    """The GPUs that this process sees, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named:
        return named.split(",")
    return [str(number) for number in range(16) if gpu_story.has_gpu(f"cuda:{number}")]


class OnlineOnAGpu(gpu_story.GpuStory):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        gpu_story.skip_without_pytorch()
        cls.gpus = visible()

    def serve(self, seconds, gpus, **variables):
        """What the application found, and what it wrote on standard error."""
        kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        environment = self.environment(**kept, **variables, CUDA_VISIBLE_DEVICES=",".join(gpus), ATTUNE_PROGRAM=str(story.PROGRAM))
        done = subprocess.run([gpu_story.PYTHON, "-B", Path(__file__).parent / "online_application.py", str(seconds), *SHAPE], env=environment,
                              capture_output=True, text=True, timeout=seconds + 120)
        print(f"\n{variables}, {len(gpus)} GPUs: {done.stdout}{done.stderr[-1500:]}", flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def check_served(self, found, tuned_on):
        self.assertTrue(found["served"], found)
        self.assertEqual(found["tuned_on"], tuned_on)
        self.assertLess(found["difference"], TOLERANCE)
        self.assertLess(found["longest_s"], 5, "no call waits for the tuning")
        rows = story.rows_of((self.home / "overlay" / "bf16_tuned_gemm.csv").read_text())
        self.assertEqual([(row["M"], row["N"], row["K"]) for row in rows], [SHAPE])

    def test_without_an_unused_gpu_nothing_is_tuned_and_that_is_said_once(self):
        found, errors = self.serve(NOT_SERVED_S, self.gpus[:1], ATTUNE_ONLINE_TUNING="1")
        self.assertFalse(found["served"])
        self.assertEqual(found["tuned_on"], [])
        self.assertEqual(errors.count("no unused GPU"), 1, errors)

    def test_the_applications_own_gpu_is_shared_where_that_is_allowed(self):
        for variables in ({"ATTUNE_ONLINE_TUNING": "shared"}, {"HIP_ONLINE_TUNING": "1"}):
            with self.subTest(**variables):
                self.home = self.folder / next(iter(variables))
                found, errors = self.serve(SERVED_S, self.gpus[:1], **variables)
                self.check_served(found, [0])
                self.assertNotIn("no unused GPU", errors)

    def test_an_unused_gpu_is_taken(self):
        if len(self.gpus) < 2:
            self.skipTest("two GPUs are wanted, and one is here")
        found, errors = self.serve(SERVED_S, self.gpus[:2], ATTUNE_ONLINE_TUNING="1")
        self.check_served(found, [1])
        self.assertNotIn("no unused GPU", errors)


if __name__ == "__main__":
    story.main()
