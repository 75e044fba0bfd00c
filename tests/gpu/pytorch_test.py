# SPDX-License-Identifier: MIT
"""PyTorch on CUDA tensors: shapes are captured, tuned and served through attune.torch and attune.gemm_a16w16.

What was measured is printed, a JSON object for each part of pytorch_application.py."""
import csv
import json
import os
import subprocess
from pathlib import Path

import gpu_story
import story

BUDGET = os.environ.get("ATTUNE_TEST_BUDGET", "120s")
SKIPPED = os.environ.get("ATTUNE_TEST_SKIP", "").split(",")  # Parts that are not run, to save time.
TOLERANCE = 2e-2
SPLIT = (8, 64, 4096)  # SPLIT of pytorch_application.py.
SPLIT_CONFIG = "columns=16;depth_warps=8;kernel=stream;reduce=block;rows=8;split_k=4;unroll=4;warps=1"


class PyTorchOnAGpu(gpu_story.GpuStory):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        gpu_story.skip_without_pytorch()

    def application(self, *parts, **environment):
        """Returns what each part found; the program's lines are shown as they come."""
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "ATTUNE_GPU", "ATTUNE_TEST_SKIP", "ATTUNE_TEST_REPLAYS") if name in os.environ}
        found = {}
        with open(self.work / "errors.txt", "w+") as errors:
            program = subprocess.Popen([gpu_story.PYTHON, "-B", Path(__file__).parent / "pytorch_application.py", *parts],
                                       env=self.environment(**kept, **environment), stdout=subprocess.PIPE, stderr=errors, text=True)
            with program:
                for line in program.stdout:
                    print(line.rstrip(), flush=True)
                    part, _, rest = line.partition(" ")
                    if part in parts:
                        found[part] = json.loads(rest)
            errors.seek(0)
            text = errors.read()
        print(text[-3000:], flush=True)
        self.assertEqual(program.returncode, 0, text[-3000:])
        return found

    def test_captured_shapes_are_tuned_and_served(self):
        captures = self.work / "captures"
        first = self.application("capture", ATTUNE_TUNE_GEMM="1", ATTUNE_CAPTURE_DIR=str(captures))["capture"]
        self.assertEqual(first["status"], {"way": "dispatcher", "why": "", "why_no_cuda": ""})
        self.assertNotIn("routed", first["counted"], "there is no table")
        self.assertGreaterEqual(first["counted"]["no_row"], 8)
        print(self.read(captures / "bf16_untuned_gemm.csv"))
        self.tune(captures, "tuned.csv")
        # patch() makes PyTorch's operators a candidate of every tuning: what is claimed of speed is claimed of these rows.
        self.tune(captures, "tuned_with_stock.csv", ATTUNE_TORCH_OPERATORS=self.operators())
        self.check_parts("tuned.csv", ("graphs", "serve", "modules", "arrays", "memory"))
        self.check_parts(self.with_split_row("tuned.csv"), ("streams",))
        self.check_parts("tuned.csv", ("overhead",))
        self.check_parts("tuned_with_stock.csv", ("served", "blocks"))
        self.check_parts("tuned.csv", ("compiled",))

    def operators(self):
        """The library of PyTorch's operators, compiled if need be."""
        kept = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        made = subprocess.run([gpu_story.PYTHON, "-m", "attune.torch"], env=self.environment(**kept), capture_output=True, text=True, timeout=300)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout.strip()

    def tune(self, captures, table, **environment):
        tuned = self.on_gpu("tune", "-i", str(captures / "bf16_untuned_gemm.csv"), "-o", table, "--journal", f"{table}.db", "--budget", BUDGET,
                            "--max-trials", "24", status=None, timeout=400, env=environment)
        print(tuned.stdout[-3000:], tuned.stderr[-1500:])
        self.assertGreater(len(self.rows(table)), 6)

    def with_split_row(self, table):
        """A table with one more row, whose kernel adds parts of K: two launches of it at once must not share what the parts leave."""
        version = next(one["version"] for one in self.attune("list", "solvers", "--json").json if one["id"] == "jit_cuda.gemm")
        rows = self.rows(table)
        m, n, k = SPLIT
        rows.append(rows[0] | {"M": m, "N": n, "K": k, "bias": "False", "libtype": "jit_cuda", "solidx": -1, "splitK": 4, "us": 5, "kernelName": f"jit_cuda.gemm@{version}:{SPLIT_CONFIG}"})
        with open(self.work / "split.csv", "w", newline="") as file:
            written = csv.DictWriter(file, rows[0].keys())
            written.writeheader()
            written.writerows(rows)
        built = self.on_gpu("kernels", "build", "--table", "split.csv", quiet=False)
        print(built.stdout, built.stderr)
        return "split.csv"

    def check_parts(self, table, parts):
        wanted, rows = [part for part in parts if part not in SKIPPED], self.rows(table)
        found = self.application(*wanted, ATTUNE_CONFIG_GEMM_BF16=str(self.work / table)) if wanted else {}
        for part in wanted:
            with self.subTest(part):
                one = found[part]
                one.pop("seconds")
                self.assertNotIn("error", one, one.get("error"))
                getattr(self, f"check_{part}")(one, rows)

    def check_serve(self, found, rows):
        self.assertTrue(found.pop("context"), "the current device is another one")
        for shape, one in found.items():
            with self.subTest(shape):
                self.assertLess(one["difference"], TOLERANCE)
                self.assertTrue(one["same"])
                self.assertEqual(one["linear"], {"routed": 1})
                self.assertEqual(one["out"], {"routed": 1})
                self.assertEqual(one["strided"], {"routed": 1})

    def check_modules(self, found, rows):
        for name in ("eval", "train"):
            self.assertLess(found[name]["difference"], TOLERANCE)
            self.assertGreaterEqual(found[name]["counted"]["routed"], 2)
        self.assertEqual(found["autocast"], {"routed": 1})
        self.assertEqual(found["deterministic"], {"passed_on": 1, "settings": 1})
        self.assertEqual(found["tf32"], {"passed_on": 1, "settings": 1})
        self.assertEqual(found["fp32"], {"passed_on": 1, "no_row": 1})
        self.assertEqual(found["no row"], {"passed_on": 1, "no_row": 1})
        self.assertEqual(found["bmm"], {"passed_on": 1, "no_family": 1})
        self.assertRegex(found["two devices"], "same device")

    def check_arrays(self, found, rows):
        for name in ("current", "object", "address", "entered", "run"):
            self.assertLess(found[name], TOLERANCE, name)
        self.assertEqual(found["mixed"], "TypeError: all arrays of a call must be on one device, x is on cuda:0 and w on the CPU")
        self.assertRegex(found["host weights packed"], "ValueError: w must be on the CPU, it is on cuda:0")
        self.assertEqual(found["host calls of the GPU"], 0)

    def check_compiled(self, found, rows):
        self.assertLess(found["difference"], TOLERANCE)
        self.assertEqual(found["counted"], {"routed": 1})

    def check_streams(self, found, rows):
        self.assertEqual([one["wrong"] for one in found.values()], [0] * len(found))
        kernels = {(int(row["M"]), int(row["N"]), int(row["K"]), row["bias"] == "True"): row["kernelName"] for row in rows}
        generated = set()
        for shape, one in found.items():
            m, n, k, bias = (part.strip() for part in shape.strip("()").split(","))
            kernel = kernels.get((int(m), int(n), int(k), bias == "True"), "")
            print(f"{shape}: {kernel}, {one}")
            # Generated kernels are deterministic (PlanTraits::states). cuBLASLt and cuBLAS promise it for one stream at a time.
            if not kernel.startswith("jit_cuda.gemm@"):
                continue
            generated.add((int(m), int(n), int(k)))
            with self.subTest(shape):
                self.assertEqual(one["counted"], {"routed": 2})
                self.assertEqual(one["bits differ"], 0, kernel)
        self.assertIn(SPLIT, generated, "a row with parts of K is among them")

    def check_memory(self, found, rows):
        self.assertEqual(found, {"a call": 1.0, "with a result given": 0, "segments": 0, "bytes": 0})

    def check_graphs(self, found, rows):
        self.assertEqual(found["noticed"], 1, "one element that differs is noticed")
        self.assertEqual(found["compared"], int(os.environ.get("ATTUNE_TEST_REPLAYS", "10000")))
        self.assertEqual(found["differing"], 0)
        self.assertLess(found["difference"], TOLERANCE)
        self.assertGreater(found["reloads"], 5)
        self.assertEqual(found["counted"], {"routed": 6, "passed_on": 1, "not_ready": 1})

    def check_overhead(self, found, rows):
        for name in ("linear, bias", "addmm", "addmm, out given"):
            self.assertLessEqual(found[name]["difference_us"][0], 3, name)

    def check_served(self, found, rows):
        stated = {(int(row["M"]), int(row["N"]), int(row["K"]), row["bias"] == "True"): float(row["us"]) for row in rows if row.get("us")}
        for shape, one in found.items():
            m, n, k, bias = [part.strip() for part in shape.strip("()").split(",")]
            us = stated.get((int(m), int(n), int(k), bias == "True"))
            if us:
                print(f"{shape}: stated {us} us, served {one['patched_us']} us ({one['patched_us'] / us:.3f}), stock {one['stock_us']} us, speed {one['speed']}")
            with self.subTest(shape):
                self.assertGreaterEqual(one["speed"][2], 1, "slower than stock")

    def check_blocks(self, found, rows):
        for batch, one in found.items():
            with self.subTest(batch):
                self.assertLess(one["difference"], 3 * TOLERANCE)
                self.assertGreaterEqual(one["speed"][2], 1, "slower than stock")


if __name__ == "__main__":
    story.main()
