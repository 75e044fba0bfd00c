# SPDX-License-Identifier: MIT
"""Captured shapes: shown by their share, merged into one list for the tuner, cleared."""
import os

import story

HEADER = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle"
REST = ",False,torch.float32,torch.float32,False,False"
A, B, C = (f"{size}{REST}" for size in ("1,32,48", "2,24,32", "64,40,40"))
NAMES = {A: "gemm_a16w16 m=1 n=32 k=48 bias=0 dtype=fp32", B: "gemm_a16w16 m=2 n=24 k=32 bias=0 dtype=fp32",
         C: "gemm_a16w16 m=64 n=40 k=40 bias=0 dtype=fp32"}
FAKE_DEVICE = ("--device", "fake:0")


def shapes(*rows):
    return "\n".join((HEADER, *rows, ""))


def counts(**calls):
    return "\n".join((HEADER + ",calls", *(f"{globals()[name]},{number}" for name, number in calls.items()), ""))


class Captured(story.Story):
    """Two processes called three shapes: A 5 times, B 90 times, C 5 times."""

    def setUp(self):
        super().setUp()
        self.put("captures/bf16_untuned_gemm.csv", shapes(A, B, C))
        self.put("captures/counts/bf16_untuned_gemm.csv.a8w8-host.17.1000", counts(A=2, B=90))
        self.put("captures/counts/bf16_untuned_gemm.csv.other.17.2000", counts(A=3, C=5))

    def show(self, *arguments, **how):
        return self.attune("capture", "show", *arguments, "--json", **how).json

    def table(self):
        """A table that knows B and C on fake:0."""
        device = next(d for d in self.attune("list", "devices", "--json").json if d["id"] == "fake:0")
        kernel = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64"
        rows = [f"{device['gfx']},{device['cu_num']},{row},fake,-1,1,{us},{kernel},0.0,1.0,1.0\n"
                for row, us in ((B, 2.0), (C, 36.0))]
        header = f"gfx,cu_num,{HEADER},libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
        self.put("tuned.csv", header + "".join(rows))


