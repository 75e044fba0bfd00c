# SPDX-License-Identifier: MIT
"""Bad input ends in one sentence that says what to do, exit status 2, and leaves every file as it was."""
import contextlib
import os
import socket
import subprocess

import story
from story import FAKE, SHAPES

LITTLE_MEMORY_KIB = (512 if story.HAS_ADDRESS_SANITIZER else 128) << 10  # Much less than the files.
HEADER = "M,N,K,bias,dtype,outdtype\n"
TABLE = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
ROW = "gfx942,304,8,8,8,False,torch.float32,torch.float32,False,False,x,1,0,5.0,native,0.0,1.0,1.0\n"

PROBLEM = "gemm_a16w16 m=1 n=8 k=8 dtype=fp32"

# name, content of shapes.csv, what the sentence holds
SHAPE_FILES = [
    ("missing column", "M,N,bias\n1,2,False\n", ("shapes.csv:1:", "M, N, bias", "gemm_a16w16 would need K too")),
    ("negative size", HEADER + "1,32,48,False,fp32,fp32\n-4,32,48,False,fp32,fp32\n", ("shapes.csv:3:", "-4")),
    ("zero", HEADER + "1,0,48,False,fp32,fp32\n", ("shapes.csv:2:", "'0'")),
    ("2^63", HEADER + "1,9223372036854775808,48,False,fp32,fp32\n", ("shapes.csv:2:", "9223372036854775808")),
    ("2^64 + 1", HEADER + "18446744073709551617,32,48,False,fp32,fp32\n", ("shapes.csv:2:", "18446744073709551617")),
    ("no number", HEADER + "1,x32,48,False,fp32,fp32\n", ("shapes.csv:2:", "x32")),
    ("a fraction", HEADER + "1,32.5,48,False,fp32,fp32\n", ("shapes.csv:2:", "32.5")),
    ("an empty size", HEADER + "1,,48,False,fp32,fp32\n", ("shapes.csv:2:", "N")),
    ("unknown dtype", HEADER + "1,32,48,False,fp12,fp32\n", ("shapes.csv:2:", "fp12")),
    ("a dtype the op does not take", HEADER + "1,32,48,False,int8,fp32\n", ("shapes.csv:2:", "int8")),
    ("unknown flag value", HEADER + "1,32,48,perhaps,fp32,fp32\n", ("shapes.csv:2:", "perhaps")),
    ("a cell too many", HEADER + "1,32,48,False,fp32,fp32,7\n", ("shapes.csv:2:",)),
    ("empty file", "", ("shapes.csv", "empty")),
    ("blank lines", "\n\n  \n", ("shapes.csv",)),
    ("unknown family", "apples,pears\n1,2\n", ("shapes.csv:1:", "apples")),
    ("a family that cannot be tuned", "B,M,N,K\n2,8,8,8\n", ("shapes.csv",)),
    ("binary garbage", bytes(range(256)) * 64, ("shapes.csv:",)),
    ("binary garbage after a header", HEADER.encode() + b"\x00\x01\x02\xff\xfe" * 100, ("shapes.csv:2:",)),
    ("not UTF-8", HEADER.encode() + b"1,32,48,False,\xff\xfe,fp32\n", ("shapes.csv:2:",)),
    ("UTF-16", "\ufeffM,N,K\n1,2,3\n".encode("utf-16"), ("shapes.csv:1:",)),
    ("a quotation mark that never closes", HEADER + '1,32,48,"False,fp32,fp32\n1,2,3,False,fp32,fp32\n', ("shapes.csv:2:",)),
    ("the same column twice", "M,N,K,M\n1,2,3,4\n", ("shapes.csv:1:", "M")),
    ("ten thousand columns", ",".join(f"c{i}" for i in range(10000)) + "\n", ("shapes.csv:1:",)),
]

