# SPDX-License-Identifier: MIT
"""What is reused belongs to the very binary, machine and search: runs that are killed and resumed with another compiler
of the same name, or on another processor of the same key, verify again what has changed and nothing else.

ATTUNE_IDENTITY_KILLS: how many kills over two fingerprints and two compilers (10); ATTUNE_FAULT_SEED: their times (1).
"""
import collections
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import generated_faults_test as generated  # noqa: E402
import story  # noqa: E402
from generated_faults_test import SOLVER, Corrupted, key_of, problem_of  # noqa: E402

KILLS = int(os.environ.get("ATTUNE_IDENTITY_KILLS", "10"))
SEED = int(os.environ.get("ATTUNE_FAULT_SEED", "1"))
SHAPE = (4, 256, 256)
# A processor of the same architecture and key: another stepping of the same nameless model.
OTHER_CPU = ("sed -E 's/^(stepping\\s*:).*/\\1 77/' /proc/cpuinfo >\"$0\" && mount --bind \"$0\" /proc/cpuinfo "
             "&& exec \"$@\"")


class Identity(generated.Generated):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", "M,N,K,dtype\n{},{},{},fp32\n".format(*SHAPE))
        self.file = self.folder / "journal.db"

    def compiler_of(self, name, deed=None):
        """The real compiler, or one of the same name and version that corrupts every kernel but the packing."""
        keys = {key_of(config) for config in self.configs(problem_of(*SHAPE))}
        corrupted = [Corrupted(key, deed, "AFTER_CALL", set()) for key in sorted(keys)] if deed else []
        return self.launcher(name, corrupted)[0]

    def arguments(self, cache, table="t.csv", trials=6):
        return ("tune", "-i", "shapes.csv", "-o", table, "--devices", "cpu:0", "--quiet-wait", "0", "--libtype",
                "jit_cpu,portable", "--max-trials", str(trials), "--journal", str(self.file), "--cache",
                str(self.folder / cache), "--isolation", "process", "--run-deadline", "20", "--load-deadline", "20")

    def records(self, stage="verify"):
        return [entry for kind, entry in self.journal(self.file) if kind == "record" and entry["stage"] == stage]

    def winner(self, table="t.csv"):
        return self.rows(table)[0]["kernelName"]


class AnotherCompiler(Identity):
    def test_what_a_killed_run_verified_is_verified_again(self):
        running = self.start(*self.arguments("kernels_a"), env={"ATTUNE_CC": str(self.compiler_of("right"))})
        end = time.monotonic() + 60
        while not running.has_ended() and time.monotonic() < end:
            if any(SOLVER[:3] in one["candidate"]["solver"] for one in self.records()):
                break
            time.sleep(0.01)
        running.send(signal.SIGKILL)
        running.wait()
        before = len(self.records())
        self.attune(*self.arguments("kernels_b"), timeout=120,
                    env={"ATTUNE_CC": str(self.compiler_of("wrong", "wrong_result"))})
        generated_now = [one for one in self.records()[before:] if one["candidate"]["solver"] == "jit_cpu.gemm"]
        self.assertGreater(len(generated_now), 0)
        self.assertEqual({one["outcome"]["status"] for one in generated_now}, {"wrong_result"})
        self.assertTrue(self.winner().startswith("portable."), self.winner())

    def test_a_decision_is_not_reused_for_what_it_would_publish_now(self):
        self.attune(*self.arguments("kernels_a"), timeout=120, env={"ATTUNE_CC": str(self.compiler_of("right"))})
        first = self.winner()
        again = self.attune(*self.arguments("kernels_a", "again.csv"), "--json", timeout=120,
                            env={"ATTUNE_CC": str(self.compiler_of("right"))})
        self.assertEqual(again.json["results"][0]["ending"], "reused", "the same binary is the same winner")
        self.assertTrue(first.startswith(SOLVER), "portable loops on one thread are no match here")
        wrong = self.attune(*self.arguments("kernels_b", "wrong.csv"), "--json", timeout=120,
                            env={"ATTUNE_CC": str(self.compiler_of("wrong", "wrong_result"))})
        self.assertEqual(wrong.json["results"][0]["ending"], "decided")
        self.assertTrue(self.winner("wrong.csv").startswith("portable."), self.winner("wrong.csv"))
        # Nor is the row of the other binary kept.
        self.file = self.folder / "copy.db"
        self.attune(*self.arguments("kernels_a", "kept.csv"), timeout=120, env={"ATTUNE_CC": str(self.compiler_of("right"))})
        self.attune(*self.arguments("kernels_b", "kept.csv"), timeout=120,
                    env={"ATTUNE_CC": str(self.compiler_of("wrong", "wrong_result"))})
        self.assertTrue(self.winner("kept.csv").startswith("portable."), self.winner("kept.csv"))


