# SPDX-License-Identifier: MIT
"""Every flag of the older tuners is accepted with its meaning or refused with a sentence; none is ignored."""
import story
from story import SHAPES

SIZE = ("-m", "1", "-n", "16", "-k", "16", "--dtype", "fp32")

# Flags with what they are added to; accepted ones must do their work, which other stories look at.
ACCEPTED = [
    ("-i shapes.csv -o t.csv", ""),
    ("--untune_file shapes.csv --tune_file t.csv", ""),
    ("--input_file shapes.csv --tuned_file t.csv", ""),
    ("--untune_file=shapes.csv --tune_file=t.csv", ""),
    ("-i shapes.csv -o t.csv", "-o2 p.csv"),
    ("-i shapes.csv -o t.csv", "-o2=p.csv"),
    ("-i shapes.csv -o t.csv", "--profile_file p.csv"),
    ("-i shapes.csv -o t.csv", "--splitK"),
    ("-i shapes.csv -o t.csv", "--no-splitK"),
    ("-i shapes.csv -o t.csv", "--shape_grouped"),
    ("-i shapes.csv -o t.csv", "--mp 1"),
    ("-i shapes.csv -o t.csv", "--batch 1"),
    ("-i shapes.csv -o t.csv", "--warmup 5 --iters 101"),
    ("-i shapes.csv -o t.csv", "--timeout 60s"),
    ("-i shapes.csv -o t.csv", "--timeout 60"),
    ("-i shapes.csv -o t.csv", "--errRatio 0.05"),
    ("-i shapes.csv -o t.csv", "--sort"),
    ("-i shapes.csv -o t.csv", "--all"),
    ("-i shapes.csv -o t.csv", "--compare"),
    ("-i shapes.csv -o t.csv", "--update_improved --min_improvement_pct 3.0"),
    ("-i shapes.csv -o t.csv", "--libtype all"),
    ("-i shapes.csv -o t.csv", "--libtype fake,portable"),
    ("-i shapes.csv -o t.csv", "-v"),
    ("-i shapes.csv -o t.csv", "--verbose"),
    ("-i shapes.csv -o t.csv", "--time_breakdown"),
    ("-i shapes.csv -o t.csv", "--dtype bf16 --outdtype fp32"),
    ("-i shapes.csv -o t.csv", "--indtype fp16"),
    ("-i shapes.csv -o t.csv", "--isolation none"),
    ("-i shapes.csv -o t.csv", "--isolation process"),
    ("-i shapes.csv -o t.csv", "--compile-jobs 1"),
    ("-i shapes.csv -o t.csv", "--num_threads 4"),
    ("-i shapes.csv -o t.csv", "--jobs 4"),
    ("-i shapes.csv -o t.csv", "--cache kernels"),
    ("-i shapes.csv -o t.csv", "--candidate-timeout 5"),
    ("--gemm_size_file sizes.yaml --tuning_results_file out.yaml", ""),
    ("--gemm_size_file sizes.yaml --o out.yaml", ""),
    ("--gemm_size_file sizes.yaml --o=out.yaml", "--compare"),
    ("--gemm_size_file sizes.yaml --o out.yaml", "-dtype_a fp16 -dtype_b fp16 -dtype_c fp16"),
    ("--gemm_size_file sizes.yaml --o out.yaml", "--init_type randn"),
    ("-m 1 -n 16 -k 16", "--init_type hpl"),
    ("-m 1 -n 16 -k 16", "--init_type trig_float"),
    ("-m 1 -n 16 -k 16", "--init_type zeros"),
    ("-m 1 -n 16 -k 16", "--dtype fp32"),
    ("-m 1 -n 16 -k 16", "-dtype_a fp32 -dtype_c fp32"),
    ("-m 1 -n 16 -k 16", "-col_a -col_b"),
    ("-m 1 -n 16 -k 16", "--bias_vector"),
    ("-m 1 -n 16 -k 16", "--trans_a"),
]

REFUSED = [
    ("--ngpus 2", "--ngpus cannot be combined with --devices: both name devices"),
    ("--gpu_ids 0,1", "--gpu_ids cannot be combined with --devices: both name devices"),
    ("--stop-at-regret 1%", "--budget"),
    ("--rotating_tensor 512", "--inputs"),
    ("--icache_flush", "untimed launch"),
    ("--no_warmup", "--search exhaustive"),
    ("--benchmark", "--gemm_size_file"),
    ("--isolation thread", "--isolation"),
    ("--init_type ones", "randn"),
    ("--init_type zeros --require deterministic", "N(0,1)"),
    ("-dtype_a fp16 -dtype_b bf16", "dtype"),
    ("--devices fake:0,cpu:0", "--devices cpu:0,cpu:1"),
    ("--devices fake:0,fake:1 --isolation none", "--isolation none"),
    ("--libtype hipblaslt", "--libtype expects all or some of"),
    ("--errRatio 2", "errRatio"),
    ("--batch 0", "batch"),
    ("--batch ten", "batch"),
    ("--timeout soon", "--timeout"),
    ("--budget -3s", "--budget"),
    ("--search annealing", "search"),
    ("--min-gain 101", "min-gain"),
    ("--iters 0", "iters"),
    ("--max-m 0", "max-m"),
]


