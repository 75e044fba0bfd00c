# SPDX-License-Identifier: MIT
"""A product with a bias and an activation, from a list of shapes to a row that is checked. No time is asserted."""
import story

KEY = "gemm_a16w16 m=16 n=64 k=64 dtype=fp32 outdtype=fp32 bias=1"
SHAPES = "M,N,K,bias,dtype,outdtype,act\n16,64,64,True,fp32,fp32,GELU\n"


class AnEpilogue(story.Story):
    def tune(self, *more):
        return self.attune("tune", "-i", "bf16_untuned_gemm.csv", "-o", "bf16_tuned_gemm.csv", "--quiet-wait", "0",
                           "--max-trials", "8", "--json", *more).json

    def test_a_product_with_an_activation_is_tuned_checked_and_kept_apart_from_the_plain_one(self):
        self.put("bf16_untuned_gemm.csv", SHAPES)
        decision = self.tune()["results"][0]["decision"]
        self.assertEqual(decision["problem"], f"{KEY} act=gelu")
        self.assertLess(decision["max_relative_error"], 1e-4)
        row, = self.rows("bf16_tuned_gemm.csv")
        self.assertEqual((row["act"], row["kernelName"]), ("gelu", decision["winner"]))
        self.assertNotIn("alpha", row)
        rows = self.attune("check", "bf16_tuned_gemm.csv", "--quiet-wait", "0", "--json", status=None).json
        self.assertIn(rows[0]["status"], ("ok", "slower than the default", "slower than its row says"))

        answer = self.attune("explain", f"{KEY} act=gelu", "-t", "bf16_tuned_gemm.csv", "--json").json
        self.assertEqual((answer["match"], answer["candidate"]), ("exact", decision["winner"]))
        answer = self.attune("explain", f"{KEY} act=silu", "-t", "bf16_tuned_gemm.csv", "--json").json
        self.assertEqual(answer["match"], "fallback")

        # The same product without the activation is another problem, with a row of its own.
        self.put("bf16_untuned_gemm.csv", SHAPES.replace("GELU", "none"))
        plain = self.tune()["results"][0]["decision"]
        self.assertEqual(plain["problem"], KEY)
        self.assertEqual([row["act"] for row in self.rows("bf16_tuned_gemm.csv")], ["gelu", "none"])
        answer = self.attune("explain", KEY, "-t", "bf16_tuned_gemm.csv", "--json").json
        self.assertEqual((answer["match"], answer["candidate"]), ("exact", plain["winner"]))

    def test_a_flag_sets_it_for_one_size_and_for_all_shapes_of_a_list(self):
        answer = self.attune("tune", "-m", "16", "-n", "64", "-k", "64", "--dtype", "fp32", "--bias", "--act", "gelu",
                             "--quiet-wait", "0", "--max-trials", "4", "--json").json
        self.assertEqual(answer["results"][0]["problem"], f"{KEY} act=gelu")
        self.put("bf16_untuned_gemm.csv", "M,N,K,bias,dtype,outdtype\n16,64,64,True,fp32,fp32\n")
        self.assertEqual(self.tune("--act", "silu")["results"][0]["problem"], f"{KEY} act=silu")
        answer = self.attune("tune", "-m", "16", "-n", "64", "-k", "64", "--act", "mish", status=2)
        self.assertIn("attune: --act expects one of none, relu, gelu, gelu_tanh, silu, got 'mish'\n", answer.stderr)

    def test_the_solvers_that_lack_a_part_say_which(self):
        for epilogue, takers in (("act=silu", {"jit_cpu", "onednn", "onednn3", "portable"}), ("beta=any", {"portable"})):
            found = self.attune("list", "candidates", f"{KEY} {epilogue}", "--json").json
            for solver in found:
                if solver["supported"]:
                    self.assertIn(solver["solver"].split(".")[0], takers)
                elif solver["solver"].split(".")[0] in ("openblas", "blis", "mkl", "libxsmm"):
                    self.assertIn(epilogue, solver["reason"])
            self.assertIn("portable.gemm", [solver["solver"] for solver in found if solver["supported"]])

    def test_what_no_solver_takes_is_skipped_with_each_reason(self):
        self.put("bf16_untuned_gemm.csv", "M,N,K,dtype,beta,trans_a\n4,4,4,fp32,any,True\n")
        answer = self.attune("tune", "-i", "bf16_untuned_gemm.csv", "-o", "t.csv", "--quiet-wait", "0", "--json", status=None)
        self.assertIn("beta=any", answer.stdout + answer.stderr)

    def test_a_wrong_name_is_one_sentence_with_all_that_are_right(self):
        self.put("bf16_untuned_gemm.csv", SHAPES.replace("GELU", "mish"))
        answer = self.attune("tune", "-i", "bf16_untuned_gemm.csv", "-o", "t.csv", status=2)
        self.assertIn("bf16_untuned_gemm.csv:2: column 'act' expects one of none, relu, gelu, gelu_tanh, silu, got 'mish'",
                      answer.stderr)
        answer = self.attune("list", "candidates", f"{KEY} act=mish", status=2)
        self.assertIn("attribute 'act' expects one of none, relu, gelu, gelu_tanh, silu, got 'mish'", answer.stderr)

    def test_the_attributes_and_their_names_are_listed(self):
        gemm, = [op for op in self.attune("list", "ops", "--json").json if op["op"] == "gemm_a16w16"]
        values = {attribute["name"]: attribute["values"] for attribute in gemm["attributes"]}
        self.assertEqual(values["act"], ["none", "relu", "gelu", "gelu_tanh", "silu"])
        self.assertEqual(values["alpha"], ["0", "1", "any"])


if __name__ == "__main__":
    story.main()