class Show(Captured):
    def test_without_a_table_shapes_are_shown_by_calls(self):
        answer = self.show("captures")
        found = [(one["problem"].rsplit(" outdtype", 1)[0], one["calls"], one["calls_share"])
                 for one in answer["shapes"]]
        self.assertEqual(found, [(NAMES[B], 90, 0.9), (NAMES[A], 5, 0.05), (NAMES[C], 5, 0.05)])
        self.assertEqual((answer["num_shapes"], answer["num_without_row"]), (3, 3))
        self.assertEqual(answer["calls_share_without_row"], 1)
        self.assertNotIn("time_share", answer["shapes"][0])
        text = self.attune("capture", "show", "captures").stdout
        self.assertRegex(text, r"(?m)^ *90\.0% +90  none +gemm_a16w16 m=2 ")
        self.assertNotIn("µs", text)
        self.assertIn("3 shapes; 3 without a row on ", text)

    def test_with_a_table_by_their_share_of_the_time(self):
        self.table()
        answer = self.show("captures", "-t", "tuned.csv", *FAKE_DEVICE)
        found = [(one["calls"], one["match"], one.get("row"), one.get("us"), one.get("time_share"))
                 for one in answer["shapes"]]
        self.assertEqual(found, [(90, "exact", "tuned.csv:2", 2.0, 0.5), (5, "exact", "tuned.csv:3", 36.0, 0.5),
                                 (5, "fallback", None, None, None)])
        self.assertEqual((answer["num_without_row"], answer["calls_share_without_row"]), (1, 0.05))
        text = self.attune("capture", "show", "captures", "-t", "tuned.csv", *FAKE_DEVICE).stdout
        self.assertRegex(text, r"(?m)^ *90\.0% +90 +50\.0% +2\.00  exact +gemm_a16w16 m=2 ")
        self.assertRegex(text, r"(?m)^ *5\.0% +5 +none +gemm_a16w16 m=1 ")

    def test_the_familys_default_table_is_found(self):
        self.table()
        (self.work / "configs").mkdir()
        os.rename(self.work / "tuned.csv", self.work / "configs" / "bf16_tuned_gemm.csv")
        answer = self.show("captures", *FAKE_DEVICE, env={"ATTUNE_CONFIG_DIR": str(self.work / "configs")})
        self.assertEqual(answer["num_without_row"], 1)

    def test_rows_of_other_devices_are_no_rows(self):
        self.table()
        self.assertEqual(self.show("captures", "-t", "tuned.csv")["num_without_row"], 3)

    def test_all_families_in_one_list_and_only_the_first(self):
        self.put("captures/a8w8_untuned_gemm.csv", "M,N,K,q_dtype_w\n1,256,512,torch.int8\n")
        self.put("captures/counts/a8w8_untuned_gemm.csv.h.1.1", "M,N,K,q_dtype_w,calls\n1,256,512,torch.int8,50\n")
        self.put("captures/untuned_fmoe.csv",
                 "token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
                 "doweight_stage1\n"
                 "16,4096,1536,8,2,ActivationType.Silu,torch.bfloat16,torch.bfloat16,torch.bfloat16,QuantType.No,1,0\n")
        answer = self.show("captures", "--top", "2")
        found = [(one["family"], one["calls"]) for one in answer["shapes"]]
        self.assertEqual(found, [("gemm_a16w16", 90), ("gemm_a8w8", 50)])
        self.assertEqual(answer["num_shapes"], 5)
        self.assertIn("2 of 5 shapes", self.attune("capture", "show", "captures", "--top", "2").stdout)
        self.assertEqual([one["family"] for one in self.show("captures", "--op", "fmoe")["shapes"]], ["fmoe"])

    def test_a_file_brings_its_counts_and_a_counts_file_is_one(self):
        whole = self.show("captures/bf16_untuned_gemm.csv")
        self.assertEqual([one["calls"] for one in whole["shapes"]], [90, 5, 5])
        part = self.show("captures/counts/bf16_untuned_gemm.csv.a8w8-host.17.1000")
        self.assertEqual([one["calls"] for one in part["shapes"]], [90, 2])
        again = self.show("captures", "captures/bf16_untuned_gemm.csv",
                          "captures/counts/bf16_untuned_gemm.csv.other.17.2000")
        self.assertEqual(again["shapes"], whole["shapes"])

    def test_the_users_own_folder(self):
        self.assertIn("no shapes were captured", self.attune("capture", "show").stdout)
        self.assertEqual(len(self.show(env={"ATTUNE_CAPTURE_DIR": str(self.work / "captures")})["shapes"]), 3)

    def test_bad_input(self):
        self.refused("capture", says="attune capture needs one of its commands: show, merge or clear; see ")
        self.refused("capture", "show", "nowhere", says="'nowhere'")
        self.refused("capture", "show", "captures", "--device", "gpu:9", says="gpu:9")
        self.refused("capture", "show", "captures", "--op", "nope", says="nope")
        self.refused("capture", "show", "--op", "nope", says="nope")
        self.refused("capture", "show", "captures", "--top", "-1", says="--top")
        self.put("captures/counts/bf16_untuned_gemm.csv.bad.1.1", counts(A=2) + f"{B},many\n")
        self.refused("capture", "show", "captures", says=("bf16_untuned_gemm.csv.bad.1.1:3", "calls", "'many'"))