class OldSpellings(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", "M,N,K\n1,8,8\n")
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")

    def test_accepted_with_their_meaning(self):
        for what, flag in ACCEPTED:
            with self.subTest(f"{what} {flag}"):
                self.tune(*what.split(), *flag.split())
                written = next((name for name in ("t.csv", "out.yaml") if name in what), None)
                for name in filter(None, (written, "p.csv" if "p.csv" in flag else None)):
                    self.assertGreater((self.work / name).stat().st_size, 0)
                    (self.work / name).unlink()

    def test_refused_with_a_sentence(self):
        for flag, sentence in REFUSED:
            with self.subTest(flag):
                self.refused("tune", *SIZE, "--quiet-wait", "0", *(() if "--devices" in flag else ("--devices", "fake:0")),
                             *flag.split(), says=sentence)

    def test_a_bare_k_is_explained(self):
        for arguments in (("-i", "shapes.csv", "-o", "t.csv", "-k"), ("-k", "-i", "shapes.csv", "-o", "t.csv"),
                          ("-i", "shapes.csv", "-k", "--sort", "-o", "t.csv")):
            self.refused("tune", *arguments, *story.FAKE, says=("-k is the size K", "--no-splitK"))

    def test_the_older_hip_compilers_variables_are_no_error(self):
        for name in ("GEMM_A4W4_BLOCKWISE_HIP_CLANG_PATH", "ATTUNE_HIP_CLANG_PATH"):
            self.tune(*SIZE, env={name: "/opt/nowhere"})

    def test_benchmark_times_the_entries_of_results(self):
        self.tune("--gemm_size_file", "sizes.yaml", "--o", "out.yaml", "-dtype_a", "fp32")
        lines = self.tune("--gemm_size_file", "out.yaml", "--benchmark").stdout.splitlines()
        self.assertEqual(lines[0], "trans,M,N,K,TFLOPS,us")
        self.assertRegex(lines[1], r"^TN,1,8,8,\d+\.\d\d,\d+\.\d\d$")
        self.assertEqual(len(lines), 2)
        self.assertEqual(self.tune("--gemm_size_file", "out.yaml", "--benchmark", "times.csv").stdout, "")
        self.assertEqual(self.read("times.csv").splitlines()[0], lines[0])
        self.refused("tune", "--gemm_size_file", "sizes.yaml", "--benchmark", *story.FAKE, says="sizes.yaml")
        self.refused("tune", "--gemm_size_file", "out.yaml", "--benchmark", "--json", *story.FAKE, says="--json")

    def test_run_config_is_check(self):
        self.put("shapes.csv", SHAPES)
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        self.assertIn("3 rows: 3 ok", self.tune("--run_config", "t.csv").stdout)
        self.assertIn("3 rows: 3 ok", self.tune("-o", "t.csv", "--run_config").stdout)
        self.put("t.csv", self.read("t.csv").replace("split_k=", "split=", 1))
        self.assertIn("unusable", self.tune("--run_config", "t.csv", status=1).stdout)


class NothingIsIgnored(story.Story):
    """Flags that mean nothing for what is asked."""

    CASES = [
        "-m 1 -n 8 -k 8 --max-m 4",
        "-m 1 -n 8 -k 8 -i shapes.csv",
        "-m 1 -n 8 -k 8 --gemm_size_file sizes.yaml",
        "-i shapes.csv --gemm_size_file sizes.yaml -o t.csv",
        "-i shapes.csv -o t.csv --tuning_results_file out.yaml",
        "--gemm_size_file sizes.yaml --tuning_results_file out.yaml --trans_a",
        "--gemm_size_file sizes.yaml --tuning_results_file out.yaml --op fmoe",
        "--gemm_size_file sizes.yaml --tuning_results_file out.yaml --bpreshuffle",
        "-m 1 -n 8 -k 8 --sort",
        "-m 1 -n 8 -k 8 --update_improved",
        "-i shapes.csv -o t.csv --min_improvement_pct 5",
        "--compare_wo_tuning out.yaml --all",
        "-i fmoe.csv -o t.csv --bias",
    ]

    def test_they_are_refused(self):
        self.put("shapes.csv", "M,N,K\n1,8,8\n")
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        self.put("fmoe.csv", (story.DATA / "tuned_fmoe.csv").read_bytes())
        self.put("out.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        for flags in self.CASES:
            with self.subTest(flags):
                self.refused("tune", *flags.split(), *story.FAKE)


if __name__ == "__main__":
    story.main()
