# SPDX-License-Identifier: MIT
"""A device that is not here: what `list devices --json` says of it is enough to list its candidates, to compile the
kernels of a table's rows for it, and to see which row a lookup finds there."""
import copy
import json

import story

PROBLEM = "gemm_a16w16 m=1 n=64 k=64 dtype=fp32"
AMX_PROBLEM = "gemm_a16w16 m=64 n=256 k=512 dtype=bf16"
DOT = "jit_cpu.gemm@1:kernel=dot;prefetch=0;rows=1;threads=1;unroll=1;width=1"
HEADER = ("gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
          "tflops,bw\n")


class DeviceInfo(story.Story):
    def setUp(self):
        super().setUp()
        solvers = {e["id"]: e["available"] for e in self.attune("list", "solvers", "--json").json}
        if not solvers.get("jit_cpu.gemm"):
            self.skipTest("jit_cpu.gemm is not available here")
        self.devices = self.attune("list", "devices", "--json").json
        self.here = self.devices[0]
        if not self.here["gfx"].startswith("x86-64"):
            self.skipTest("the C compiler here is not one for x86-64")

    def other(self, gfx, units=8, **more):
        """The file of another processor."""
        device = {**copy.deepcopy(self.here), "gfx": gfx, "cu_num": units, "model": "Another one", "processor": "Vendor/1/2/3"}
        device["facts"] = {"num_units": units, "l1_bytes": 32768, "l2_bytes": 262144, "l3_bytes": 8 << 20}
        return self.put("other.json", json.dumps({**device, **more})).name

    def candidates(self, problem, solver, *flags):
        listed = self.attune("list", "candidates", problem, "--json", *flags).json
        return next(e for e in listed if e["solver"] == solver)

    def table(self, gfx, units, *rows, name="bf16_tuned_gemm.csv"):
        """Each row: M, N, K, type, kernel."""
        self.put(name, HEADER + "".join(f"{gfx},{units},{m},{n},{k},False,torch.{dtype},torch.{dtype},False,False,x,-1,1,{i + 1},"
                                        f"{kernel},0,1,1\n" for i, (m, n, k, dtype, kernel) in enumerate(rows)))
        return name

    def build(self, table, cache, *flags, status=0):
        """Compiles the kernels of a table into a new cache; returns recipe, architecture and sha256 of each."""
        folder = ("--cache", str(self.work / cache))
        built = self.attune("kernels", "build", "--table", table, *folder, *flags, status=status)
        listed = self.attune("kernels", "list", "--json", *folder).json
        return built, sorted((e["recipe"], e["arch"], e["sha256"]) for e in listed)

    # -- the description ---------------------------------------------------------------------------------------------

    def test_list_devices_describes_every_fact(self):
        for device in self.devices:
            self.assertLessEqual({"id", "kind", "gfx", "cu_num", "model", "processor", "memory_bytes", "cache_bytes", "facts",
                                  "peak_gflops", "bandwidth_gbs"}, set(device))
        self.assertTrue(self.here["processor"])
        self.assertIn("num_units", self.here["facts"])

    def test_the_description_of_this_machine_gives_what_this_machine_offers(self):
        self.put("devices.json", json.dumps(self.devices))
        for device in self.devices:
            solver = "fake.gemm" if device["kind"] == "fake" else "jit_cpu.gemm"
            choice = ("--devices", device["id"])
            there = self.candidates(PROBLEM, solver, *choice, "--device-info", "devices.json")
            self.assertGreater(len(there["candidates"]), 3)
            self.assertEqual(there, self.candidates(PROBLEM, solver, *choice))

    # -- candidates --------------------------------------------------------------------------------------------------

    def test_candidates_of_a_processor_with_avx2_only(self):
        there = self.candidates(PROBLEM, "jit_cpu.gemm", "--device-info", self.other("x86-64-v3"))
        self.assertTrue(there["supported"], there)
        blocks = [story_config(name) for name in there["candidates"]]
        sums = [int(b["rows"]) * int(b["width"]) for b in blocks if b["kernel"] == "dot"]
        self.assertLess(max(sums), 16, "more sums than AVX2 has registers")
        self.assertNotIn("amx", " ".join(there["candidates"]))
        self.assertEqual({int(b["threads"]) for b in blocks} - {1, 2, 4, 8}, set())

    def test_candidates_of_a_processor_with_amx(self):
        there = self.candidates(AMX_PROBLEM, "jit_cpu.gemm", "--device-info", self.other("x86-64-v4+bf16+amx", 56))
        self.assertIn("amx", {story_config(name).get("engine") for name in there["candidates"]})
        without = self.candidates(AMX_PROBLEM, "jit_cpu.gemm", "--device-info", self.other("x86-64-v4+bf16", 56))
        self.assertNotIn("engine", " ".join(without["candidates"]))

    def test_what_rules_exclude_there_is_listed(self):
        text = self.attune("list", "candidates", PROBLEM, "--pruned", "--device-info", self.other("x86-64-v3")).stdout
        self.assertRegex(text, r"excluded by dot_registers: .*<= 16\)")

    def test_libraries_are_known_on_the_device_only(self):
        listed = self.attune("list", "candidates", PROBLEM, "--json", "--device-info", self.other("x86-64-v3")).json
        libraries = [e for e in listed if e["solver"].split(".")[0] not in ("jit_cpu", "jit_cuda", "portable", "fake", "cublas", "cublaslt", "torch")]
        for library in libraries:
            self.assertFalse(library["supported"])
        known = [e for e in libraries if "known on the device only" in e["reason"]]
        other_ops = {e["solver"] for e in libraries if e["reason"].startswith("computes ")}
        available = {e["id"] for e in self.attune("list", "solvers", "--json").json if e["available"]}
        self.assertEqual({e["solver"] for e in known}, ({e["solver"] for e in libraries} & available) - other_ops)
        self.assertTrue(known)

    def test_threads_limit_the_described_host(self):
        other = self.other("x86-64-v3")
        there = self.candidates(PROBLEM, "jit_cpu.gemm", "--device-info", other, "--threads", "2")
        self.assertEqual({story_config(name)["threads"] for name in there["candidates"]} - {"1", "2"}, set())
        self.refused("list", "candidates", PROBLEM, "--device-info", other, "--threads", "9", says=("--threads", "9, it has 8"))

    # -- kernels -----------------------------------------------------------------------------------------------------

    def test_a_kernel_built_from_this_machines_description_is_the_one_built_here(self):
        table = self.table(self.here["gfx"], self.here["cu_num"], (1, 64, 64, "float32", DOT))
        self.put("here.json", json.dumps(self.here))
        _, here = self.build(table, "here")
        _, described = self.build(table, "described", "--device-info", "here.json")
        self.assertEqual(len(here), 2)
        self.assertEqual(described, here)

    def test_kernels_are_compiled_for_another_processor(self):
        amx = next(name for name in self.candidates(AMX_PROBLEM, "jit_cpu.gemm", "--device-info", self.other("x86-64-v4+bf16+amx", 4))
                   ["candidates"] if story_config(name).get("engine") == "amx")
        for gfx, dtype, (m, n, k), kernel, arch in (("x86-64-v3", "float32", (1, 64, 64), DOT, "x86-64-v3"),
                                                    ("x86-64-v4+bf16+amx", "bfloat16", (64, 256, 512), amx, "x86-64-v4+amx")):
            with self.subTest(gfx):
                table = self.table(gfx, 4, (m, n, k, dtype, kernel))
                built, kernels = self.build(table, "cache " + gfx, "--device-info", self.other(gfx, 4))
                self.assertIn("1 of 1 row with generated kernels: 2 files", built.stdout)
                self.assertIn(arch, {one[1] for one in kernels})
                self.assertEqual(self.attune("kernels", "build", "--table", table, "--cache", self.work / "none", status=0 if
                                             self.here["gfx"] == gfx and self.here["cu_num"] == 4 else None).stdout.count("0 of 1"),
                                 0 if self.here["gfx"] == gfx and self.here["cu_num"] == 4 else 1)

    def test_rows_of_libraries_need_no_kernel_there(self):
        table = self.table("x86-64-v3", 4, (1, 64, 64, "float32", DOT), (2, 64, 64, "float32", "onednn.gemm@1+9.9:impl=x"),
                           (3, 64, 64, "float32", "jit_cpu.gemm@1:kernel=dot;prefetch=0;rows=24;threads=1;unroll=1;width=8"))
        solvers = {e["id"]: e["available"] for e in self.attune("list", "solvers", "--json").json}
        if not solvers.get("onednn.gemm"):
            self.skipTest("onednn.gemm is not available here")
        built, kernels = self.build(table, "cache", "--device-info", self.other("x86-64-v3", 4), status=1)
        self.assertIn("1 of 3 rows with generated kernels: 2 files", built.stdout)
        self.assertEqual(len(kernels), 2)
        skipped = [line for line in built.stderr.splitlines() if "skipped" in line]
        self.assertEqual(len(skipped), 1, built.stderr)
        self.assertIn(":4: skipped", skipped[0])

    # -- explain -----------------------------------------------------------------------------------------------------

    def test_explain_names_the_row_that_a_lookup_finds_there(self):
        table = self.table("x86-64-v3", 8, (1, 64, 64, "float32", DOT))
        flags = ("-t", table, "--device-info", self.other("x86-64-v3"))
        answer = self.attune("explain", PROBLEM, *flags, "--json").json
        self.assertEqual((answer["match"], answer["candidate"], answer["device"]), ("exact", DOT, "x86-64-v3/8"))
        self.assertEqual(answer["elsewhere"], {"device_info": "other.json", "plan": False})
        text = self.attune("explain", PROBLEM, *flags).stdout
        self.assertIn("no plan is made", text)
        self.assertIn("bf16_tuned_gemm.csv:2 " + DOT, text)
        elsewhere = self.attune("explain", PROBLEM, "-t", table, "--device-info", self.other("x86-64-v3", 4), "--json").json
        self.assertEqual(elsewhere["match"], "fallback")

    def test_explain_says_what_is_not_known_of_a_librarys_row(self):
        table = self.table("x86-64-v3", 8, (1, 64, 64, "float32", "elsewhere.gemm@1+9.9:impl=x"))
        flags = ("-t", table, "--device-info", self.other("x86-64-v3"))
        answer = self.attune("explain", PROBLEM, *flags, "--json").json
        self.assertEqual(answer["match"], "exact")
        self.assertIn("elsewhere.gemm", answer["elsewhere"]["unknown"])
        text = self.attune("explain", PROBLEM, *flags).stdout
        self.assertIn("whether the row's kernel runs there is not known here", text)

    def test_explain_refuses_a_row_outside_the_space_there(self):
        wide = DOT.replace("rows=1", "rows=24").replace("width=1", "width=8")
        table = self.table("x86-64-v3", 8, (32, 64, 64, "float32", wide))
        answer = self.attune("explain", PROBLEM.replace("m=1", "m=32"), "-t", table, "--device-info", self.other("x86-64-v3"), "--json").json
        self.assertEqual(answer["match"], "fallback")
        self.assertIn("rule", answer["steps"][0]["remark"])

    # -- wrong files -------------------------------------------------------------------------------------------------

    def test_a_wrong_file_is_refused_with_file_and_place(self):
        table = self.table("x86-64-v3", 8, (1, 64, 64, "float32", DOT))
        commands = (("list", "candidates", PROBLEM), ("explain", PROBLEM, "-t", table), ("kernels", "build", "--table", table))
        wrong = (("{", ("not JSON", "near byte")), ("[]", "expected one device"), ('{"id": "cpu:0"}', "field 'kind' is missing"),
                 (json.dumps([{**self.here, "cu_num": "two"}]), ("field '[0].cu_num'", "got 'two'")),
                 (" " * (2 << 20), "other.json"))
        for content, says in wrong:
            self.put("other.json", content)
            for command in commands:
                with self.subTest(command=command, content=content[:40]):
                    self.refused(*command, "--device-info", "other.json", says=("other.json", *([says] if isinstance(says, str) else says)))
        self.put("other.json", json.dumps(self.devices))
        self.refused("list", "candidates", PROBLEM, "--device-info", "other.json", "--devices", "cuda:0", says=("cpu:0, fake:0", "cuda:0"))
        self.refused("list", "candidates", PROBLEM, "--device-info", "other.json", "--devices", "cpu:0,cpu:1", says="cpu:0,cpu:1")
        self.refused("list", "solvers", "--device-info", "other.json", says="--device-info")


def story_config(candidate):
    """The parameters of a candidate's name."""
    return dict(pair.split("=", 1) for pair in candidate.split(":", 1)[1].split(";"))


if __name__ == "__main__":
    story.main()
