# SPDX-License-Identifier: MIT
"""Pipelines: what `attune ci validate` finds in tables without running a kernel."""
import os

import story
from tables_test import FAKE_DEVICE, HEADER, KERNEL, OP, REST, TUNED, Tables

WORK = 2 * 32 * 48  # operations and bytes of a row of tables in fp32 with N = 32 and K = 48


class Validate(Tables):
    def sound(self, m, us, kernel=KERNEL, errors="0.0", device="fake,4"):
        tflops, bw = WORK * m / us / 1e6, 4 * (48 * m + 32 * 48 + 32 * m) / us / 1e3
        return f"{device},{m},32,48{REST},fake,-1,1,{us},{kernel},{errors},{tflops:.2f},{bw:.2f}"

    def validate(self, *arguments, status=1, **how):
        return self.attune("ci", "validate", *arguments, status=status, env=self.where, **how)

    def found(self, *arguments, **how):
        answer = self.validate(*arguments, "--json", **how).json
        self.assertEqual(answer["num_findings"], sum(answer["counts"].values()))
        return [(one["kind"], one["row"]) for one in answer["findings"]]


class Findings(Validate):
    def test_a_right_table_has_none_and_the_configuration_folder_is_the_default(self):
        self.table("configs/" + TUNED, self.sound(1, 40), self.sound(3, 41))
        self.put("configs/bf16_untuned_gemm.csv", "M,N,K\n1,32,48\n")
        result = self.validate(status=0)
        self.assertEqual(result.stdout, "2 rows in 1 table, 0 findings; 1 shape list not checked\n")
        self.assertEqual(self.found(status=0), [])

    def test_each_kind_is_named_with_file_and_line_and_the_table_is_left_as_it_is(self):
        rows = [self.sound(1, 40), self.sound(1, 41),                                      # 2, 3: duplicate
                self.sound(2, 40).replace(",40,", ",0,"), self.sound(3, 1e10),             # 4, 5: times
                self.sound(512, 0.02), self.sound(5, 40) + "9",                            # 6, 7: roofline, bw
                self.sound(6, 40, errors="0.06"), self.sound(7, 40, "nobody.gemm@1:a=1"),  # 8, 9
                self.sound(8, 40, "fake.gemm@77:split_k=1"), self.sound(9, 40, device=",7"),
                self.sound(33, 44), self.sound(64, 42), "fake,4,x,32,48" + REST + ",fake,-1,1,1,k,0,0,0",
                self.sound(11, 40, ""), self.sound(12, 40, "portable.gemm@1:nonsense=3"),
                self.sound(13, 40, "_ZN5aiter1fE").replace(",fake,-1", ",asm,-1").replace(",0.00,", ",0.03,")]
        self.table("t.csv", *rows)
        before = story.snapshot(self.work)
        self.assertEqual(self.found("t.csv", "--op", OP), [
            ("duplicate_key", "t.csv:3"), ("unusable_time", "t.csv:4"), ("absurd_time", "t.csv:5"),
            ("below_roofline", "t.csv:6"), ("wrong_bw", "t.csv:7"), ("too_many_errors", "t.csv:8"),
            ("unknown_kernel", "t.csv:9"), ("unknown_kernel", "t.csv:10"), ("unreachable", "t.csv:11"),
            ("slower_than_padded", "t.csv:12"), ("unreadable", "t.csv:14"), ("missing_column", "t.csv:15"),
            ("unknown_kernel", "t.csv:15"), ("unknown_kernel", "t.csv:16"), ("wrong_tflops", "t.csv:17"),
            ("wrong_bw", "t.csv:17")])
        self.assertEqual(story.snapshot(self.work), before)
        text = self.validate("t.csv", "--op", OP).stdout
        self.assertIn("t.csv:3: duplicate key: t.csv:2 has the same key  gemm_a16w16 m=1 n=32 k=48", text)
        self.assertIn("t.csv:12: slower than the padded row: 44 µs, t.csv:13 would serve it in 42 µs: m = 64", text)
        self.assertIn("16 rows in 1 table, 16 findings", text)
        self.assertRegex(text, r"(?m)^ +4  unknown kernel$")

    def test_top_shortens_the_list_and_not_the_counts(self):
        self.table("t.csv", *(self.sound(m, 40, errors="0.5") for m in (1, 3, 5)))
        answer = self.validate("t.csv", "--op", OP, "--top", "1", "--json").json
        self.assertEqual((len(answer["findings"]), answer["counts"]["too_many_errors"]), (1, 3))
        self.assertIn("3  too many errors (1 listed; --top 0 lists all)",
                      self.validate("t.csv", "--op", OP, "--top", "1").stdout)

    def test_the_threshold_of_errors_is_chosen(self):
        self.table("t.csv", self.sound(1, 40, errors="0.06"))
        self.assertEqual(self.found("t.csv", "--op", OP, "--max-err-ratio", "0.1", status=0), [])
        self.assertEqual(self.found("t.csv", "--op", OP, "--errRatio", "0.01"), [("too_many_errors", "t.csv:2")])

    def test_rows_of_a_described_device_are_judged_as_those_of_one_that_is_here(self):
        fake = next(one for one in self.attune("list", "devices", "--json").json if one["id"] == "fake:0")
        fake["cu_num"] = 9
        self.put("device.json", story.json.dumps(fake))
        self.table("t.csv", self.sound(512, 0.02, device="fake,9"))
        self.assertEqual(self.found("t.csv", "--op", OP, status=0), [])
        self.assertEqual(self.found("t.csv", "--op", OP, "--device-info", "device.json"),
                         [("below_roofline", "t.csv:2")])


