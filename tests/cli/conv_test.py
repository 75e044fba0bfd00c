# SPDX-License-Identifier: MIT
"""Convolutions from driver lines to a served call, on the processor this runs on. No time is asserted."""
import array
import ctypes
import os
import subprocess
import sys
import unittest

import story

LINES = """./bin/MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1
miopenConvolutionBackwardData: MIOpenDriver conv -n 2 -c 8 -H 9 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1

MIOpenDriver bnorm -n 4
MIOpenDriver conv -Q 4
MIOpenDriver conv -n 1 -c 4 -g 3 -F 1
"""
FORWARD = "conv direction=fwd n=2 c=8 h=9 w=8 k=8 y=3 x=3 pad_h=1 pad_w=1 dtype=fp32"
BACKWARD = FORWARD.replace("fwd", "bwd_data")
HOST = ("--quiet-wait", "0", "--max-trials", "6")


class DriverLines(story.Story):
    def test_problems_are_listed_and_every_line_is_counted(self):
        self.put("lines.txt", LINES)
        result = self.attune("shapes", "-i", "lines.txt")
        self.assertEqual(result.stdout.splitlines(), [FORWARD, BACKWARD])
        for says in ("lines.txt:4: 1 line of bnorm skipped", "lines.txt:5: 1 bad line skipped: unknown flag '-Q'",
                     "lines.txt:6: attribute 'groups' must divide 'c': 3 does not divide 4"):
            self.assertIn(says, result.stderr)
        counts = self.attune("shapes", "-i", "lines.txt", "--json").json
        self.assertEqual((counts["lines"], counts["blank"], counts["convolutions"]), (6, 1, 3))
        self.assertEqual(sum(len(one["lines"]) for one in counts["skipped"]), 2)

    def test_batches_replicate_and_an_operator_overrides(self):
        self.put("lines.txt", LINES.splitlines()[0])
        keys = self.attune("shapes", "-i", "lines.txt", "-b", "1,4", "-c", "convfp16", "--json").json["problems"]
        self.assertEqual(keys, [FORWARD.replace("n=2", f"n={n}").replace("fp32", "fp16") for n in (1, 4)])

    def test_a_list_of_shapes_is_written(self):
        self.put("lines.txt", "\n".join(LINES.splitlines()[:2]))
        self.attune("shapes", "-i", "lines.txt", "-o", "conv_untuned.csv")
        self.assertEqual([row["direction"] for row in self.rows("conv_untuned.csv")], ["fwd", "bwd_data"])

    def test_a_list_is_kept_where_no_problem_can_be_computed(self):
        self.put("lst.csv", "kept")
        for line in ("-n 0 -F 1", "-g 3 -c 8 -F 1"):
            self.put("bad.txt", f"./bin/MIOpenDriver conv {line}\n")
            self.refused("shapes", "-i", "bad.txt", "-o", "lst.csv", says="bad.txt:1: ")
        self.refused("shapes", "-i", "none.txt", says="none.txt")
        self.assertEqual(self.read("lst.csv"), "kept")

    def test_bad_input_is_one_sentence_and_nothing_is_written(self):
        self.put("lines.txt", LINES)
        self.put("nul.txt", LINES + "MIOpenDriver conv\0\n")
        self.put("long.txt", LINES + "MIOpenDriver conv " + "9" * (40 << 20) + "\n")
        self.put("shapes.csv", story.SHAPES)
        for arguments, says in (("-i lines.txt --strict", "lines.txt:4: only convolutions are read"),
                                ("-i nul.txt", "nul.txt:7: the line contains a NUL byte"),
                                ("-i long.txt", "long.txt:7: a line has at most 65536 bytes"),
                                ("-i shapes.csv", "there is no MIOpenDriver in it"),
                                ("-i nowhere.txt", "nowhere.txt"),
                                ("-i lines.txt -b 1,x", "1,x"),
                                ("-i lines.txt -c bnorm", "'bnorm'"),
                                ("-i lines.txt --op gemm_a16w16", "omit --op"),
                                ("-i lines.txt --model_dir m", "omit --model_dir"),
                                ("-b 1 --model_dir m", "-b, -c and --strict are for the lines of -i")):
            with self.subTest(arguments):
                self.refused("shapes", *arguments.split(), "-o", "list.csv", says=says)
        self.refused("tune", "-i", "nul.txt", "-o", "t.csv", *HOST, says="nul.txt:7")


