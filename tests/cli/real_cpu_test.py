# SPDX-License-Identifier: MIT
"""One shape from end to end on the processor this runs on. No time is asserted: the machine may be busy."""
import json

import story

PROBLEM = "gemm_a16w16 m=16 n=64 k=64 dtype=fp32"


class TheProcessor(story.Story):
    def test_a_shape_is_tuned_checked_explained_and_not_tuned_again(self):
        self.put("bf16_untuned_gemm.csv", "M,N,K,bias,dtype,outdtype\n16,64,64,False,fp32,fp32\n")
        tune = ("tune", "-i", "bf16_untuned_gemm.csv", "-o", "bf16_tuned_gemm.csv", "--quiet-wait", "0", "--max-trials", "8")
        answer = self.attune(*tune, "--json").json
        decision = answer["results"][0]["decision"]
        self.assertEqual(answer["device"]["id"], "cpu:0")
        self.assertLess(decision["max_relative_error"], 1e-4)
        row, = self.rows("bf16_tuned_gemm.csv")
        self.assertEqual(row["kernelName"], decision["winner"])
        self.assertEqual(f"{row['gfx']}/{row['cu_num']}", answer["device"]["key"])
        self.assertGreater(float(row["us"]), 0)

        # Right whatever the noise does to the times.
        rows = self.attune("check", "bf16_tuned_gemm.csv", "--quiet-wait", "0", "--json", status=None).json
        self.assertIn(rows[0]["status"], ("ok", "slower than the default", "slower than its row says"))
        answer = self.attune("explain", PROBLEM, "-t", "bf16_tuned_gemm.csv", "--json").json
        self.assertEqual((answer["match"], answer["candidate"]), ("exact", decision["winner"]))
        self.assertEqual(answer["decision"]["winner"], decision["winner"])

        entries = len(self.journal())
        with self.untouched("bf16_tuned_gemm.csv"):
            self.assertIn("tuned before", self.attune(*tune).stdout)
        self.assertEqual(len(self.journal()), entries)

    def test_a_shape_that_no_library_serves_has_no_default_and_no_gain(self):
        self.put("bf16_untuned_gemm.csv", "M,N,K,bias,dtype,outdtype,out_scale\n4,32,16,False,fp32,fp32,1\n")
        tune = ("tune", "-i", "bf16_untuned_gemm.csv", "-o", "t.csv", "--quiet-wait", "0", "--max-trials", "4")
        result = self.attune(*tune)
        self.assertIn("note: no library that takes part serves fp32 on cpu:0", result.stderr)
        self.assertIn("1 without a default, which no mean includes", result.stdout)
        self.assertNotIn("×  ", result.stdout.split("errRatio")[1].split("default:")[0])
        decision = self.attune(*tune, "--all", "--json").json["results"][0]["decision"]
        self.assertEqual(decision["verdict"], "no_default")
        self.assertEqual([decision[name] for name in ("default", "default_us", "speedup", "interval")], [None] * 4)
        self.assertTrue(decision["winner"].startswith("portable.gemm@"), decision["winner"])
        row, = self.attune("check", "t.csv", "--quiet-wait", "0", "--json", status=None).json
        self.assertIn("no library serves the shape", row["reason"])
        self.assertIsNone(row["speedup"])
        shape, = self.attune("bench", "-i", "t.csv", "--iters", "3", "--quiet-wait", "0", "--json").json["shapes"]
        self.assertIsNone(shape["default"])
        self.attune("report", "-o", "r.json")
        reported = json.loads(self.read("r.json"))["decisions"][0]
        self.assertEqual((reported["verdict"], reported["default"], reported["speedup"]), ("no_default", "", 0))

    def test_every_available_solver_has_a_default_that_computes_it(self):
        elsewhere = ("fake", "cublas", "cublaslt", "jit_cuda", "torch")
        solvers = [e["id"] for e in self.attune("list", "solvers", "--json").json if e["available"] and e["id"].split(".")[0] not in elsewhere]
        for problem, op in ((PROBLEM, "gemm"), ("gemm_a8w8 m=4 n=64 k=96", "gemm_a8w8"),
                            ("gemm_a4w4_blockscale m=4 n=64 k=96", "gemm_a4w4_blockscale")):
            answer = self.attune("bench", problem, "--iters", "3", "--json").json
            self.assertEqual({c["candidate"].split("@")[0] for c in answer["candidates"]}, {one for one in solvers if one.split(".")[1] == op})
            self.assertEqual({c["status"] for c in answer["candidates"]}, {"ok"})


if __name__ == "__main__":
    story.main()