class Folders(Validate):
    def test_an_earlier_file_makes_a_row_unreachable_as_at_run_time(self):
        os.mkdir(self.work / "configs/model_configs")
        self.table("configs/" + TUNED, self.sound(1, 40), self.sound(3, 40))
        self.table("configs/model_configs/llama_" + TUNED, self.sound(3, 41))
        self.assertEqual(self.found("configs"), [("unreachable", f"configs/{TUNED}:3")])

    def test_a_wrong_table_is_named_and_the_others_are_checked(self):
        self.put("configs/" + TUNED, "gfx,cu_num,M\x00\n")
        self.put("configs/a8w8_tuned_gemm.csv", "gfx,cu_num,N,K,us,kernelName\n")
        self.put("configs/other_tuned.csv", "gfx,H,us\nx,1,2\n")
        self.table("configs/model_bf16_tuned_gemm.csv", self.sound(1, 40, errors="1"))
        result = self.validate("configs", "--json")
        self.assertEqual([(one["kind"], one["row"]) for one in result.json["findings"]],
                         [("missing_column", "configs/a8w8_tuned_gemm.csv:1"), ("unreadable", f"configs/{TUNED}:1"),
                          ("too_many_errors", "configs/model_bf16_tuned_gemm.csv:2")])
        self.assertEqual(result.json["num_files"], 3)
        self.assertRegex(result.stderr, "(?m)note: not checked, configs/other_tuned.csv:1: unknown family, .*check it alone: attune ci validate configs/other_tuned.csv --op FAMILY$")

    def test_bad_input(self):
        self.refused("ci", says="validate")
        self.refused("ci", "validate", "none.csv", says="none.csv")
        self.refused("ci", "validate", "configs", says="no tuned table")
        self.put("mail.db", "SQLite\x01\n")
        self.refused("ci", "validate", "mail.db", says="mail.db:1")
        self.put("u_untuned.csv", "M,N,K\n1,2,3\n")
        self.refused("ci", "validate", "u_untuned.csv", says="no tuned table")
        self.table("t.csv", self.sound(1, 40))
        self.refused("ci", "validate", "t.csv", "--op", "gemm_x", says="gemm_x")
        self.refused("ci", "validate", "t.csv", "--max-err-ratio", "much", says="much")


if __name__ == "__main__":
    story.main()
