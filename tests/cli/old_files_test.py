# SPDX-License-Identifier: MIT
"""Files that an earlier build wrote (tests/data/version_0.1) read as they did then."""
import json
import lzma

import story

OLD = story.DATA / "version_0.1"
SHAPES = ("gemm_a16w16 m=1 n=32 k=48 dtype=fp32", "gemm_a16w16 m=16 n=32 k=48 dtype=fp32")


def has_all(after, before):
    """Whether `after` is `before`, but for members of objects that were added since."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(key in after and has_all(after[key], value) for key, value in before.items())
    if isinstance(before, list):
        return isinstance(after, list) and len(after) == len(before) and all(map(has_all, after, before))
    return after == before


class OldFiles(story.Story):
    def setUp(self):
        super().setUp()
        self.journal = self.work / "journal.db"
        self.journal.write_bytes(lzma.decompress((OLD / "journal.db.xz").read_bytes()))
        self.put("bf16_tuned_gemm.csv", (OLD / "bf16_tuned_gemm.csv").read_text())

    def test_decisions_have_all_that_they_had(self):
        old = [json.loads(line) for line in (OLD / "decisions.jsonl").read_text().splitlines()]
        now = [json.loads(line) for line in self.attune("journal", "show", "--journal", self.journal,
                                                        "--json").stdout.splitlines()]
        self.assertEqual(len(now), 2)
        for before, after in zip(old, now, strict=True):
            self.assertTrue(has_all(after, before), f"{after}\nlacks something of\n{before}")

    def test_records_are_exported_alike(self):
        self.attune("journal", "export", "--journal", self.journal, "--csv", "records.csv")
        self.assertEqual(self.read("records.csv"), (OLD / "records.csv").read_text())

    def test_a_candidate_that_hung_is_in_quarantine(self):
        one, = {entry["candidate"] for entry in self.attune("quarantine", "list", "--journal", self.journal,
                                                            "--json").json}
        self.assertEqual(one, "fake.gemm@1:split_k=4;tile_m=32;tile_n=16")

    def test_rows_serve_and_are_right(self):
        for shape, row in zip(SHAPES, self.rows("bf16_tuned_gemm.csv"), strict=True):
            found = self.attune("explain", shape, "-t", "bf16_tuned_gemm.csv", "--devices", "fake:0", "--json").json
            self.assertEqual((found["match"], found["candidate"]), ("exact", row["kernelName"]))
        self.assertIn("2 rows: 2 ok", self.attune("check", "bf16_tuned_gemm.csv", *story.FAKE).stdout)

    def test_a_run_goes_on_in_the_journal(self):
        self.put("shapes.csv", story.SHAPES)
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", "--journal", self.journal, *story.FAKE)
        self.assertEqual(len(self.rows("t.csv")), 3)
        shown = self.attune("journal", "show", "--journal", self.journal, "--json").stdout.splitlines()
        self.assertEqual(len(shown), 2 + 3)


if __name__ == "__main__":
    story.main()
