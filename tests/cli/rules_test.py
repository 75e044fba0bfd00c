# SPDX-License-Identifier: MIT
"""Rules that choose the configs to try: sets of a solver's rules (--rules), and rules of the user (--where)."""
import json
import re

import story

PROBLEM = "gemm_a16w16 m=1 n=32 k=48 dtype=fp32"
SIZE = ("-m", "1", "-n", "32", "-k", "48", "--dtype", "fp32")
GPUS = {
    "gfx942": {"kind": "hip", "cu_num": 304, "facts": {"shared_bytes": 65536}},
    "sm_90": {"kind": "cuda", "cu_num": 132, "facts": {"shared_bytes": 232448}},
}


class RulesOfTheUser(story.Story):
    def allowed(self, *flags):
        listed = self.attune("list", "candidates", PROBLEM, "--devices", "fake:0", "--json", *flags).json
        return {name.split(":", 1)[1] for name in next(e for e in listed if e["solver"] == "fake.gemm")["candidates"]}

    def test_they_choose_the_candidates_that_are_listed(self):
        few = self.allowed("--where", "fake.gemm: tile_m <= 32", "--where", "fake.gemm: split_k == 1 || problem.k > 100")
        self.assertEqual(few, {c for c in self.allowed() if "split_k=1" in c and int(re.search(r"tile_m=(\d+)", c)[1]) <= 32})
        text = self.attune("list", "candidates", PROBLEM, "--devices", "fake:0", "--pruned",
                           "--where", "fake.gemm: tile_m <= 32").stdout
        self.assertRegex(text, r"excluded by where: --where \(tile_m <= 32\)")

    def test_a_search_tries_no_others_but_the_default(self):
        self.tune(*SIZE, "--where", "fake.gemm: tile_m == 16")
        tried = {e["candidate"]["config"] for kind, e in self.journal() if kind == "started"}
        self.assertEqual({c for c in tried if "tile_m=16" not in c}, {"split_k=1;tile_m=64;tile_n=64"})
        self.assertGreater(len(tried), 3)

    def test_a_decision_is_reused_under_the_same_rules_only(self):
        ending = lambda *flags: self.tune(*SIZE, "--json", *flags).json["results"][0]["ending"]
        narrow = ("--where", "fake.gemm: tile_m == 16")
        self.assertEqual([ending(*narrow), ending(*narrow), ending(), ending("--rules", "attune")],
                         ["decided", "reused", "decided", "reused"])

    def test_bad_rules_are_refused_in_one_sentence(self):
        for rule, sentence in (("tile_m <= 32", "as in \"triton.gemm: BLOCK_SIZE_M <= 128\""),
                               ("nothing.gemm: tile_m <= 32", "'nothing.gemm'"),
                               ("fake.gemm: tile_m <=", "position"),
                               ("fake.gemm: tile_q <= 32", "'tile_q'"),
                               ("fake.gemm: problem.q <= 32", "'problem.q'"),
                               ("fake.gemm: problem.dtype", "'fp32'")):
            with self.subTest(rule):
                self.refused("tune", *SIZE, *story.FAKE, "--where", rule, says=sentence)
                self.refused("list", "candidates", PROBLEM, "--devices", "fake:0", "--where", rule, says=sentence)
        self.refused("list", "solvers", "--where", "fake.gemm: tile_m == 16", says="list candidates")
        self.refused("tune", *SIZE, *story.FAKE, "--rules", "tune_conv", says=("--rules", "attune", "'tune_conv'"))


class RuleSets(story.Story):
    def setUp(self):
        super().setUp()
        if "triton.gemm" not in {e["id"] for e in self.attune("list", "solvers", "--json").json}:
            self.skipTest("this build has no triton.gemm")

    def allowed(self, gfx, rules, m, n, k):
        self.put("gpu.json", json.dumps({"id": "gpu:0", "gfx": gfx, "model": "a GPU", "processor": "gpu", "cache_bytes": 1 << 22,
                                         "memory_bytes": 1 << 36, "peak_gflops": {}, "bandwidth_gbs": 1000, **GPUS[gfx]}))
        listed = self.attune("list", "candidates", f"gemm_a16w16 m={m} n={n} k={k} dtype=fp16", "--json", "--rules", rules,
                             "--devices", "gpu:0", "--device-info", "gpu.json").json
        return next(e for e in listed if e["solver"] == "triton.gemm")["allowed"]

    def test_the_scripts_sets_leave_as_many_configs_as_the_script(self):
        self.assertEqual(self.allowed("gfx942", "tune_gemm", 8192, 8192, 8192), 672)
        self.assertEqual(self.allowed("gfx942", "tune_gemm", 1, 8192, 28672), 880)
        self.assertEqual(self.allowed("sm_90", "tune_gemm", 4864, 4096, 8256), 1122)
        self.assertEqual(self.allowed("sm_90", "tune_gemm_v2", 4864, 4096, 8256), 608)
        self.assertGreater(self.allowed("sm_90", "attune", 4864, 4096, 8256), 1122)


if __name__ == "__main__":
    story.main()
