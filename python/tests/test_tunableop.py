# SPDX-License-Identifier: MIT
"""PyTorch's TunableOp: its files as shapes to tune, tables in its notation."""

import csv
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import attune
from attune import tunableop
from attune.tunableop import Result, Shape

UNTUNED = """GemmTunableOp_float_TN,tn_96_4_64_ld_64_64_96
GemmAndBiasTunableOp_BFloat16_TN,tn_96_4_64_ld_64_64_96
GemmTunableOp_Half_NN,nn_96_4_64_ld_96_64_96
GemmTunableOp_float_NT,nt_96_4_64
GemmTunableOp_float_TN,tn_96_4_64_ld_64_128_96
GemmTunableOp_double_TN,tn_96_4_64_ld_64_64_96
GemmStridedBatchedTunableOp_float_TN,tn_96_4_64_B_8_ld_64_64_96
ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_96_4_64_ld_64_64_96_rw_1_bias_None
GemmTunableOp_float_TN,tn_96_4_64_ld_64_64_96
"""


class TunableOp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="attune_tunableop_")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_the_switch_of_tuning_is_the_variable(self):
        others = {name: value for name, value in os.environ.items() if not name.endswith("ONLINE_TUNING")}
        with mock.patch.dict(os.environ, others, clear=True):
            self.assertFalse(tunableop.tuning_is_enabled())
            tunableop.tuning_enable()
            self.assertEqual(os.environ["ATTUNE_ONLINE_TUNING"], "1")
            os.environ["ATTUNE_ONLINE_TUNING"] = "shared"
            tunableop.tuning_enable()
            self.assertEqual(os.environ["ATTUNE_ONLINE_TUNING"], "shared")
            tunableop.tuning_enable(False)
            self.assertFalse(tunableop.tuning_is_enabled())
            for no_word in ("2", "yes", "false"):
                os.environ["ATTUNE_ONLINE_TUNING"] = no_word
                self.assertFalse(tunableop.tuning_is_enabled(), no_word)
        with mock.patch.dict(os.environ, {**others, "HIP_ONLINE_TUNING": "1"}, clear=True):
            self.assertTrue(tunableop.tuning_is_enabled())

    def test_the_switch_of_serving_is_the_patch(self):
        state = {"way": ""}
        patch = types.ModuleType("attune.torch")
        patch.patch, patch.unpatch = lambda: state.update(way="dispatcher"), lambda: state.update(way="")
        patch.status = lambda: state
        with mock.patch.dict(sys.modules, {"attune.torch": patch}), mock.patch.object(attune, "torch", patch, create=True):
            self.assertFalse(tunableop.is_enabled())
            tunableop.enable()
            self.assertTrue(tunableop.is_enabled())
            tunableop.enable(False)
            self.assertFalse(tunableop.is_enabled())

    def test_lines_are_shapes(self):
        results = tunableop.read_file(self.file("tunableop_untuned0.csv", UNTUNED))
        self.assertEqual(results[0], Result("GemmTunableOp_float_TN", "tn_96_4_64_ld_64_64_96"))
        shapes = [tunableop.shape_of(one) for one in results]
        self.assertEqual(
            shapes,
            [
                Shape(4, 96, 64, "fp32", False, False, True),
                Shape(4, 96, 64, "bf16", True, False, True),
                Shape(4, 96, 64, "fp16", False, False, False),
                Shape(4, 96, 64, "fp32", False, True, False),
                *[None] * 4,
                shapes[0],
            ],
        )

    def test_results_have_solutions_and_validators_are_none(self):
        text = "Validator,PT_VERSION,2.5.1\nGemmTunableOp_float_NT,nt_25088_4096_64,Gemm_Hipblaslt_1219,1.262\n"
        text += "GemmTunableOp_float_NT,nt_4096_4096_64,Default\n"
        results = tunableop.read_file(self.file("results.csv", text))
        self.assertEqual([one.solution for one in results], ["Gemm_Hipblaslt_1219", "Default"])
        self.assertEqual([one.milliseconds for one in results], [1.262, None])

    def test_a_file_of_another_kind(self):
        for line in ("one cell", "GemmTunableOp_float_NT,nt_1_1_1,Default,soon"):
            with self.assertRaisesRegex(attune.errors.InvalidInputError, r"no line of TunableOp: .*:2: "):
                tunableop.read_file(self.file("other.csv", "Validator,PT_VERSION,2\n" + line + "\n"))

    def test_shapes_are_tuned_and_come_back_as_results(self):
        untuned = self.folder / "bf16_untuned_gemm.csv"
        file = self.file("tunableop_untuned0.csv", UNTUNED.replace("Half", "float"))
        self.assertEqual(tunableop.write_shapes([file, file], untuned), {"shapes": 4, "skipped": 8})
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), [untuned.name, file.name])
        table = self.folder / "tuned.csv"
        attune.tune(untuned, table, max_trials=1, quiet_wait=0, libtype="portable,onednn", threads=1)
        results = tunableop.get_results(table)
        wanted = {tunableop.shape_of(one) for one in tunableop.read_file(file)} - {None}
        self.assertEqual({tunableop.shape_of(one) for one in results}, wanted)
        with open(table) as text:
            rows = [(row["kernelName"], float(row["us"]) / 1000) for row in csv.DictReader(text)]
        self.assertEqual([(one.solution, one.milliseconds) for one in results], rows)
        written = self.folder / "tunableop_results0.csv"
        self.assertEqual(tunableop.write_file(written, table), 4)
        self.assertTrue(written.read_text().startswith("Validator,ATTUNE_VERSION,"))
        again = tunableop.read_file(written)
        self.assertEqual([one[:3] for one in again], [one[:3] for one in results])

    def test_rows_without_a_notation_are_left_out(self):
        table = self.file(
            "table.csv",
            "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,act,us,kernelName\n"
            "a,1,4,96,64,True,torch.float32,torch.float32,False,False,none,12.5,portable.gemm@1:block=4x4\n"
            "a,1,4,96,64,False,torch.float32,torch.float32,False,True,none,12.5,x\n"
            "a,1,4,96,64,False,torch.bfloat16,torch.float32,False,False,none,12.5,x\n"
            "a,1,4,96,64,False,torch.float32,torch.float32,False,False,relu,12.5,x\n"
            "a,1,4,96,64,False,torch.float32,torch.float32,False,False,none,fast,x\n",
        )
        self.assertEqual(
            tunableop.get_results(table),
            [Result("GemmAndBiasTunableOp_float_TN", "tn_96_4_64_ld_64_64_96", "portable.gemm@1:block=4x4", 0.0125)],
        )

    def test_rows_are_those_that_a_lookup_takes(self):
        table = self.file(
            "table.csv",
            "\ufeffgfx,cu_num, m ,N,K,bias,dtype,outdtype,us,kernelName,_tag\n"
            "a,1, 4 ,96,64, true ,fp32,fp32,12.5,slower,\n"
            "a,1,4,96,64,True,torch.float32,torch.float32,11.5,best,\n"
            + "".join(f"a,1,4,96,64,False,torch.float32,torch.float32,{us},x,\n" for us in ("inf", "nan", "0", "-1", ""))
            + "a,1,4,96,64,False,torch.float32,torch.float32,1,x,tagged\n",
        )
        self.assertEqual(tunableop.get_results(table), [Result("GemmAndBiasTunableOp_float_TN", "tn_96_4_64_ld_64_64_96", "best", 0.0115)])

    def test_of_several_tables_the_first_ones_row_is_returned(self):
        head = "gfx,cu_num,M,N,K,bias,dtype,outdtype,us,kernelName\n"
        first = self.file("first.csv", head + "a,1,4,96,64,True,torch.float32,torch.float32,12,first\n")
        second = self.file(
            "second.csv",
            head + "a,1,4,96,64,True,torch.float32,torch.float32,11,second\n" + "b,1,4,96,64,True,torch.float32,torch.float32,9,other device\n",
        )
        in_use = [{"op": "gemm_a16w16", "file": file, "is_there": True} for file in (first, second)]
        with mock.patch.object(tunableop, "tables", lambda: in_use):
            self.assertEqual([one.solution for one in tunableop.get_results()], ["first", "other device"])


if __name__ == "__main__":
    unittest.main()