class Attributes(story.Story):
    def test_a_letter_of_the_programs_own_flag_is_a_capital(self):
        sizes = "-n 2 -c 8 -w 8 -k 8 -y 3 -x 3 --pad_h 1 --pad_w 1".split()
        self.refused("tune", "--op", "conv", *sizes, *HOST, says="all of -n, -c, -H, -w, -k, -y and -x")
        self.assertIn("-H INT", self.attune("tune", "--help").stdout)


class TheProcessor(story.Story):
    def test_lines_are_tuned_checked_explained_timed_and_served(self):
        self.put("lines.txt", LINES)
        answer = self.attune("tune", "-i", "lines.txt", "-o", "conv_tuned.csv", *HOST, "--json").json
        winners = {one["problem"]: one["decision"]["winner"] for one in answer["results"] if one.get("decision")}
        self.assertEqual(set(winners), {FORWARD, BACKWARD})
        self.assertEqual([row["kernelName"] for row in self.rows("conv_tuned.csv")],
                         [winners[FORWARD], winners[BACKWARD]])
        for row in self.attune("check", "conv_tuned.csv", "--quiet-wait", "0", "--json", status=None).json:
            self.assertIn(row["status"], ("ok", "slower than the default", "slower than its row says"))
        self.assertIn("0 findings", self.attune("ci", "validate", "conv_tuned.csv").stdout)
        found = self.attune("explain", BACKWARD, "-t", "conv_tuned.csv", "--json").json
        self.assertEqual((found["match"], found["candidate"]), ("exact", winners[BACKWARD]))
        other = self.attune("explain", FORWARD.replace("n=2", "n=3"), "-t", "conv_tuned.csv", "--json").json
        self.assertEqual(other["match"], "fallback")
        timed = self.attune("bench", "-i", "conv_tuned.csv", "--iters", "3", "--quiet-wait", "0", "--json").json
        self.assertEqual(len(timed["shapes"]), 2)

    def find_db_name(self):
        device, = [one for one in self.attune("list", "devices", "--json").json if one["id"] == "cpu:0"]
        units = device["cu_num"]
        return f"{device['gfx']}_{units}" if units <= 64 else f"{device['gfx']}{units:x}"

    def test_a_find_db_named_as_a_table_chooses_the_solver(self):
        key = "8-9-8-3x3-8-9-8-2-1x1-1x1-1x1-0-NCHW-FP32-F"
        name = self.find_db_name()
        file = self.put(f"{name}.HOST.fdb.txt",
                        f"\n{key}=ConvAsm1x1U:0.1,0,A;onednn.conv:0.3,0,A;conv.im2col:0.2,0,A\n")
        named = {"ATTUNE_CONFIG_CONV": str(file)}
        found = self.attune("explain", FORWARD, "--json", env=named).json
        self.assertEqual((found["match"], found["candidate"].split("@")[0]), ("exact", "conv.im2col"), str(found))
        self.assertIn(f"{name}.HOST.fdb.txt:2", str(found))
        other = self.attune("explain", FORWARD.replace("n=2", "n=3"), "--json", env=named).json
        self.assertEqual(other["match"], "fallback")
        file.write_text(f"{key}=ConvAsm1x1U:0.1,0,A\n")
        lacking = self.attune("explain", FORWARD, env=named)
        self.assertIn("ATTUNE_CONFIG_CONV names a find-db whose solvers this program lacks, such as ConvAsm1x1U",
                      lacking.stdout + lacking.stderr)
        self.assertEqual(self.attune("explain", FORWARD, "--json", env=named).json["match"], "fallback")
        strange = self.put("mine.fdb.txt", f"{key}=conv.im2col:0.1,0,A\n")
        said = self.attune("explain", FORWARD, env={"ATTUNE_CONFIG_CONV": str(strange)})
        self.assertIn("must begin with its device", said.stdout + said.stderr)
        gemm = self.attune("explain", "gemm_a16w16 m=1 n=8 k=8 dtype=bf16",
                           env={"ATTUNE_CONFIG_GEMM_BF16": str(strange)})
        self.assertIn("a find-db, which holds convolutions", gemm.stdout + gemm.stderr)

    def test_every_solver_has_a_default_that_computes_it(self):
        solvers = [e["id"] for e in self.attune("list", "solvers", "--json").json
                   if e["available"] and not e["id"].startswith("fake.")]
        for problem in (FORWARD, BACKWARD, FORWARD + " layout=NHWC", BACKWARD.replace("bwd_data", "bwd_weights")):
            timed = self.attune("bench", problem, "--iters", "3", "--json").json["candidates"]
            self.assertEqual({one["candidate"].split("@")[0] for one in timed},
                             {one for one in solvers if one == "conv.im2col" or one.endswith(".conv")
                              and (one != "jit_cpu.conv" or problem == FORWARD)})
            self.assertEqual({one["status"] for one in timed}, {"ok"})


