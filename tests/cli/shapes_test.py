# SPDX-License-Identifier: MIT
"""A model's config.json in, its products out: as a table, as lists of shapes, and tuned in one call."""
import json

import story
from story import FAKE

# A model of a few kilobytes, so that tuning its products takes a fraction of a second on the fake device.
TINY = {"model_type": "llama", "torch_dtype": "float32", "hidden_size": 48, "intermediate_size": 40,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100}
EXPERTS = TINY | {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
BLOCKS = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
# meta-llama/Llama-3.1-70B
LLAMA = {"model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 8192, "intermediate_size": 28672,
         "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256}
HEADER = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n"

# what config.json holds, what the sentence holds
CONFIGS = [
    ("", ("config.json", "not JSON")),
    ("hello", ("config.json", "not JSON")),
    (bytes(range(256)) * 64, ("config.json", "not JSON")),
    ("[]", ("config.json", "one object")),
    ("{}", ("config.json", "'hidden_size' is missing")),
    (json.dumps(TINY | {"num_attention_heads": "4"}), ("'num_attention_heads'", "got '4'")),
    (json.dumps(TINY | {"hidden_size": [48]}), ("'hidden_size'", "a list")),
    (json.dumps(TINY | {"hidden_size": -48}), ("'hidden_size'", "-48")),
    (json.dumps(TINY | {"vocab_size": 1 << 64}), ("'vocab_size'", "1.8446744")),
    (json.dumps(TINY | {"intermediate_size": 10 ** 400}), ("config.json",)),
    (json.dumps(TINY | {"num_attention_heads": 1 << 24, "head_dim": 1 << 24}), ("too large for a table",)),
    (json.dumps(TINY | {"text_config": "no"}), ("'text_config' expects an object",)),
    (json.dumps(TINY | {"torch_dtype": "int4"}), ("'torch_dtype'", "int4")),
    (json.dumps(TINY | {"model_type": "gpt2"}), ("'model_type'", "gpt2")),
    (json.dumps(TINY | {"quantization_config": {"quant_method": "awq"}}), ("quant_method", "awq")),
    ("[" * 1000000, ("config.json", "nested deeper")),
    ('{"a":' * 1000000, ("config.json", "nested deeper")),
]

ARGUMENTS = [
    ("", "--model_dir DIR"),
    ("--model_dir nowhere", "nowhere/config.json"),
    ("--model_dir tiny --tp 3", ("'num_attention_heads'", "--tp 3")),
    ("--model_dir tiny --tp 0", "--tp"),
    ("--model_dir tiny --tp -2", "-2"),
    ("--model_dir tiny --tp two", "two"),
    ("--model_dir tiny --tp 9223372036854775808", "9223372036854775808"),
    ("--model_dir tiny --nsets 1,,2", "--nsets"),
    ("--model_dir tiny --nsets 0", "--nsets"),
    ("--model_dir tiny --nsets 1,-512", "-512"),
    ("--model_dir tiny --nsets 2147483648", "2147483648"),
    ("--model_dir tiny --sequences none", "--sequences"),
    ("--model_dir tiny --dtype fp12", "fp12"),
    ("--model_dir tiny --dtype int8", "quantization_config"),
    ("--model_dir tiny --op nope", "nope"),
    ("--model_dir tiny --op fmoe", "no products of the family fmoe"),
    ("--model_dir tiny -o no/such/list.csv", "no/such"),
    ("--model_dir tiny -o tuned.csv", ("is not a list of shapes", "tuned.csv")),
    ("--model_dir experts -o list.csv", ("gemm_a16w16, fmoe", "--op")),
    ("--model_dir experts -o tuned.csv", "tuned.csv"),
    ("--model_dir experts -o no/such", "no/such"),
]


class ShapesStory(story.Story):
    def model(self, name, config):
        content = config if isinstance(config, (str, bytes)) else json.dumps(config)
        self.put(f"{name}/config.json", content)
        return ("--model_dir", name)

    def shapes(self, *arguments, **how):
        return self.attune("shapes", *arguments, **how)


class Shapes(ShapesStory):
    def test_a_dense_model_has_five_products(self):
        lines = self.shapes(*self.model("llama", LLAMA), "--tp", "8", "--nsets", "1,512").stdout.splitlines()
        self.assertEqual([line.split() for line in lines[1:]], [
            ["qkv", "gemm_a16w16", "1280", "8192", "bf16", "1,512"], ["o_proj", "gemm_a16w16", "8192", "1024", "bf16", "1,512"],
            ["gate_up", "gemm_a16w16", "7168", "8192", "bf16", "1,512"], ["down", "gemm_a16w16", "8192", "3584", "bf16", "1,512"],
            ["lm_head", "gemm_a16w16", "16032", "8192", "bf16", "1"]])

    def test_json_has_the_keys_of_the_problems(self):
        found = self.shapes(*self.model("llama", LLAMA), "--tp", "8", "--nsets", "7", "--json").json
        self.assertEqual(found["products"][0], {
            "name": "qkv", "family": "gemm_a16w16", "n": 1280, "k": 8192,
            "problems": ["gemm_a16w16 m=7 n=1280 k=8192 dtype=bf16 outdtype=bf16 bias=0"]})
        self.assertEqual((found["notices"], found["files"]), ([], []))

    def test_without_nsets_the_rows_are_the_older_tuners(self):
        found = self.shapes(*self.model("llama", LLAMA), "--json").json["products"][0]["problems"]
        self.assertEqual([key.split()[1] for key in found],
                         ["m=1", "m=512", "m=1024", "m=2048", "m=3072", "m=4096", "m=8192", "m=16384"])

    def test_the_heads_rows_are_sequences(self):
        found = self.shapes(*self.model("tiny", TINY), "--nsets", "1", "--sequences", "1,64", "--json").json["products"]
        self.assertEqual([len(product["problems"]) for product in found], [1, 1, 1, 1, 2])

    def test_the_type_can_be_set_and_is_said_when_nobody_sets_it(self):
        silent = self.model("silent", {name: value for name, value in TINY.items() if name != "torch_dtype"})
        self.assertIn("no torch_dtype, using bf16", self.shapes(*silent).stderr)
        result = self.shapes(*silent, "--dtype", "fp16", "--nsets", "1")
        self.assertEqual(result.stderr, "")
        self.assertIn("fp16", result.stdout)


class Lists(ShapesStory):
    def test_one_family_is_one_file_that_tune_reads(self):
        self.shapes(*self.model("tiny", TINY), "--nsets", "1,2", "-o", "list.csv")
        self.assertTrue(self.read("list.csv").startswith(
            HEADER + "1,96,48,False,torch.float32,torch.float32,False,False\n2,96,48,"))
        self.assertEqual(len(self.rows("list.csv")), 9)
        self.tune("-i", "list.csv", "-o", "tuned.csv", "--max-trials", "2")
        self.assertEqual([(r["M"], r["N"], r["K"]) for r in self.rows("tuned.csv")],
                         [(r["M"], r["N"], r["K"]) for r in self.rows("list.csv")])

    def test_several_families_are_a_folder_of_their_default_names(self):
        model = self.model("experts", EXPERTS | BLOCKS)
        for folder in ("lists", "lists", "."):  # new, there already, the current one
            result = self.shapes(*model, "--nsets", "1,2", "-o", folder)
            self.assertIn("2 shapes of fmoe in", result.stdout)
        self.assertEqual(self.read("lists/a8w8_blockscale_untuned_gemm.csv"), "M,N,K\n1,96,48\n2,96,48\n1,48,48\n2,48,48\n")
        self.assertEqual([r["N"] for r in self.rows("lists/bf16_untuned_gemm.csv")], ["8", "8", "128"])
        self.assertEqual(self.read("lists/untuned_fmoe.csv").splitlines()[1],
                         "1,48,16,8,2,ActivationType.Silu,torch.float32,torch.float8_e4m3fn,torch.float8_e4m3fn,"
                         "QuantType.per_1x128,1,0")

    def test_op_chooses_the_family_of_a_file(self):
        self.shapes(*self.model("experts", EXPERTS), "--op", "fmoe", "--nsets", "3", "-o", "list.csv")
        self.assertEqual([r["token"] for r in self.rows("list.csv")], ["3"])

    def test_a_list_is_replaced(self):
        model = self.model("tiny", TINY)
        self.shapes(*model, "--nsets", "1,2", "-o", "list.csv")
        self.shapes(*model, "--nsets", "1", "--untune_file", "list.csv")
        self.assertEqual(len(self.rows("list.csv")), 5)


class TuneAModel(ShapesStory):
    def test_shapes_and_tuning_in_one_call(self):
        self.tune(*self.model("tiny", TINY), "--tp", "2", "--nsets", "1,2", "-o", "t.csv", "--max-trials", "2")
        self.assertEqual([(r["M"], r["N"], r["K"]) for r in self.rows("t.csv")],
                         [("1", "48", "48"), ("2", "48", "48"), ("1", "48", "24"), ("2", "48", "24"), ("1", "40", "48"),
                          ("2", "40", "48"), ("1", "48", "20"), ("2", "48", "20"), ("1", "64", "48")])
        self.assertEqual({r["dtype"] for r in self.rows("t.csv")}, {"torch.float32"})

    def test_max_m_and_dtype_hold_as_for_a_file(self):
        result = self.tune(*self.model("tiny", TINY), "--nsets", "1,64", "--max-m", "8", "--dtype", "fp16",
                           "-o", "t.csv", "--max-trials", "2")
        self.assertIn("4 shapes with more than 8 rows skipped", result.stderr)
        self.assertEqual({(r["M"], r["dtype"]) for r in self.rows("t.csv")}, {("1", "torch.float16")})

    def test_families_that_cannot_be_tuned_are_reported_and_skipped(self):
        result = self.tune(*self.model("experts", EXPERTS), "--nsets", "1", "-o", "t.csv", "--max-trials", "2")
        self.assertIn("this version cannot tune these families and skips them: fmoe (1 shape)", result.stderr)
        self.assertEqual([r["N"] for r in self.rows("t.csv")], ["96", "48", "8", "128"])
        self.refused("tune", *self.model("experts", EXPERTS), "--op", "fmoe", "-o", "u.csv", *FAKE,
                     says="this version cannot tune the products of the model: fmoe")

    def test_flags_that_contradict_it_are_refused(self):
        model = self.model("tiny", TINY)
        self.put("shapes.csv", story.SHAPES)
        for arguments, says in ((("-i", "shapes.csv", "-o", "t.csv"), "give one of -i"),
                                (("-m", "1", "-n", "1", "-k", "1"), "give one of -i"), (("--bias", "-o", "t.csv"), "--bias"),
                                (("--trans_b", "0", "-o", "t.csv"), "--trans_b"),
                                (("--act", "gelu", "-o", "t.csv"), "--act cannot be combined with --model_dir"),
                                (("--op", "gemm_a8w8", "-o", "t.csv"), "no products of the family"),
                                (("--tp", "3", "-o", "t.csv"), "'num_attention_heads'")):
            with self.subTest(arguments):
                self.refused("tune", *model, *arguments, *FAKE, says=says)
        for arguments in (("--tp", "2"), ("--nsets", "1,512"), ("--sequences", "2")):
            self.refused("tune", "-i", "shapes.csv", "-o", "t.csv", *arguments, *FAKE, says=(arguments[0], "--model_dir"))


class BadInput(ShapesStory):
    def test_each_config_gets_its_sentence(self):
        for content, says in CONFIGS:
            with self.subTest(content=content[:40]):
                model = self.model("bad", content)
                self.refused("shapes", *model, "-o", "list.csv", says=says)
                result = self.refused("tune", *model, "-o", "t.csv", *FAKE, says=says)
                self.assertLess(len(result.stderr), 600)

    def test_each_argument_gets_its_sentence(self):
        self.model("tiny", TINY)
        self.model("experts", EXPERTS)
        self.put("tuned.csv", "M,N,K,us\n1,2,3,4.0\n")
        for arguments, says in ARGUMENTS:
            with self.subTest(arguments):
                self.refused("shapes", *arguments.split(), says=says)

    def test_a_folder_is_written_whole_or_not_at_all(self):
        self.model("experts", EXPERTS)
        self.put("lists/untuned_fmoe.csv", "M,N,K,us\n1,2,3,4.0\n")
        self.refused("shapes", "--model_dir", "experts", "-o", "lists", says="untuned_fmoe.csv")

    def test_a_gibibyte_is_refused_quickly_and_in_little_memory(self):
        for start in (b"[" * (1 << 20), b'{"hidden_size": '):
            file = self.put("big/config.json", start)
            with open(file, "r+b") as opened:
                opened.truncate(1 << 30)
            result = self.refused("shapes", "--model_dir", "big", says="big/config.json")
            self.assertLess(result.max_rss_kib, 128 << 10)

    def test_the_widest_nest_within_the_bound_stays_small(self):
        model = self.model("wide", "[" + "[]," * 2000000 + "[]]")
        result = self.refused("shapes", *model, says="one object")
        self.assertLess(result.max_rss_kib, 512 << 10)


if __name__ == "__main__":
    story.main()
