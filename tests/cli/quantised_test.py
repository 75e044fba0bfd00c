# SPDX-License-Identifier: MIT
"""Quantised families from a list of shapes to a checked table, on the processor this runs on. No time is asserted."""
import story

FAST = ("--quiet-wait", "0", "--max-trials", "4")
LISTS = {
    "a8w8": ("gemm_a8w8", "M,N,K,q_dtype_w\n2,48,96,torch.int8\n3,33,70,torch.float8_e4m3fn\n"),
    "a8w8_blockscale": ("gemm_a8w8_blockscale", "M,N,K\n2,48,96\n3,130,129\n"),
    "a4w4_blockscale": ("gemm_a4w4_blockscale", "M,N,K\n2,48,96\n3,33,70\n"),
}


class Quantised(story.Story):
    def check_rows(self, table, count):
        for row in self.attune("check", table, "--quiet-wait", "0", "--json", status=None).json:
            # Right whatever the noise does to the times.
            self.assertIn(row["status"], ("ok", "slower than the default", "slower than its row says"))
        self.assertEqual(len(self.rows(table)), count)

    def test_a_list_is_tuned_checked_and_explained(self):
        for stem, (op, shapes) in LISTS.items():
            with self.subTest(op):
                table = f"{stem}_tuned_gemm.csv"
                self.put(f"{stem}_untuned_gemm.csv", shapes)
                answer = self.attune("tune", "-i", f"{stem}_untuned_gemm.csv", "-o", table, *FAST, "--json").json
                self.assertEqual(len(answer["results"]), 2)
                self.check_rows(table, 2)
                for one in answer["results"]:
                    found = self.attune("explain", one["problem"], "-t", table, "--json").json
                    self.assertEqual((found["match"], found["candidate"]), ("exact", one["decision"]["winner"]))
                    self.assertTrue(found["candidate"].split("@")[0].endswith("." + op))

    def test_twenty_candidates_or_more_for_few_rows(self):
        for stem, (op, _) in LISTS.items():
            for m in (1, 7, 16, 32):
                with self.subTest(op, m=m):
                    solvers = self.attune("list", "candidates", f"{op} m={m} n=2112 k=7168", "--json").json
                    names = [name for one in solvers for name in one.get("candidates", [])]
                    self.assertGreaterEqual(len(set(names)), 20)
                    self.assertEqual(len(set(names)), len(names))

    def test_a_winner_is_rebuilt_from_its_name(self):
        for stem, (op, shapes) in LISTS.items():
            with self.subTest(op):
                table, problem = f"{stem}_tuned_gemm.csv", f"{op} m=2 n=48 k=96"
                self.put(f"{stem}_untuned_gemm.csv", "\n".join(shapes.splitlines()[:2]) + "\n")
                self.attune("tune", "-i", f"{stem}_untuned_gemm.csv", "-o", table, *FAST)
                name = self.rows(table)[0]["kernelName"]
                # Another machine of the kind: the table, and no kernel, journal or solver's choice.
                elsewhere = {"ATTUNE_CACHE": str(self.folder / op), "ATTUNE_HOME": str(self.folder / f"home_{op}")}
                built = self.attune("kernels", "build", "--table", table, env=elsewhere).stdout
                self.assertIn(f"{'1' if name.startswith('jit') else '0'} file", built)
                again = self.attune("bench", problem, "--candidate", name, "--json", env=elsewhere).json["candidates"]
                self.assertEqual([(one["candidate"], one["status"]) for one in again if one["candidate"] == name], [(name, "ok")])
                found = self.attune("explain", problem, "-t", table, "--json", env=elsewhere).json
                self.assertEqual((found["match"], found["candidate"]), ("exact", name))

    def test_packed_weights_of_mxfp4(self):
        self.put("a4w4_blockscale_untuned_gemm.csv", "M,N,K,bpreshuffle\n1,96,256,True\n5,96,256,True\n")
        self.attune("tune", "-i", "a4w4_blockscale_untuned_gemm.csv", "-o", "a4w4_blockscale_tuned_gemm.csv", *FAST)
        rows = self.rows("a4w4_blockscale_tuned_gemm.csv")
        self.assertEqual([row["bpreshuffle"] for row in rows], ["True", "True"])
        self.assertEqual(len({row["layout"] for row in rows}), 1, "the weights are packed once for all M")
        self.check_rows("a4w4_blockscale_tuned_gemm.csv", 2)

    def test_one_size_of_mxfp4(self):
        self.attune("tune", "--op", "gemm_a4w4_blockscale", "-m", "16", "-n", "1024", "-k", "1024", "-o", "a4w4_blockscale.csv", *FAST)
        row, = self.rows("a4w4_blockscale.csv")
        self.assertEqual((row["M"], row["N"], row["K"]), ("16", "1024", "1024"))
        self.assertNotIn("outdtype", row)
        self.check_rows("a4w4_blockscale.csv", 1)

    def test_a_missing_type_is_fp8_of_the_device(self):
        self.put("a8w8_blockscale_untuned_gemm.csv", "M,N,K\n1,48,64\n")
        self.attune("tune", "-i", "a8w8_blockscale_untuned_gemm.csv", "-o", "a8w8_blockscale_tuned_gemm.csv", *FAST)
        row, = self.rows("a8w8_blockscale_tuned_gemm.csv")
        self.assertNotIn("q_dtype_w", row)
        self.attune("tune", "-i", "a8w8_blockscale_untuned_gemm.csv", "--dtype", "e4m3fnuz", "-o", "a8w8_blockscale_tuned_gemm.csv", *FAST)
        self.assertEqual([row["q_dtype_w"] or "" for row in self.rows("a8w8_blockscale_tuned_gemm.csv")], ["", "torch.float8_e4m3fnuz"])
        found = self.attune("explain", "gemm_a8w8_blockscale m=1 n=48 k=64", "-t", "a8w8_blockscale_tuned_gemm.csv", "--json").json
        self.assertEqual((found["match"], found["candidate"]), ("exact", row["kernelName"]))

    def test_bad_input_is_one_sentence(self):
        tune = ("tune", "--op", "gemm_a8w8_blockscale", "-m", "1", "-n", "2", "-k", "3")
        self.refused(*tune, "--dtype", "int8", says="gemm_a8w8_blockscale supports q_dtype_w of e4m3fn, e4m3fnuz, got 'int8'")
        self.refused(*tune, "--bias", "1", says="--bias has no meaning for the family gemm_a8w8_blockscale")
        self.put("a4w4_blockscale_untuned_gemm.csv", "M,N,K,outdtype\n1,2,3,torch.float32\n")
        self.refused("tune", "-i", "a4w4_blockscale_untuned_gemm.csv", "-o", "t.csv", says="a4w4_blockscale_untuned_gemm.csv:2: column 'outdtype' expects")
        self.assertFalse((self.work / "t.csv").exists())


if __name__ == "__main__":
    story.main()
