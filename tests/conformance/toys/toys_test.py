# SPDX-License-Identifier: MIT
"""Ops and a device that this build does not have, opened as modules: tuned, verified, served from C, captured, explained,
checked."""
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import story

TOYS = os.environ["ATTUNE_TOYS"]
LIBRARY = os.environ["ATTUNE_LIBRARY"]
HERE = Path(__file__).parent
CPU = ("--devices", "cpu:0", "--quiet-wait", "0", "--seed", "1")
# The kernels take microseconds on a machine that others use: that they are correct is asked here, not how fast they are.
AT_ANY_SPEED = ("--slower-than", "1e6", "--max-slowdown", "1e6", "--quiet-wait", "0")
SHAPES = {
    "toy_scaled": ("M,N,K,packed\n4,48,64,0\n16,48,64,1\n", "toy_scaled m=4 n=48 k=64"),
    "toy_norm": ("token,dim\n8,256\n32,256\n", "toy_norm token=8 dim=256"),
}


class ToyTest(story.Story):
    def tuned(self, op):
        """Tunes the op's shapes and returns the table."""
        self.put(f"{op}_untuned.csv", SHAPES[op][0])
        self.toys("tune", "-i", f"{op}_untuned.csv", "-o", f"{op}_tuned.csv", *CPU)
        return self.work / f"{op}_tuned.csv"

    def toys(self, *arguments, env=None):
        return self.attune(*arguments, env={"ATTUNE_MODULES": TOYS, **(env or {})}).stdout

    def test_are_listed_with_their_solvers(self):
        self.assertRegex(self.toys("list", "ops"), r"toy_norm +toy_norm_tuned\.csv +tunable")
        self.assertRegex(self.toys("list", "solvers"), r"toy_scaled\.loops")
        self.assertNotIn("toy", self.attune("list", "ops").stdout)
        said = self.attune("list", "solvers", env={"ATTUNE_MODULES": TOYS}).stderr
        self.assertRegex(said, "note: only op and device modules found in '.*': of this build's own ops only slow portable loops")
        self.assertNotIn("no solver modules", said)

    def test_are_tuned_explained_and_checked(self):
        for op, (_, problem) in SHAPES.items():
            with self.subTest(op):
                table = self.tuned(op)
                rows = self.rows(table.name)
                self.assertEqual(len(rows), 2, rows)
                self.assertTrue(all(row["kernelName"].startswith(f"{op}.loops@1:") for row in rows), rows)
                self.assertRegex(self.toys("explain", problem, "--table", table.name), r"exact")
                self.assertRegex(self.toys("check", table.name, *CPU[:2], *AT_ANY_SPEED), r"2 rows: 2 ok")

    def test_a_row_serves_other_numbers_of_the_familys_rows(self):
        self.tuned("toy_norm")
        found = json.loads(self.toys("explain", "toy_norm token=7 dim=256", "--table", "toy_norm_tuned.csv", "--json"))
        self.assertEqual(found["match"], "padded_coarse")
        self.assertEqual([step["key"] for step in found["steps"]], [f"toy_norm token={rows} dim=256" for rows in (7, 16, 8)])
        self.assertIn("near", self.toys("explain", "toy_norm token=500 dim=256", "--table", "toy_norm_tuned.csv"))

    def test_a_pipeline_tunes_each_family_and_one_whose_table_is_wrong_stops_no_other(self):
        for op, (shapes, _) in SHAPES.items():
            self.put(f"configs/{op}_untuned.csv", shapes)
        run = ("ci", "run", "--config-dir", "configs", "--arguments")
        env = {"ATTUNE_MODULES": TOYS}
        # A flag that one family lacks, and an unknown name, are refused before anything runs.
        self.refused(*run, " ".join(CPU) + " --packed 1", says=("for toy_norm", "packed"), env=env)
        self.refused(*run, " ".join(CPU), "--shapes", "toy_scaled,toy_x", says=("toy_norm", "'toy_x'"), env=env)
        self.put("configs/toy_norm_tuned.csv", "gfx,cu_num\0\n")
        result = self.attune(*run, " ".join(CPU), status=1, env=env)
        families = {one["family"]: one for one in json.loads(self.read("ci-results/results.json"))["families"]}
        self.assertEqual(set(families), set(SHAPES), str(result))
        self.assertIn("configs/toy_norm_tuned.csv:1", families["toy_norm"]["failure"])
        scaled = families["toy_scaled"]
        self.assertEqual((scaled["done"], scaled["failure"], scaled["rows"]["added"], len(scaled["shapes"])), (True, "", 2, 2))
        self.assertEqual(self.read("ci-results/configs/toy_scaled_tuned.csv"), self.read("configs/toy_scaled_tuned.csv"))
        self.assertIn("toy_norm_tuned.csv:1", result.stdout)

    def test_one_size_is_named_by_flags_of_the_schema(self):
        found = json.loads(self.toys("tune", "--op", "toy_norm", "--token", "8", "--dim", "64", "--json", *CPU))
        self.assertEqual(found["results"][0]["problem"], "toy_norm token=8 dim=64")
        found = json.loads(self.toys("tune", "--op", "toy_scaled", "-m", "4", "-n", "16", "-k", "16", "--packed", "--json", *CPU))
        self.assertEqual(found["results"][0]["problem"], "toy_scaled m=4 n=16 k=16 packed=1")
        found = json.loads(self.toys("tune", "toy_norm token=8 dim=80", "--json", *CPU))
        self.assertEqual(found["results"][0]["problem"], "toy_norm token=8 dim=80")
        flags = sum((flag["names"] for flag in json.loads(self.toys("tune", "--list-flags"))), [])
        self.assertTrue({"--token", "--dim", "--packed", "-m", "--act"} <= {*flags}, flags)
        self.assertNotIn("--token", self.attune("tune", "--list-flags").stdout)

    def test_flags_that_are_not_of_the_op_are_refused(self):
        for arguments, sentence in (
                (("--token", "8"), "--token has no meaning for the family gemm_a16w16, omit it, or name an op that has it with --op: toy_norm"),
                (("--op", "toy_norm", "--token", "8"), "one size needs all of --token and --dim"),
                (("toy_norm token=8",), "one size needs all of --token and --dim"),
                (("toy_norm token=8 dim=8x",), "dim expects a whole number, got '8x'"),
                (("toy_norm token=8 width=8",), "width has no meaning for the family toy_norm, omit it"),
                (("toy_x token=8",), "unknown family, see `attune list ops`: 'toy_x'"),
                (("untuned.csv",), "a problem starts with the name of an op, as in 'gemm_a16w16 m=1 n=2 k=3', got 'untuned.csv'"),
                (("toy_norm token=8 dim=8", "--op", "toy_norm"),
                 "--op cannot be combined with a problem, which names its op: 'toy_norm token=8 dim=8'"),
                (("toy_norm token=8 dim=8", "--dim", "8"),
                 "--dim cannot be combined with a problem that states dim: 'toy_norm token=8 dim=8'"),
                (("--op", "toy_norm", "--token", "8", "--dim", "8", "--act", "gelu"),
                 "--act has no meaning for the family toy_norm, omit it, or name an op that has it with --op: gemm_a16w16"),
                (("--op", "toy_norm", "--token", "8", "--dim", "8", "--max-m", "4"),
                 "--max-m cannot be combined with --token: it skips shapes of a file"),
                (("--op", "toy_norm", "--token", "8x"), "--token: expected a whole number, got '8x'; see attune tune --help"),
                (("-i", "untuned.csv", "-o", "t.csv", "--token", "8"),
                 "give one of -i, --gemm_size_file, --model_dir and the sizes of one problem, such as -m -n -k")):
            with self.subTest(arguments):
                result = self.attune("tune", *arguments, *CPU, status=2, env={"ATTUNE_MODULES": TOYS})
                self.assertTrue(result.stderr.endswith(f"attune: {sentence}\n"), result.stderr)

    def test_a_models_layers_are_the_problems_of_an_op_that_computes_their_format(self):
        int4 = {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}}
        self.put("model/config.json", json.dumps({
            "model_type": "llama", "torch_dtype": "bfloat16", "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
            "num_key_value_heads": 2, "vocab_size": 128,
            "quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": int4}}}))
        command = ("shapes", "--model_dir", "model", "--nsets", "1,8", "--json")
        found = {one["name"]: one for one in json.loads(self.toys(*command))["products"]}
        self.assertEqual({name: one["family"] for name, one in found.items()},
                         {"qkv": "toy_scaled", "o_proj": "toy_scaled", "gate_up": "toy_scaled", "down": "toy_scaled", "lm_head": "gemm_a16w16"})
        self.assertEqual(found["down"]["problems"], ["toy_scaled m=1 n=64 k=96", "toy_scaled m=8 n=64 k=96"])
        self.refused(*command, says=("quantization_config", "only tables of experts support", "qkv"))

    def test_a_report_classes_shapes_by_the_rows_of_their_op(self):
        self.tuned("toy_norm")
        self.toys("report", "-o", "known.html")
        for label in ("token 2 – 16", "token 17 – 128"):
            self.assertIn(label, self.read("known.html"))
        self.attune("report", "-o", "unknown.html")
        self.assertNotIn("token 2 – 16", self.read("unknown.html"))

    def test_the_limited_rows_are_those_of_the_family(self):
        self.put("toy_norm_untuned.csv", SHAPES["toy_norm"][0])
        self.toys("tune", "-i", "toy_norm_untuned.csv", "-o", "t.csv", "--max-m", "8", *CPU)
        self.assertEqual([row["token"] for row in self.rows("t.csv")], ["8"])

    def test_serve_an_application_and_are_captured(self):
        table = self.tuned("toy_norm")
        captures = self.work / "captures"
        environment = self.environment(
            ATTUNE_MODULES=TOYS, ATTUNE_CONFIG_TOY_NORM=str(table), ATTUNE_TUNE_GEMM="1", ATTUNE_CAPTURE_DIR=str(captures))
        done = subprocess.run([sys.executable, "-B", HERE / "application.py", LIBRARY, SHAPES["toy_norm"][1]],
                              env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), ["exact", "1.0"] + 3 * ["invalid_input"])
        self.assertEqual((captures / "toy_norm_untuned.csv").read_text().split(), ["token,dim", "8,256"])

    def test_a_module_that_others_may_write_is_excluded(self):
        folder = self.work / "modules"
        folder.mkdir()
        module = folder / "attune_op_toy_norm.so"
        module.write_bytes((Path(TOYS) / module.name).read_bytes())
        module.chmod(0o666)
        environment = {"ATTUNE_MODULES": str(folder)}
        listed = self.attune("list", "ops", env=environment)
        self.assertNotIn("toy_norm", listed.stdout)
        self.assertRegex(listed.stderr, "note: an op or device module is excluded, .*attune_op_toy_norm", "why it is not listed is said")
        self.assertRegex(self.attune("list", "solvers", env=environment).stderr, "an op or device module is excluded, .*attune_op_toy_norm")
        module.chmod(0o755)
        module.write_bytes(b"not a library")
        self.assertRegex(self.attune("list", "solvers", env=environment).stderr, "an op or device module is excluded, .*attune_op_toy_norm")

    def test_files_that_are_no_modules_are_excluded_and_the_others_stay(self):
        folder = self.work / "modules"
        folder.mkdir()
        good = (Path(TOYS) / "attune_op_toy_norm.so").read_bytes()
        for name in ("attune_op_toy_norm.so", "attune_op_again.so", "attune_solver_blis.so"):
            (folder / name).write_bytes(good)
            (folder / name).chmod(0o755)
        os.mkfifo(folder / "attune_op_fifo.so")
        os.mkfifo(folder / "attune_solver_openblas.so")
        (folder / "attune_op_folder.so").mkdir()
        result = self.attune("list", "solvers", env={"ATTUNE_MODULES": str(folder)})
        self.assertRegex(result.stdout, r"toy_norm\.loops")
        self.assertRegex(result.stdout, r"blis\.gemm .*UNAVAILABLE: the module registers a solver that the build does not name: .*blis\.so")
        self.assertRegex(result.stdout, r"openblas\.gemm .*UNAVAILABLE: not a regular file")
        for why in ("not a regular file: .*fifo", "not a regular file: .*folder", "an op of this name is there already"):
            self.assertRegex(result.stderr, why)

    def test_a_device_of_others_is_tuned_checked_and_explained(self):
        header = "M,N,K,bias,dtype,outdtype,scaleAB\n"
        self.put("untuned.csv", header + "8,32,64,False,fp32,fp32,False\n16,32,64,False,bf16,bf16,False\n")
        both = ("--op", "gemm_a16w16", "--quiet-wait", "0", "--seed", "1")
        self.assertRegex(self.toys("list", "devices"), r"toy:1 +toy_1 +8 units")
        self.toys("tune", "-i", "untuned.csv", "-o", "tuned.csv", "--devices", "toy:0", *both)
        names = [row["kernelName"] for row in self.rows("tuned.csv")]
        self.assertEqual(names, 2 * ["toy_accelerator.gemm@1:fault=0;tile=4"])
        self.assertRegex(self.toys("check", "tuned.csv", "--devices", "toy:0"), r"2 rows: 2 ok")
        problem = "gemm_a16w16 m=8 n=32 k=64 dtype=fp32"
        self.assertRegex(self.toys("explain", problem, "--table", "tuned.csv", "--devices", "toy:0"), r"lookup in .*exact")
        timed = json.loads(self.toys("bench", problem, "--devices", "toy:0", "--quiet-wait", "0", "--iters", "3", "--json"))
        self.assertEqual({one["timing"] for one in timed["candidates"]}, {"graph"}, "its streams capture")
        self.toys("tune", "-i", "untuned.csv", "-o", "two.csv", "--devices", "toy:0,toy:1", "--journal", "two.db", *both,
                  env={"ATTUNE_TOY_LOG": str(self.work / "opened")})
        self.assertEqual({*(self.work / "opened").read_text().splitlines()}, {"toy:0 of 0", "toy:0 of 1"},
                         "each worker sees its own device alone, as the first")
        self.assertEqual([row["kernelName"] for row in self.rows("two.csv")], names)
        shown = self.toys("journal", "show", "--json", "--journal", "two.db").splitlines()
        self.assertLessEqual({json.loads(line)["device_id"] for line in shown}, {"toy:0", "toy:1"})

    def test_a_device_of_others_has_a_compiler_of_its_own(self):
        self.put("untuned.csv", "M,N,K,bias,dtype,outdtype,scaleAB\n8,32,64,False,fp16,fp16,False\n")
        cache = {"ATTUNE_CACHE": str(self.work / "kernels")}
        self.toys("tune", "-i", "untuned.csv", "-o", "tuned.csv", "--op", "gemm_a16w16", "--devices", "toy:0", "--quiet-wait", "0",
                  "--journal", "toy.db", env=cache)
        self.assertEqual([row["kernelName"] for row in self.rows("tuned.csv")], ["toy_assembled.gemm@1:tile=8"])
        self.assertRegex(self.toys("check", "tuned.csv", "--devices", "toy:0", env=cache), r"1 row: 1 ok")
        records = [entry for kind, entry in self.journal(self.work / "toy.db") if kind == "record"]
        failed = {one["candidate"]["config"]: one["outcome"]["detail"] for one in records if one["outcome"]["status"] == "compile_failed"}
        self.assertEqual(list(failed), ["tile=12"])
        self.assertIn("a tile is a power of two: 'tile 12'", failed["tile=12"])
        listed = self.toys("kernels", "list", env=cache)
        self.assertEqual(len(re.findall("toyas-1", listed)), 2, listed)

    def test_an_application_has_a_row_compiled_by_a_library_in_the_programs_helpers(self):
        table = self.put("tuned.csv", "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,us,kernelName\n"
                                      "toy_1,8,8,32,64,False,fp16,fp16,False,5,toy_assembled.gemm@1:tile=8\n")

        def call(program, cache):
            environment = self.environment(ATTUNE_MODULES=TOYS, ATTUNE_CONFIG_GEMM_BF16=str(table), ATTUNE_DEVICE="toy:0", ATTUNE_BUILD="blocking",
                                           ATTUNE_CACHE=str(self.work / cache), ATTUNE_PROGRAM=program)
            return subprocess.run([sys.executable, "-B", HERE / "compiled_application.py", LIBRARY, "gemm_a16w16 m=8 n=32 k=64 dtype=fp16"],
                                  env=environment, capture_output=True, text=True, timeout=100)
        done = call(os.environ["ATTUNE_BIN"], "kernels")
        self.assertEqual(done.stdout.split(), ["exact", "0"], done.stderr)
        self.assertRegex(self.toys("kernels", "list", env={"ATTUNE_CACHE": str(self.work / "kernels")}), "toyas-1")
        done = call("/nowhere/attune", "none")
        self.assertEqual(done.stdout.split(), ["fallback", "0"], done.stderr)
        self.assertIn("the attune program, whose helpers compile, was not found, set ATTUNE_PROGRAM: toyas", done.stderr)

    def test_who_changes_shared_operands_or_breaks_the_device_is_quarantined_and_nobody_else(self):
        # Its memory has no protection: changed operands are found by their hash.
        self.put("untuned.csv", "M,N,K,bias,dtype,outdtype,scaleAB\n4,13,24,False,fp32,fp32,False\n")
        self.toys("tune", "-i", "untuned.csv", "-o", "tuned.csv", "--op", "gemm_a16w16", "--devices", "toy:0", "--quiet-wait", "0")
        self.assertEqual([row["kernelName"] for row in self.rows("tuned.csv")], ["toy_accelerator.gemm@1:fault=0;tile=4"])
        listed = self.toys("quarantine", "list")
        for fault in (1, 3):
            self.assertEqual(len(re.findall(rf"fault={fault};tile=.\n +crashed: .*the operands that all candidates are verified and timed with were changed", listed)), 3, listed)
        self.assertEqual(len(re.findall(r"fault=2;tile=.\n +crashed: .*toy:0 stopped working: toy:0: illegal address", listed)), 3)
        self.assertNotIn("fault=0", listed)

    def test_a_device_that_is_lost_leaves_its_shapes_to_the_other_and_is_named(self):
        shapes = [(m, n) for m in range(4, 16) for n in (16, 32, 48)]
        self.put("untuned.csv", "M,N,K,bias,dtype,outdtype,scaleAB\n" + "".join(f"{m},{n},24,False,fp32,fp32,False\n" for m, n in shapes))
        broken = self.work / "broken"

        def break_one():
            end = time.monotonic() + 60
            while "toy:0" not in self.deciding_devices() and time.monotonic() < end:
                time.sleep(0.05)
            (self.work / "broken.0").touch()

        breaking = threading.Thread(target=break_one)
        breaking.start()
        env = {"ATTUNE_MODULES": TOYS, "ATTUNE_TOY_BROKEN": str(broken)}
        result = self.attune("tune", "-i", "untuned.csv", "-o", "tuned.csv", "--op", "gemm_a16w16", "--devices", "toy:0,toy:1", "--quiet-wait", "0",
                             "--json", "--journal", "toy.db", env=env)
        breaking.join()
        self.assertRegex(result.stderr, r"note: toy:0 was lost, the other devices take its shapes: .*it fails its probe")
        found = json.loads(result.stdout)
        self.assertEqual(list(found["lost_devices"]), ["toy:0"])
        self.assertEqual({one["ending"] for one in found["results"]}, {"decided"})
        self.assertEqual(len(self.rows("tuned.csv")), len(shapes))
        self.assertEqual(self.toys("quarantine", "list").count("crashed"), 0, "no candidate is to blame")
        self.assertEqual(self.deciding_devices(), {"toy:0", "toy:1"}, "both worked")

    def deciding_devices(self):
        if not (self.work / "toy.db").exists():
            return set()
        return {entry["device_id"] for kind, entry in self.journal(self.work / "toy.db") if kind == "decision"}

    def test_a_device_that_does_not_work_is_refused_with_the_list_of_the_others(self):
        self.put("untuned.csv", "M,N,K,bias,dtype,outdtype,scaleAB\n8,32,64,False,fp32,fp32,False\n")
        (self.work / "broken.1").touch()
        result = self.attune("tune", "-i", "untuned.csv", "-o", "t.csv", "--devices", "toy:0,toy:1", status=3,
                             env={"ATTUNE_MODULES": TOYS, "ATTUNE_TOY_BROKEN": str(self.work / "broken")})
        self.assertIn("attune: toy:1 does not work: it fails its probe; without it: --devices toy:0\n", result.stderr)

    def test_nothing_outside_their_folders_names_them(self):
        named = re.compile(rb'toy_(scaled|norm|accelerator|assembled|[0-9])|toyas|"toy[":]|ATTUNE_TOY_(DEVICES|LOG|BROKEN)')
        files = [file for folder in ("src", "include", "python", "cmake", "tools", "configs", "ci", ".ci", "shapes")
                 for file in (story.REPOSITORY / folder).rglob("*") if file.is_file() and file.suffix != ".pyc"]
        self.assertGreater(len(files), 1000)
        for file in files + [story.REPOSITORY / "CMakeLists.txt", story.REPOSITORY / "CMakePresets.json"]:
            self.assertIsNone(named.search(file.read_bytes()), file)


if __name__ == "__main__":
    story.main()