SIZES_FILES = [
    ("empty file", "", ("sizes.yaml",)),
    ("no list", "M: 1\nN: 2\nK: 3\n", ("sizes.yaml:1:",)),
    ("not YAML", "- {'M': 1, 'N': [2\n", ("sizes.yaml:",)),
    ("a key missing", "- {'M': 1, 'N': 2}\n", ("sizes.yaml:1:", "K")),
    ("a bad size", "- {'M': 1, 'N': 2, 'K': 3}\n- {'M': -1, 'N': 2, 'K': 3}\n", ("sizes.yaml:2:", "-1")),
    ("2^63", "- {'M': 9223372036854775808, 'N': 2, 'K': 3}\n", ("sizes.yaml:1:", "9223372036854775808")),
    ("a bad letter", "- {'M': 1, 'N': 2, 'K': 3, 'rowMajorA': 'X'}\n", ("sizes.yaml:1:", "X")),
    ("a size of 0", "- {'M': 1, 'N': 2, 'K': 3}\n\n- {'M': 1, 'N': 0, 'K': 3}\n", ("sizes.yaml:3:", "'N'", "'0'")),
    ("an unknown type", "- {'M': 1, 'N': 2, 'K': 3, 'dtype': 'fp17'}\n", ("sizes.yaml:1:", "'dtype'", "'fp17'")),
    ("nested", "- {'M': 1, 'N': 2, 'K': {'a': 3}}\n", ("sizes.yaml:1:",)),
    ("binary garbage", bytes(range(256)) * 64, ("sizes.yaml",)),
    ("an alias bomb", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefghijklmnop", "bcdefghijklmnopq")),
     ("sizes.yaml:",)),
    ("a deep nest", "- " + "[" * 100000 + "\n", ("sizes.yaml",)),
]

TABLES = [
    ("binary garbage", bytes(range(256)) * 64, ("t.csv:",)),
    ("a broken row", TABLE + ROW + ROW.replace(",8,8,8,", ",8,8,eight,"), ("t.csv:3:", "eight")),
    ("no tuned table", SHAPES, ("t.csv:1:", "us")),
    ("another family's", "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n", ("t.csv:1:",)),
]

ARGUMENTS = [
    ("-i nope.csv -o t.csv", "nope.csv"),
    ("-i folder -o t.csv", ("folder", "name a file")),
    ("-i dangling.csv -o t.csv", "link"),
    ("-i loop.csv -o t.csv", "loop.csv"),
    ("-i shapes.csv/below.csv -o t.csv", "shapes.csv/below.csv"),
    ("-i shapes.csv -o folder", "folder"),
    ("-i shapes.csv -o shapes.csv/t.csv", "shapes.csv"),
    ("-i shapes.csv -o no/such/t.csv", "no/such"),
    ("-i shapes.csv -o dangling.csv", "link"),
    ("-i shapes.csv -o /dev/full", "/dev/full"),
    ("-i shapes.csv -o t.csv -o2 folder", "folder"),
    ("-i shapes.csv -o t.csv -o2 no/such/p.csv", "no/such"),
    ("-i shapes.csv -o t.csv --profile_file /dev/full", "/dev/full"),
    ("-i shapes.csv -o t.csv --keep shapes.csv", "shapes.csv"),
    ("-i shapes.csv -o t.csv --keep shapes.csv/kept", "shapes.csv"),
    ("-i shapes.csv -o t.csv --op nope", "nope"),
    ("-i shapes.csv -o t.csv --dtype fp12", "fp12"),
    ("-i shapes.csv -o t.csv --outdtype fp12", "fp12"),
    ("-i shapes.csv -o t.csv --devices tpu:0", "tpu:0"),
    ("-i shapes.csv -o " + "n" * 300 + ".csv", "nnn"),
    ("-i shapes.csv -o t.csv:folder", "folder"),
    ("-i shapes.csv -o t.csv:nope.csv", ("nope.csv", "colons separate tables")),
    ("-i a:b.csv -o t.csv", "a:b.csv"),
    ("-i socket -o t.csv", ("expected a regular file", "socket")),
    ("-i pipe -o t.csv", ("expected a regular file", "pipe")),
    ("-i shapes.csv -o socket", "socket"),
    ("-i shapes.csv -o pipe", "pipe"),
    ("-i shapes.csv -o t.csv --journal pipe", ("a journal must be a regular file", "pipe")),
    ("--gemm_size_file pipe", "pipe"),
    ("--run_config pipe", "pipe"),
    ("-i without_k.csv -o t.csv --op gemm_a16w16", "'K'"),
    ("-i shapes.csv --config-dir nowhere", "nowhere"),
    ("-o t.csv --config-dir nowhere", "nowhere"),
    ("--gemm_size_file nope.yaml", "nope.yaml"),
    ("--gemm_size_file folder", "folder"),
    ("--gemm_size_file sizes.yaml --tuning_results_file folder", "folder"),
    ("-m 1 -n 2", "-k"),
    ("-m 1 -n 2 -k 0", ("-k: expected a whole number from 1 to ", "got '0'")),
    ("-m 1 -n -2 -k 3", "-2"),
    ("-m 1 -n 9223372036854775808 -k 3", "9223372036854775808"),
    ("-m 1.5 -n 2 -k 3", "1.5"),
    ("-m 0x10 -n 2 -k 3", "0x10"),
    ("-m 010 -n 2 -k 3", "010"),
    ("-m 1 -n 2 -k 3 --dtype fp12", "fp12"),
    ("-m 1 -n 2 -k 3 --op nope", "nope"),
    ("-m 1 -n 2 -k 3 -i shapes.csv -o t.csv", "-i"),
    ("-m 1 -n 2 -k 3 surplus", "surplus"),
    ("-m 1 -n 2 -k 3 --frob", "--frob"),
    ("-m 1 -n 2 -k", "-k"),
    ("-m 1 -n 2 -k 3 --seed -1", "seed"),
    ("-m 1 -n 2 -k 3 --errRatio nan", "errRatio"),
    ("-m 1 -n 2 -k 3 --min-gain nan", "min-gain"),
    ("-m 1 -n 2 -k 3 --quiet-wait nan", "quiet-wait"),
    ("--compare_wo_tuning nope.yaml", "nope.yaml"),
    ("--compare_wo_tuning shapes.csv", "shapes.csv"),
    ("--run_config nope.csv", "nope.csv"),
    ("--run_config", "--run_config"),
    ("--compare_wo_tuning", "--compare_wo_tuning"),
    ("-i", "untune_file"),
    ("--budget", "budget"),
]