class Merge(Captured):
    def merge(self, *arguments, **how):
        return self.attune("capture", "merge", "-o", "all.csv", *arguments, **how)

    def test_the_most_called_come_first_and_the_tuner_takes_them(self):
        self.merge("captures")
        self.assertEqual(self.read("all.csv"), shapes(B, A, C))
        self.assertEqual(self.read("all.csv.counts"), counts(B=90, A=5, C=5))
        self.tune("-i", "all.csv", "-o", "tuned.csv", "--max-trials", "2")
        self.assertEqual([row["M"] for row in self.rows("tuned.csv")], ["2", "1", "64"])

    def test_merged_lists_can_be_merged(self):
        self.merge("captures")
        self.put("more.csv", shapes(C))
        self.put("more.csv.counts", counts(C=100))
        self.attune("capture", "merge", "-o", "again.csv", "--counts", "calls.csv", "all.csv", "more.csv")
        self.assertEqual(self.read("again.csv"), shapes(C, B, A))
        self.assertEqual(self.read("calls.csv"), counts(C=105, B=90, A=5))

    def test_limits(self):
        self.assertIn("2 skipped", self.merge("captures", "--min-calls", "6").stdout)
        self.assertEqual(self.read("all.csv"), shapes(B))
        self.merge("captures", "--max-m", "2")
        self.assertEqual(self.read("all.csv"), shapes(B, A))

    def test_a_list_without_counts_is_merged_in_its_order(self):
        self.put("bf16_plain.csv", shapes(C, A))
        self.merge("bf16_plain.csv")
        self.assertEqual(self.read("all.csv"), shapes(C, A))
        self.assertEqual(self.read("all.csv.counts"), counts(C=0, A=0))

    def test_one_family_is_chosen(self):
        self.put("captures/a8w8_untuned_gemm.csv", "M,N,K,q_dtype_w\n1,256,512,torch.int8\n")
        self.refused("capture", "merge", "-o", "all.csv", "captures", says="--op")
        self.merge("captures", "--op", "gemm_a8w8")
        self.assertEqual(self.read("all.csv"), "M,N,K,q_dtype_w\n1,256,512,torch.int8\n")

    def test_bad_input_writes_nothing(self):
        self.refused("capture", "merge", "captures", says="--output")
        self.refused("capture", "merge", "-o", "all.csv", "nowhere", says="nowhere")
        self.refused("capture", "merge", "-o", "all.csv", says="no captured shapes")
        self.refused("capture", "merge", "-o", "all.csv", "captures", "--min-calls", "91", says="--min-calls")
        self.refused("capture", "merge", "-o", "all.csv", "captures", "--min-calls", "-1", says="--min-calls")
        self.refused("capture", "merge", "-o", "no/all.csv", "captures", says="'no'")
        self.refused("capture", "merge", "-o", "all.csv", "--counts", "./all.csv", "captures", says="the same file")
        self.refused("capture", "merge", "-o", "captures/all.csv", "captures", says="must not be one of the sources")
        self.refused("capture", "merge", "-o", "captures/../captures/bf16_untuned_gemm.csv",
                     "captures/bf16_untuned_gemm.csv", says="must not be one of the sources")
        # Whoever reads a source next would count twice.
        inside = "captures/counts/bf16_untuned_gemm.csv.all"
        for source in ("captures", "captures/bf16_untuned_gemm.csv"):
            self.refused("capture", "merge", "-o", inside, source, says=("must not be one of the sources", inside))
            for counts_file in (inside, "captures/bf16_untuned_gemm.csv.counts"):
                self.refused("capture", "merge", "-o", "all.csv", "--counts", counts_file, source,
                             says=("must not be one of the sources", counts_file))
        self.put("notes.csv", "name\nmine\n")
        self.refused("capture", "merge", "-o", "notes.csv", "captures", says="notes.csv")
        self.refused("capture", "merge", "-o", "all.csv", "--counts", "notes.csv", "captures", says="notes.csv")
        self.put("captures/bf16_untuned_gemm.csv", shapes(A, "4,5"))
        self.refused("capture", "merge", "-o", "all.csv", "captures", says="bf16_untuned_gemm.csv:3")


class Clear(Captured):
    def setUp(self):
        super().setUp()
        for path in (self.work / "captures").rglob("*.csv*"):
            path.chmod(0o600)  # As a capture writes it.

    def test_a_list_of_ones_own_is_refused_and_nothing_is_removed(self):
        def refused(says):
            self.refused("capture", "clear", "captures", says=("no capture wrote this file", *says))

        (self.work / "captures/bf16_untuned_gemm.csv").chmod(0o644)
        refused(("other users have rights to it", "captures/bf16_untuned_gemm.csv'"))
        for own in ("M,N,K\n1,2,3\n", HEADER + ",comment\n", "notes\n", "notes", HEADER + ",us\n" + A + ",1.5\n"):
            self.put("captures/bf16_untuned_gemm.csv", own).chmod(0o600)
            refused(("its header is another", "captures/bf16_untuned_gemm.csv'"))
        (self.work / "captures/bf16_untuned_gemm.csv").unlink()
        self.put("captures/counts/bf16_untuned_gemm.csv.notes", "mine\n").chmod(0o600)
        refused(("its header is another", "counts/bf16_untuned_gemm.csv.notes'"))

    def test_a_list_that_a_killed_process_left_goes(self):
        for torn in ("", "M,N,", shapes(A) + "2,24"):
            self.put("captures/bf16_untuned_gemm.csv", torn)
            self.assertIn("removed", self.attune("capture", "clear", "captures").stdout)
            self.assertFalse((self.work / "captures/bf16_untuned_gemm.csv").exists())
            (self.work / "captures/bf16_untuned_gemm.csv").touch(0o600)

    def test_what_was_captured_goes_and_nothing_else(self):
        self.put("captures/notes.csv", "mine\n")
        self.put("captures/counts/notes.csv", "mine\n")
        self.assertIn("3 files removed", self.attune("capture", "clear", "captures").stdout)
        left = sorted(str(path.relative_to(self.work)) for path in self.work.rglob("*")
                      if path.is_file() and path.suffix != ".lock")
        self.assertEqual(left, ["captures/counts/notes.csv", "captures/notes.csv"])
        self.assertIn("0 files removed", self.attune("capture", "clear", "captures").stdout)

    def test_bad_input(self):
        self.refused("capture", "clear", "nowhere", says="nowhere")
        self.refused("capture", "clear", "captures/bf16_untuned_gemm.csv", says="folder")
        self.assertIn("0 files removed", self.attune("capture", "clear").stdout)


if __name__ == "__main__":
    story.main()
