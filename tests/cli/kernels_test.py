# SPDX-License-Identifier: MIT
"""Compiled kernels: made ahead for a table, listed, cleared; a run without a compiler."""
import json
import shutil
import tarfile
import time
from datetime import datetime
from pathlib import Path

import story

ANY_SPEED = ("--max-slowdown", "1000000", "--slower-than", "1000000", "--quiet-wait", "0")
CONFIG = "kernel=dot;prefetch=0;rows=1;threads=1;unroll=1;width=1"


class CompiledKernels(story.Story):
    def setUp(self):
        super().setUp()
        solvers = {e["id"]: e["available"] for e in self.attune("list", "solvers", "--json").json}
        if not solvers.get("jit_cpu.gemm"):
            self.skipTest("jit_cpu.gemm is not available here")
        listed = self.attune("list", "candidates", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32", "--json").json
        if not any(e["solver"] == "jit_cpu.gemm" and e["supported"] for e in listed):
            self.skipTest("jit_cpu.gemm does not support this processor")
        self.cache = ("--cache", str(self.work / "cache"))

    def table(self, *kernels):
        device = self.attune("list", "devices", "--json").json[0]
        rows = [f"{device['gfx']},{device['cu_num']},1,64,64,False,torch.float32,torch.float32,False,False,jit_cpu,-1,1,{i + 1},"
                f"{kernel},0,1,1\n" for i, kernel in enumerate(kernels)]
        self.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,"
                 "kernelName,err_ratio,tflops,bw\n" + "".join(rows))

    def test_kernels_of_a_solvers_configs_are_built_without_a_table(self):
        build = ("kernels", "build", "--space", "jit_cpu.gemm", "--problem", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32",
                 "--max-kernels", "3", "--devices", "cpu:0", *self.cache)
        self.assertRegex(self.attune(*build).stdout, r"^\d+ configs?: [34] files in '")
        self.assertIn(len(self.attune("kernels", "list", "--json", *self.cache).json), (3, 4))
        self.refused("kernels", "build", says="name a tuned table (--table), or a solver (--space) and a problem (--problem)")
        self.refused("kernels", "build", "--space", "jit_cpu.gemm", says="--problem")
        self.refused(*build[:3], "no.gemm", *build[4:], says="no solver of this name is available, see `attune list solvers`: 'no.gemm'")

    def test_a_tables_kernels_are_built_listed_and_cleared(self):
        self.table(f"jit_cpu.gemm@1:{CONFIG}", "somebody_elses_kernel")
        build = ("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache)
        built = self.attune(*build, status=1)
        self.assertIn("1 of 2 rows with generated kernels: 2 files", built.stdout)
        self.assertIn("bf16_tuned_gemm.csv:3: skipped", built.stderr)
        listed = self.attune("kernels", "list", "--json", *self.cache).json
        self.assertEqual(len(listed), 2)
        self.assertEqual({len(e["sha256"]) for e in listed}, {64})
        for kernel in listed:
            self.assertEqual((kernel["solver"], kernel["config"]), ("jit_cpu.gemm", CONFIG))
            self.assertLess(abs(time.time() - datetime.fromisoformat(kernel["made_at"]).timestamp()), 600)
        head, *lines, last = self.attune("kernels", "list", *self.cache).stdout.splitlines()
        self.assertRegex(last, "^2 kernels, ")
        for line, kernel in zip(lines, listed, strict=True):
            for text in ("jit_cpu.gemm ", f" {CONFIG} ", kernel["toolchain"], f" {kernel['bytes']} ", kernel["recipe"]):
                self.assertIn(text, line)
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d  ")
        self.assertIn("2 kernels removed", self.attune("kernels", "clear", *self.cache).stdout)
        self.assertIn("0 kernels", self.attune("kernels", "list", *self.cache).stdout)

    def test_a_table_whose_rows_all_have_their_kernels_builds_with_status_0(self):
        self.table(f"jit_cpu.gemm@1:{CONFIG}")
        built = self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache)
        self.assertIn("1 of 1 row with generated kernels: 2 files", built.stdout)

    def test_the_cache_keeps_its_size_but_for_what_a_run_needs(self):
        def recipes():
            return {e["recipe"] for e in self.attune("kernels", "list", "--json", *self.cache).json}

        build = ("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache)
        other = CONFIG.replace("prefetch=0", "prefetch=128")
        for how in ({"env": {"ATTUNE_MAX_CACHE_BYTES": "1"}}, {"flags": ("--max-cache-bytes", "1")}):
            with self.subTest(how):
                shutil.rmtree(self.work / "cache", ignore_errors=True)
                for config in (CONFIG, other):
                    self.table(f"jit_cpu.gemm@1:{config}")
                    self.assertIn("2 files", self.attune(*build, *how.get("flags", ()), env=how.get("env")).stdout)
                    self.assertEqual(len(recipes()), 2, "the kernel and its packing")
                self.table(f"jit_cpu.gemm@1:{CONFIG}", f"jit_cpu.gemm@1:{other}")
                self.attune(*build, env={"ATTUNE_MAX_CACHE_BYTES": "1"})
                self.assertEqual(len(recipes()), 3)
        self.refused(*build, env={"ATTUNE_MAX_CACHE_BYTES": "1G"}, says=("ATTUNE_MAX_CACHE_BYTES", "'1G'"))
        self.refused(*build, "--max-cache-bytes", "1G", says="--max-cache-bytes")
        self.assertEqual([name for name in (self.work / "cache").iterdir() if name.name.startswith(".lease")], [])

    def test_a_kernels_description_has_the_size_of_its_code(self):
        self.table(f"jit_cpu.gemm@1:{CONFIG}")
        self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache)
        for kernel in self.attune("kernels", "list", "--json", *self.cache).json:
            self.assertGreater(int(kernel["metadata"]["code_bytes"]), 0)
            self.assertLess(int(kernel["metadata"]["code_bytes"]), kernel["bytes"])

    def test_the_journal_shows_what_the_compiler_reported(self):
        """Of each finalist with compiled kernels, of the others nothing."""
        problem = "gemm_a16w16 m=1 n=64 k=64 dtype=fp32"
        self.attune("tune", "-m", "1", "-n", "64", "-k", "64", "--dtype", "fp32", "-o", "t.csv", "--libtype", "jit_cpu,portable",
                    "--max-trials", "1", "--quiet-wait", "0", "--journal", "j.db", *self.cache)
        shown, = map(json.loads, self.attune("journal", "show", "--json", "--journal", "j.db").stdout.splitlines())
        explained = self.attune("explain", problem, "-t", "t.csv", "--journal", "j.db", "--json").json
        self.assertEqual(explained["decision"]["finalists"], shown["finalists"])
        reports = {one["candidate"]: one.get("metadata") for one in shown["finalists"]}
        self.assertTrue(any(name.startswith("jit_cpu.gemm@") for name in reports), reports)
        for name, report in reports.items():
            if name.startswith("jit_cpu.gemm@"):
                self.assertEqual([int(kernel["code_bytes"]) > 0 for kernel in report], [True, True], "the kernel and its packing")
            else:
                self.assertIsNone(report, name)
        followed = self.attune("journal", "follow", "--run", str(shown["run"]), "--json", "--journal", "j.db").stdout.splitlines()
        records = [one for one in map(json.loads, followed) if one["type"] == "record" and one["binaries"]]
        self.assertTrue(records)
        for record in records:
            self.assertEqual(len(record["metadata"]), len(record["binaries"]))

    def test_values_outside_the_space_generate_nothing(self):
        nonsense = ("kernel=dot;prefetch=0;rows=0;threads=1;unroll=1;width=1", "rows=20000", "kernel=tile_m;rows=8;width=0")
        for config in nonsense:
            bench = ("bench", "gemm_a16w16 m=33 n=64 k=96 dtype=fp32", "--solver", "jit_cpu.gemm", "--config", config)
            self.refused(*bench, "--iters", "3", says=("does not offer this config", config))
        self.table(*(f"jit_cpu.gemm@1:{config}" for config in nonsense), f"jit_cpu.gemm@2:{CONFIG}")
        built = self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache, status=1)
        self.assertIn("0 of 4 rows with generated kernels: 0 files", built.stdout)
        self.assertEqual(built.stderr.count(": skipped: "), 4)
        rows = self.attune("check", "bf16_tuned_gemm.csv", "--no-run", "--json", status=1).json
        self.assertEqual([row["status"] for row in rows], ["unusable"] * 4)

    def test_a_candidate_is_compiled_when_it_is_run(self):
        bench = ("bench", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32", "--solver", "jit_cpu.gemm", "--config", CONFIG, "--iters", "3")
        candidate, = self.attune(*bench, "--json").json["candidates"]
        self.assertEqual(candidate["status"], "ok")

    def test_a_source_that_the_compiler_rejects_is_compiled_once_by_all_runs(self):
        calls = self.work / "calls"
        compiler = self.work / "cc"
        compiler.write_text(f"#!/bin/sh\ncase \"$*\" in *--version*) echo 'gcc (strict) 1.2.3'; exit 0;; esac\necho x >>'{calls}'\n"
                            "echo 'kernel.c:3:5: error: not like this' >&2\nexit 1\n")
        compiler.chmod(0o700)
        strict = {"ATTUNE_CC": str(compiler), "ATTUNE_CACHE": str(self.work / "strict")}

        def bench(m, **more):
            answer = self.attune("bench", f"gemm_a16w16 m={m} n=64 k=64 dtype=fp32", "--solver", "jit_cpu.gemm", "--config", CONFIG,
                                 "--iters", "3", "--json", status=1, env={**strict, **more}).json
            failed, = answer["candidates"]
            return failed["status"], failed["detail"], len(calls.read_text().split())

        status, detail, once = bench(1)
        self.assertEqual(status, "compile_failed")
        self.assertIn("rejected the source: kernel.c:3:5: error: not like this", detail)
        self.assertEqual(bench(1), (status, detail, once), "another run")
        self.assertEqual(bench(2), (status, detail, once), "another problem with the same kernel")
        self.assertEqual(bench(1, ATTUNE_REBUILD="1"), (status, detail, 2 * once))
        self.assertIn("0 kernels removed", self.attune("kernels", "clear", env=strict).stdout)
        self.assertEqual(bench(1), (status, detail, 3 * once))

    def test_without_a_compiler_the_other_solvers_go_on(self):
        broken = {"ATTUNE_CC": "/nowhere/cc", "ATTUNE_CACHE": str(self.work / "none")}
        answer = self.attune("bench", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32", "--iters", "3", "--json", env=broken).json
        statuses = {c["candidate"].split("@")[0]: c["status"] for c in answer["candidates"]}
        self.assertNotIn("jit_cpu.gemm", statuses)
        self.assertEqual(statuses["portable.gemm"], "ok")
        listed = self.attune("list", "candidates", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32", env=broken).stdout
        self.assertRegex(listed, "jit_cpu.gemm: .*/nowhere/cc")

    def test_a_stored_kernel_serves_without_its_compiler(self):
        """A row is checked and explained as an application is served: from the cache. A kernel that is not there needs the compiler."""
        self.table(f"jit_cpu.gemm@1:{CONFIG}")
        table, problem = "bf16_tuned_gemm.csv", "gemm_a16w16 m=1 n=64 k=64 dtype=fp32"
        self.attune("kernels", "build", "--table", table, *self.cache)
        full = {"ATTUNE_CC": "/nowhere/cc", "ATTUNE_CACHE": str(self.work / "cache")}
        empty = {**full, "ATTUNE_CACHE": str(self.work / "none")}
        for flags, status in (("--no-run",), "loaded"), (ANY_SPEED, "ok"):
            row, = self.attune("check", table, *flags, "--json", env=full).json
            self.assertEqual((row["status"], row["reason"]), (status, ""))
            row, = self.attune("check", table, *flags, "--json", env=empty, status=1).json
            self.assertEqual(row["status"], "unusable")
            self.assertRegex(row["reason"], "^its kernel is not in the cache: .*/nowhere/cc")
        explain = ("explain", problem, "-t", table, "--json")
        self.assertEqual(self.attune(*explain, env=full).json["match"], "exact")
        self.assertNotEqual(self.attune(*explain, env=empty).json["match"], "exact")

    def test_kernels_are_carried_to_another_machine_in_a_file(self):
        self.table(f"jit_cpu.gemm@1:{CONFIG}")
        self.attune("kernels", "build", "--table", "bf16_tuned_gemm.csv", *self.cache)
        self.assertEqual(self.attune("kernels", "export", "kernels.tar", *self.cache).stdout, "2 kernels written to 'kernels.tar'\n")
        with tarfile.open(self.work / "kernels.tar") as archive:
            self.assertEqual([Path(one.name).name for one in archive], ["entry.json", "kernel"] * 2)
        other = ("--cache", str(self.work / "other"))
        self.assertIn("2 kernels added to '", self.attune("kernels", "import", "kernels.tar", *other).stdout)
        here, there = (self.attune("kernels", "list", "--json", *cache).json for cache in (self.cache, other))
        self.assertEqual([one["sha256"] for one in there], [one["sha256"] for one in here])
        row, = self.attune("check", "bf16_tuned_gemm.csv", *ANY_SPEED, "--json",
                           env={"ATTUNE_CC": "/nowhere/cc", "ATTUNE_CACHE": str(self.work / "other")}).json
        self.assertEqual(row["status"], "ok")
        with tarfile.open(self.work / "evil.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            link = tarfile.TarInfo("x/y/z/entry.json")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        self.put("cut.tar", self.work.joinpath("kernels.tar").read_bytes()[:-2000])
        self.put("text.tar", "hello")
        for name in ("evil.tar", "cut.tar", "text.tar", "bf16_tuned_gemm.csv"):
            self.refused("kernels", "import", name, "--cache", str(self.work / "new"),
                         says=(name, "not an archive of `attune kernels export`, or a damaged one"))
        self.refused("kernels", "import", "none.tar", *other, says=("no such file", "none.tar"))
        self.refused("kernels", "export", "no/kernels.tar", *self.cache, says="a folder that does not exist")
        self.refused("kernels", "export", "x.tar", "--cache", "nope", says="there is no such folder of compiled kernels")

    def test_bad_arguments(self):
        self.refused("kernels", says="attune kernels needs one of its commands: list, clear, export, import or build; see attune kernels --help")
        self.refused("quarantine", says="attune quarantine needs one of its commands: add, remove, list or clear; see ")
        self.refused("kernels", "build", says="--table")
        self.refused("kernels", "build", "--table", "none.csv", says="none.csv")
        for command in ("list", "clear"):
            self.refused("kernels", command, "--cache", "nope", says=("there is no such folder of compiled kernels", "'nope'"))
        self.assertIn("0 kernels, ", self.attune("kernels", "list", env={"ATTUNE_CACHE": str(self.work / "later")}).stdout)
        self.put("bf16_untuned_gemm.csv", story.SHAPES)
        self.refused("kernels", "build", "--table", "bf16_untuned_gemm.csv", *self.cache,
                     says=("bf16_untuned_gemm.csv:1:", "so it is not a tuned table"))


if __name__ == "__main__":
    story.main()