class BadInput(story.Story):
    def refused_each(self, cases, name, *arguments):
        for what, content, says in cases:
            with self.subTest(what):
                self.put(name, content)
                result = self.refused("tune", *arguments, *FAKE, says=says)
                self.assertLess(result.seconds, 5)
                self.assertLess(len(result.stderr), 600, "a sentence, not the file")

    def test_shape_files(self):
        self.refused_each(SHAPE_FILES, "shapes.csv", "-i", "shapes.csv", "-o", "t.csv")

    def test_yaml_files(self):
        self.refused_each(SIZES_FILES, "sizes.yaml", "--gemm_size_file", "sizes.yaml", "--tuning_results_file", "out.yaml")

    def test_tables_that_are_there(self):
        self.put("shapes.csv", SHAPES)
        self.refused_each(TABLES, "t.csv", "-i", "shapes.csv", "-o", "t.csv")

    def test_arguments(self):
        self.put("shapes.csv", SHAPES)
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        self.put("without_k.csv", "M,N\n1,2\n")
        (self.work / "folder").mkdir()
        os.mkfifo(self.work / "pipe")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
            one.bind(str(self.work / "socket"))
        (self.work / "dangling.csv").symlink_to("nowhere.csv")
        (self.work / "loop.csv").symlink_to("loop.csv")
        for arguments, says in ARGUMENTS:
            with self.subTest(arguments):
                devices = FAKE if "--devices" not in arguments else FAKE[2:]
                self.refused("tune", *devices, *arguments.split(), says=says)


class TextOfUsers(story.Story):
    """What a message quotes stays short and on its line."""

    def test_long_names_are_shortened(self):
        long = "x" * 60000
        self.put("surplus.csv", f"M,N,K,{long}\n1,8,8,1\n")
        result = self.tune("-i", "surplus.csv", "-o", "t.csv")
        self.assertIn("are ignored: xxx", result.stderr)
        self.assertLess(max(map(len, result.stderr.splitlines())), 600)
        for content in (f"M,N,K,{long[:30000]},{long[:30000]}\n", f"{long}\n", f"M,N,K,us,{long}\n",
                        f"M,N,K,dtype\n1,2,3,{long}\n", f"M,N,K\n{long},2,3\n"):
            self.put("long.csv", content)
            result = self.refused("tune", "-i", "long.csv", "-o", "u.csv", *FAKE)
            self.assertLess(max(map(len, result.stderr.splitlines())), 600)

    def test_control_characters_are_escaped(self):
        for name in ("a\nb.csv", "a\x1b[31mb.csv", "a\rb.csv"):
            result = self.refused("tune", "-i", name, "-o", "t.csv", *FAKE)
            self.assertRegex(result.stderr, r"a\\(n|x1b\[31m|r)b\.csv")
            self.put(name, SHAPES)
            self.tune("-i", name, "-o", "t.csv")
            result = self.attune("check", name, status=2)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        self.refused("frob\nnicate", says="frob\\nnicate")


