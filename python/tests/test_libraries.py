# SPDX-License-Identifier: MIT
"""Programs that the package starts use the CUDA libraries that this process has loaded."""
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from attune import _libraries

MAPS = """7f0000000000-7f0000100000 r-xp 00000000 08:01 11 /usr/lib/x86_64-linux-gnu/libc.so.6
7f0000200000-7f0000300000 r--p 00000000 08:01 12 /some where/nvidia/cublas/lib/libcublasLt.so.12
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
"""


class Libraries(unittest.TestCase):
    def folder_by(self, text):
        with tempfile.TemporaryDirectory() as folder:
            maps = Path(folder) / "maps"
            maps.write_bytes(os.fsencode(text))
            return _libraries.folder(maps)

    def test_the_folder_is_that_of_the_loaded_cublaslt(self):
        self.assertEqual(self.folder_by(MAPS), "/some where/nvidia/cublas/lib")
        self.assertIsNone(self.folder_by(MAPS.replace("libcublasLt", "libcublas")))
        self.assertIsNone(self.folder_by(MAPS.replace("some where", "some:where")))
        self.assertIsNone(_libraries.folder(Path("/no/such/maps")))
        other = "7f0000500000-7f0000600000 r--s 00000000 08:01 13 /data/donn\udce9es.bin\n"
        self.assertEqual(self.folder_by(other + MAPS), "/some where/nvidia/cublas/lib", "names of files are bytes")

    def test_the_environment_names_it_unless_the_user_has_named_another(self):
        others = {name: value for name, value in os.environ.items() if name != _libraries.VARIABLE}
        with mock.patch.object(_libraries, "folder", return_value="/wheels/lib"):
            with mock.patch.dict(os.environ, others, clear=True):
                self.assertEqual(_libraries.environment(), {**others, _libraries.VARIABLE: "/wheels/lib"})
            with mock.patch.dict(os.environ, {_libraries.VARIABLE: ""}):
                self.assertEqual(_libraries.environment()[_libraries.VARIABLE], "/wheels/lib", "empty counts as unset")
            with mock.patch.dict(os.environ, {_libraries.VARIABLE: "/own"}):
                self.assertEqual(_libraries.environment()[_libraries.VARIABLE], "/own")
        with mock.patch.object(_libraries, "folder", return_value=None), mock.patch.dict(os.environ, others, clear=True):
            self.assertEqual(_libraries.environment(), others)


if __name__ == "__main__":
    unittest.main()
