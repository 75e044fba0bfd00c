# SPDX-License-Identifier: MIT
"""A session of several families on the host: each has a table of its own, whose rows serve."""
import story

LISTS = {"bf16_untuned_gemm.csv": "M,N,K,dtype,outdtype\n1,64,64,bf16,bf16\n",
         "a8w8_untuned_gemm.csv": "M,N,K,q_dtype_w\n1,64,64,torch.int8\n"}
HOST = ("--devices", "cpu:0")


class Families(story.Story):
    def test_each_family_has_its_table_and_rows_are_right(self):
        for name, content in LISTS.items():
            self.put(name, content)
            self.attune("configs", "import", "-t", "t", "-f", name)
        self.attune("solvers", "update", *HOST)
        self.attune("session", "init", "-l", "why", "--ticket", "T-7", *HOST)
        self.attune("applicability", "update", "--session", "1")
        self.attune("jobs", "load", "--session", "1", "-t", "t", "--steps", "find_compile,find_eval", "-o", "-l", "x")
        self.attune("fleet", "run", "--session", "1", "--quiet-wait", "0", *HOST, timeout=110)
        made = self.attune("export", "--session", "1", "-f", "-p", "-k", "-c", "-o", "out", "--json").json
        tables = {"bf16_tuned_gemm.csv", "a8w8_tuned_gemm.csv"}
        self.assertEqual({one["file"].rpartition("/")[2] for one in made["files"]}, tables)
        self.assertEqual({path.name for path in (self.work / "out").iterdir() if path.suffix != ".lock"}, tables)
        self.assertEqual(made["lacking"], [])
        self.assertIn("2 configurations are in tables alone", made["notices"][0])
        self.assertEqual([(one["id"], one["reason"], one["ticket"]) for one in made["sessions"]], [(1, "why", "T-7")])
        for name in tables:
            self.assertIn("loaded", self.attune("check", f"out/{name}", "--no-run", *HOST).stdout)
        lacking = self.attune("export", "--session", "1", "-f", "-o", "other", status=1)
        self.assertEqual(lacking.stderr.count("MIOpen's files have keys for convolutions alone"), 2)
        self.assertFalse((self.work / "other").exists())


if __name__ == "__main__":
    story.main()