class KillsOverPlacesAndCompilers(Identity):
    def command(self, place, arguments):
        """On this processor, or in a mount namespace of its own on another."""
        program = [str(story.PROGRAM), *arguments]
        if place == "here":
            return program
        return ["unshare", "--mount", "sh", "-c", OTHER_CPU, str(self.folder / "cpuinfo"), *program]

    def run_once(self, place, compiler, kill_after_s=None):
        environment = self.environment(ATTUNE_CC=str(self.compilers[compiler]), TMPDIR=str(self.temporary))
        process = subprocess.Popen(self.command(place, self.arguments(f"kernels_{compiler}", f"{place}_{compiler}.csv")),
                                   cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        try:
            _, error = process.communicate(timeout=kill_after_s if kill_after_s is not None else 120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return
        self.assertEqual(process.returncode, 0, error.decode())

    def test_nothing_is_reused_that_should_not_be_and_nothing_is_measured_twice_that_need_not_be(self):
        if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("only root can show a program another processor (unshare --mount)")
        dice = random.Random(SEED)
        # The same name and version, another binary: -O1 in place of -O3, at the end so that it counts.
        slower = self.folder / "slower_cc"
        slower.write_text(f"#!/bin/sh\ncase \"$*\" in *kernel.c*) exec {self.compiler} \"$@\" -O1;; esac\n"
                          f"exec {self.compiler} \"$@\"\n")
        slower.chmod(0o700)
        self.compilers = {"a": self.compiler, "b": slower}
        cells = [(place, compiler) for place in ("here", "there") for compiler in ("a", "b")]
        for _ in range(KILLS):
            self.run_once(*dice.choice(cells), kill_after_s=dice.uniform(0.2, 4))
        for cell in cells:
            self.run_once(*cell)
        self.check(self.journal(self.file, runs=True))

    def check(self, entries):
        verified, decisions, runs = collections.Counter(), [], 0
        for kind, entry in entries:
            runs += kind == "run_begin"
            if kind == "decision":
                decisions.append(entry)
            if kind != "record" or entry["stage"] != "verify" or entry["outcome"]["status"] != "ok":
                continue
            verified[self.identity(entry["fingerprint"], entry["candidate"], entry["binaries"], entry["versions"])] += 1
        self.assertGreaterEqual(runs, len(decisions))
        self.assertEqual([key for key, count in verified.items() if count > 1], [], "verified twice")
        fingerprints = {one["fingerprint"] for one in decisions}
        self.assertEqual(len(fingerprints), 2, "two processors")
        self.assertEqual(len({one["device"] for one in decisions}), 1, "of one key")
        binaries = {str(finalist["binaries"]) for one in decisions for finalist in one["finalists"] if finalist["binaries"]}
        self.assertGreater(len(binaries), 1, "two compilers")
        for decision in decisions:
            for finalist in decision["finalists"]:
                solver = finalist["candidate"]["solver"]
                known = [key for key in verified if key[0] == decision["fingerprint"]
                         and key[1] == story.candidate_name(finalist["candidate"]) and key[2] == str(finalist["binaries"])]
                self.assertEqual(len(known), 1, f"{solver} is a finalist whose binary was not verified here")
        print(f"{KILLS} kills over {len(fingerprints)} processors and 2 compilers: {runs} runs, {len(verified)} "
              f"verifications, {len(decisions)} decisions", flush=True)

    @staticmethod
    def identity(fingerprint, candidate, binaries, versions):
        return (fingerprint, story.candidate_name(candidate), str(binaries), str(sorted(versions.items())))


if __name__ == "__main__":
    story.main()