class ShapesOfAPipe(story.Story):
    def test_standard_input_is_read(self):
        command = ["bash", "-c", 'printf "M,N,K,dtype\\n1,8,8,fp32\\n" | "$@"', "-", story.PROGRAM, "tune",
                   "-i", "/dev/stdin", "-o", "t.csv", *FAKE]
        subprocess.run(command, cwd=self.work, env=self.environment(), check=True, capture_output=True)
        self.assertEqual(len(self.rows("t.csv")), 1)


class HugeInput(story.Story):
    GIB = 1 << 30

    def test_a_line_of_a_gibibyte_is_rejected_quickly_and_in_little_memory(self):
        for name, flags in (("shapes.csv", ("-i", "shapes.csv", "-o", "t.csv")),
                            ("sizes.yaml", ("--gemm_size_file", "sizes.yaml")),
                            ("results.yaml", ("--compare_wo_tuning", "results.yaml"))):
            for start in (b"M,N,K\n1,2,", b""):  # zeros: a sparse file
                with self.subTest(name=name, start=start):
                    with open(self.work / name, "wb") as file:
                        file.write(start)
                        file.truncate(self.GIB)
                    result = self.refused("tune", *flags, *FAKE, says=name)
                    self.assertLess(result.seconds, 2)
                    self.assertLess(result.max_rss_kib, LITTLE_MEMORY_KIB)
                    (self.work / name).unlink()

    def test_a_line_of_a_gibibyte_of_digits_too(self):
        chunk = b"7" * (1 << 20)
        with open(self.work / "shapes.csv", "wb") as file:
            file.write(b"M,N,K\n1,2,")
            for _ in range(1024):
                file.write(chunk)
        result = self.refused("tune", "-i", "shapes.csv", "-o", "t.csv", *FAKE, says="shapes.csv:2:")
        self.assertLess(result.seconds, 2)
        self.assertLess(result.max_rss_kib, LITTLE_MEMORY_KIB)

    def test_an_alias_bomb_ends_at_once(self):
        lines = ["- &a {'M': 1, 'N': 1, 'K': 1}"] + [f"- &{c} [{','.join(['*' + p] * 9)}]" for p, c in zip("abcdefghij", "bcdefghijk")]
        self.put("sizes.yaml", "\n".join(lines) + "\n")
        result = self.refused("tune", "--gemm_size_file", "sizes.yaml", *FAKE, says="sizes.yaml:")
        self.assertLess(result.seconds, 2)
        self.assertLess(result.max_rss_kib, LITTLE_MEMORY_KIB)

    def test_other_commands_bound_what_they_read_as_well(self):
        with open(self.work / "t.csv", "wb") as file:
            file.write(b"M,N,K,us\n1,2,")
            file.truncate(self.GIB)
        for command in (("check", "t.csv", *FAKE), ("diff", "t.csv", "t.csv"),
                     ("explain", "gemm_a16w16 m=1 n=1 k=1", "-t", "t.csv", "--devices", "fake:0")):
            result = self.refused(*command, says="t.csv:2:")
            self.assertLess(result.seconds, 2)
            self.assertLess(result.max_rss_kib, LITTLE_MEMORY_KIB)