class Key(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("op", ctypes.c_uint32), ("num_values", ctypes.c_uint32),
                ("values", ctypes.c_int64 * 32)]


@unittest.skipUnless("ATTUNE_LIBRARY" in os.environ, "ATTUNE_LIBRARY names no library")
class ImmediateMode(story.Story):
    def test_a_call_is_served_by_the_solver_that_a_find_db_names(self):
        device, = [one for one in self.attune("list", "devices", "--json").json if one["id"] == "cpu:0"]
        units = device["cu_num"]
        name = f"{device['gfx']}_{units}" if units <= 64 else f"{device['gfx']}{units:x}"
        file = self.put(f"{name}.HOST.fdb.txt", "1-4-4-3x3-1-4-4-1-1x1-1x1-1x1-0-NCHW-FP32-F=conv.im2col:1,0,A\n")
        for named, is_served in ((str(file), True), ("", False)):
            call = subprocess.run([sys.executable, "-B", __file__, "CInterface"], capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "ATTUNE_CONFIG_CONV": named, "ATTUNE_HOME": str(self.home)})
            self.assertEqual(call.returncode, 0, call.stderr)
            self.assertEqual("no row of a table serves" not in call.stderr, is_served, call.stderr)


@unittest.skipUnless("ATTUNE_LIBRARY" in os.environ, "ATTUNE_LIBRARY names no library")
class CInterface(unittest.TestCase):
    def test_a_convolution_is_called_by_its_key(self):
        library = ctypes.CDLL(os.environ["ATTUNE_LIBRARY"])
        library.attune_last_error.restype = ctypes.c_char_p

        def call(name, *arguments):
            self.assertEqual(getattr(library, name)(*arguments), 0, library.attune_last_error())

        dispatcher = ctypes.c_void_p()
        call("attune_global", ctypes.byref(dispatcher))
        key = Key(size=ctypes.sizeof(Key))
        call("attune_parse_key", b"conv n=1 c=1 h=4 w=4 k=1 y=3 x=3 pad_h=1 pad_w=1", ctypes.byref(key))
        self.assertEqual(key.op, 9)
        image, weight, output = (array.array("f", [value] * count) for value, count in ((1, 16), (2, 9), (0, 16)))
        aligned = [ctypes.create_string_buffer(len(one) * 4 + 64) for one in (image, weight, output)]
        addresses = [(ctypes.addressof(one) + 63) // 64 * 64 for one in aligned]
        for address, one in zip(addresses, (image, weight, output)):
            ctypes.memmove(address, one.tobytes(), len(one) * 4)
        operands = (ctypes.c_void_p * 3)(*addresses)
        call("attune_run_key", dispatcher, ctypes.byref(key), None, operands, ctypes.c_size_t(3), None)
        result = array.array("f", ctypes.string_at(addresses[2], 64))
        self.assertEqual(list(result), [8, 12, 12, 8, 12, 18, 18, 12, 12, 18, 18, 12, 8, 12, 12, 8])


if __name__ == "__main__":
    story.main()
