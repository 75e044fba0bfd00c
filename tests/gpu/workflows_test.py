# SPDX-License-Identifier: MIT
"""What a user does on a GPU, command by command: tune_gemm's list of sizes in YAML, and an application whose shapes are captured,
tuned, checked, merged and served."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import gpu_story
import story

SIZES = ("- {'M': 4864, 'N': 4096, 'K': 4096, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n"
         "- {'M': 1024, 'N': 1024, 'K': 1024, 'rowMajorA': 'T', 'rowMajorB': 'T'}\n"
         "- {'M': 333, 'N': 1000, 'K': 1024, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
SHAPES = ("1,1024,256", "8,2048,256", "64,512,128")
FEW = ("--max-trials", "24")


class TuneGemm(gpu_story.GpuStory):
    """tune_gemm.py --gemm_size_file sizes.yaml, then --compare_wo_tuning."""

    def test_sizes_in_yaml_become_results_in_yaml(self):
        self.put("sizes.yaml", SIZES)
        self.on_gpu("tune", "--gemm_size_file", "sizes.yaml", "--dtype", "fp16", "--tuning_results_file", "results.yaml", *FEW)
        results = self.read("results.yaml")
        print(f"\n{results}")
        self.assertEqual(len(re.findall(r"(?m)^- \{", results)), 3, results)
        self.assertNotRegex(results, r"planted|fake")
        checked = self.on_gpu("tune", "--compare_wo_tuning", "results.yaml", status=None)
        print(checked.stdout[-2000:], checked.stderr[-500:])
        self.assertEqual(checked.status, 0, str(checked))


class CaptureAndTune(gpu_story.GpuStory):
    """Capture, tune, check, explain, serve: the steps of AITER's guide with this program's names."""

    def application(self, **environment):
        library = os.environ.get("ATTUNE_LIBRARY", str(Path(story.PROGRAM).parent / "libattune.so"))
        if not Path(library).exists():
            self.skipTest("ATTUNE_LIBRARY is not there")
        done = subprocess.run([sys.executable, "-B", Path(__file__).parent / "gpu_application.py", gpu_story.GPU, *SHAPES],
                              env=self.environment(ATTUNE_LIBRARY=library, **environment), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(f"\n{done.stdout}{done.stderr[-800:]}")
        return json.loads(done.stdout)

    def test_captured_shapes_are_tuned_and_served(self):
        captures = self.work / "captures"
        first = self.application(ATTUNE_TUNE_GEMM="1", ATTUNE_CAPTURE_DIR=str(captures))
        self.assertEqual(first, {"matches": ["fallback"] * 3, "right": True})
        untuned = captures / "bf16_untuned_gemm.csv"
        self.assertEqual(len(untuned.read_text().split()), 4, untuned.read_text())
        self.on_gpu("tune", "-i", str(untuned), "-o", "tuned.csv", *FEW)
        self.assertEqual(len(self.rows("tuned.csv")), 3)
        self.assertRegex(self.on_gpu("check", "tuned.csv").stdout, r"3 rows: 3 ok")
        problem = "gemm_a16w16 m=8 n=2048 k=256 dtype=bf16"
        self.assertRegex(self.on_gpu("explain", problem, "--table", "tuned.csv", quiet=False).stdout, r"exact")
        served = self.application(ATTUNE_CONFIG_GEMM_BF16=str(self.work / "tuned.csv"))
        self.assertEqual(served, {"matches": ["exact"] * 3, "right": True})
        timed = self.on_gpu("bench", problem, "--iters", "11", "--json").json
        first = timed["candidates"][0]
        print(json.dumps({name: value for name, value in first.items() if name != "repeat"}))
        self.assertGreater(first["cycles"], 1000)
        self.assertGreater(first["clock"], 0.1)
        self.assertIn("clock_held_by", timed)
        shown = self.on_gpu("bench", problem, "--iters", "11")
        print(shown.stdout)
        self.assertRegex(shown.stdout, r"TFLOP/s, \d+ GB/s, .*clock \d\.\d+, \d+ cycles")
        self.assertNotIn("not known", shown.stderr)


if __name__ == "__main__":
    story.main()