class ReadersOfTables(story.Story):
    """check, diff and explain on files that are no tables."""

    def test_results_in_yaml_are_named_as_such(self):
        self.put("r.yaml", (story.DATA / "streamk_tuned.yaml").read_bytes())
        for command in (("explain", "gemm_a16w16 m=1 n=1 k=1", "-t", "r.yaml"), ("coverage", "-t", "r.yaml"),
                        ("tables", "merge", "-o", "m.csv", "r.yaml"), ("kernels", "build", "--table", "r.yaml")):
            with self.subTest(command=command[0]):
                self.refused(*command, says=("a CSV file is wanted, and this is YAML", "attune check", "'r.yaml'"))

    def test_a_size_in_yaml_is_tuned_whatever_kernel_it_names(self):
        entry = ("- {{'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N', 'dtype': 'fp32', 'BLOCK_SIZE_M': {}, 'BLOCK_SIZE_N': 16, "
                 "'BLOCK_SIZE_K': 16, 'GROUP_SIZE_M': 1, 'SPLIT_K': {}, 'num_warps': 4, 'num_stages': 2}}\n")
        for block, split, says in ((48, 1, "BLOCK_SIZE_M must be a power of two, got '48'"), ("x", 1, "BLOCK_SIZE_M must be a whole number from 1"),
                                   (16, 12, "SPLIT_K must be at most K, got '12'")):
            with self.subTest(says):
                self.put("results.yaml", entry.format(16, 1) + entry.format(block, split))
                tuned = self.tune("--gemm_size_file", "results.yaml", "--tuning_results_file", "new.yaml")
                self.assertIn(f"note: results.yaml:2: {says}", tuned.stderr)
                self.assertEqual(len(self.read("new.yaml").splitlines()), 1, "both are one size")
                checked = self.attune("check", "results.yaml", *FAKE, status=1)
                self.assertIn(f"results.yaml:2 1×8×8 fp32: unusable, {says}", checked.stdout)
        other = "- {'M': 1, 'N': 8, 'K': 8, 'dtype': 'fp32', 'candidate': 'x.gemm@1:t=1', 'us': 3, 'device': 'gfx942/304'}\n"
        self.put("results.yaml", other + other.replace("'M': 1", "'M': 2"))
        tuned = self.tune("--gemm_size_file", "results.yaml", "--tuning_results_file", "new.yaml")
        self.assertIn("note: results.yaml:1: a result of gfx942/304; only its size is used, as of 2 such entries", tuned.stderr)

    def test_a_list_in_yaml_is_no_csv_and_no_results(self):
        self.put("sizes.yaml", "- {'M': 1, 'N': 8, 'K': 8, 'rowMajorA': 'T', 'rowMajorB': 'N'}\n")
        self.put("shapes.csv", SHAPES)
        for command in (("explain", PROBLEM, "-t", "sizes.yaml"), ("coverage", "sizes.yaml"), ("capture", "show", "sizes.yaml"),
                        ("tables", "merge", "-o", "m.csv", "sizes.yaml"), ("tune", "-i", "sizes.yaml", "-o", "t.csv", *FAKE)):
            with self.subTest(command):
                self.refused(*command, says=("a CSV file is wanted, and this is YAML", "--gemm_size_file", "'sizes.yaml'"))
        for command in (("diff", "sizes.yaml", "sizes.yaml"), ("check", "sizes.yaml", *FAKE)):
            with self.subTest(command):
                self.refused(*command, says="sizes.yaml:1: the file is a list of sizes")
        self.refused("tune", "-i", "shapes.csv", "-o", "t.yaml", *FAKE, says=("-o names a CSV table", "'t.yaml'"))

    def test_a_list_of_shapes_is_no_tuned_table(self):
        self.put("shapes.csv", SHAPES)
        for command in (("explain", PROBLEM, "-t"), ("coverage", "shapes.csv", "-t"), ("capture", "show", "shapes.csv", "-t"),
                        ("kernels", "build", "--table"), ("check",), ("diff", "shapes.csv")):
            with self.subTest(command):
                self.refused(*command, "shapes.csv", says="shapes.csv:1: the file has no column 'us', so it is not a tuned table "
                             "but a list of shapes")

    def test_a_file_that_is_not_there_is_said_not_to_be_there(self):
        self.put("shapes.csv", SHAPES)
        for command in (("explain", PROBLEM, "-t"), ("coverage", "shapes.csv", "-t"), ("coverage",), ("check",),
                        ("kernels", "build", "--table")):
            with self.subTest(command):
                self.refused(*command, "no.yaml", says=("there is no such file", "'no.yaml'"))

    def test_they_refuse_what_they_cannot_read(self):
        cases = [(b"", "empty"), (bytes(range(256)) * 8, "bad.csv:"), (b"apples,pears\n1,2\n", "bad.csv:1:"),
                 ((TABLE + ROW.replace(",8,8,8,", ",8,8,eight,")).encode(), "bad.csv:2:")]
        for content, says in cases:
            self.put("bad.csv", content)
            for command in (("check", "bad.csv", *FAKE), ("diff", "bad.csv", "bad.csv"),
                         ("explain", "gemm_a16w16 m=1 n=1 k=1", "-t", "bad.csv", "--devices", "fake:0")):
                with self.subTest(content=content[:20], command=command[0]):
                    if command[0] == "check" and b"eight" in content:
                        row, = self.attune(*command, "--json", status=1).json  # of another device, so it is passed over
                        self.assertIn("column 'K' expects a whole number, got 'eight'", row["reason"])
                    elif command[0] == "explain" and b"apples" in content:
                        self.refused(*command, says="bad.csv")  # the problem says which family it must be
                    else:
                        self.refused(*command, says=says)


if __name__ == "__main__":
    story.main()
