# SPDX-License-Identifier: MIT
"""The rules of tools/check_layers: each refuses a small tree that breaks it, and the tree of this repository passes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def check(*arguments):
    return subprocess.run([sys.executable, "-B", ROOT / "tools" / "check_layers", *arguments], capture_output=True, text=True)


class Trees(unittest.TestCase):
    """Makes small trees."""

    def tree(self, files):
        """Makes a tree of {path: included name, or several}; what is included exists."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for path, includes in files.items():
            includes = [includes] if isinstance(includes, str) else includes
            text = "".join(f"#include {name}\n" if name.startswith("<") else f'#include "{name}"\n' for name in includes)
            self.put(root / path, text)
            for name in includes:
                top = "include" if name.startswith("attune/") else "src"
                if "/" in name and name[0] not in "<." and f"{top}/{name}" not in files:
                    self.put(root / top / name, "")
        return root

    @staticmethod
    def put(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class CheckLayers(Trees):
    def refused(self, files, *sentences):
        """The tree is refused with these lines and no other."""
        result = check(self.tree(files))
        self.assertEqual((result.stdout.splitlines(), result.returncode), (list(sentences), 1), result.stderr)

    def passes(self, files):
        result = check(self.tree(files))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("layers hold", result.stdout)

    def test_this_tree_passes(self):
        result = check()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"^layers hold: \d{3,} files\n$")

    def test_downward_includes_pass(self):
        self.passes({"src/tuner/a.cpp": ["measure/b.h", "core/c.h"], "src/core/c.cpp": ["core/c.h", "base/d.h"]})

    def test_an_include_of_a_higher_row(self):
        self.refused({"src/core/a.h": ["base/b.h", "tuner/c.h"]}, "src/core/a.h:2: row 1 includes row 6: tuner/c.h")

    def test_no_spelling_of_an_include_escapes(self):
        for spelling in ("<tuner/b.h>", "../tuner/b.h"):
            self.refused({"src/core/a.h": spelling, "src/tuner/b.h": []}, "src/core/a.h:1: row 1 includes row 6: tuner/b.h")
        self.refused({"src/core/a.h": "b.h", "src/core/b.h": "core/a.h"}, "these files include each other: core/a core/b")

    def test_kernels_keep_to_the_rows_too(self):
        self.passes({"src/tensor/a.cuh": ["<cuda_fp16.h>", "core/b.h"], "src/ops/gemm/c.cu": ["tensor/a.cuh", "ops/d.h"]})
        self.refused({"src/ops/gemm/a.cu": "measure/b.h"}, "src/ops/gemm/a.cu:1: row 3 includes row 5: measure/b.h")
        self.refused({"src/tensor/a.cuh": "ops/b.h"}, "src/tensor/a.cuh:1: row 2 includes row 3: ops/b.h")
        self.refused({"src/core/a.cuh": "core/b.cuh", "src/core/b.cuh": "core/a.cuh"}, "these files include each other: core/a core/b")

    def test_an_include_inside_a_row(self):
        self.refused({"src/search/a.cpp": "store/b.h"}, "src/search/a.cpp:1: row 2 includes row 2: store/b.h")

    def test_tests_keep_to_the_rows_too(self):
        self.refused({"src/core/a_test.cpp": "tuner/b.h"}, "src/core/a_test.cpp:1: row 1 includes row 6: tuner/b.h")

    def test_an_include_of_a_higher_room(self):
        self.refused({"src/dispatch/table/a.h": "dispatch/plans/b.h"},
                     "src/dispatch/table/a.h:1: dispatch/table includes dispatch/plans, which is not below it: "
                     "dispatch/plans/b.h")
        self.refused({"src/campaign/a.h": "campaign/online/b.h"},
                     "src/campaign/a.h:1: campaign includes campaign/online, which is not below it: campaign/online/b.h")
        self.refused({"src/dispatch/online/a.cpp": "dispatch/b.h"},
                     "src/dispatch/online/a.cpp:1: dispatch/online includes dispatch, which is not below it: dispatch/b.h")

    def test_an_include_of_a_room_beside(self):
        self.refused({"src/dispatch/plans/a.h": "dispatch/capture/b.h"},
                     "src/dispatch/plans/a.h:1: dispatch/plans includes dispatch/capture, which is not below it: "
                     "dispatch/capture/b.h")
        self.passes({"src/dispatch/plans/a.h": "dispatch/table/b.h", "src/dispatch/table/a_test.cpp": "dispatch/plans/b.h"})

    def test_a_room_without_a_height(self):
        self.refused({"src/dispatch/attic/a.h": "dispatch/table/b.h"},
                     "src/dispatch/attic/a.h:1: a room without a height: dispatch/attic: dispatch/table/b.h")
        self.refused({"src/dispatch/a.h": "dispatch/attic/b.h"},
                     "src/dispatch/a.h:1: a room without a height: dispatch/attic: dispatch/attic/b.h")

    def test_a_public_header_has_the_room_of_its_folder(self):
        self.refused({"src/dispatch/table/a.h": "attune/dispatcher.h"},
                     "src/dispatch/table/a.h:1: dispatch/table includes dispatch, which is not below it: attune/dispatcher.h")
        self.refused({"src/core/a.h": "attune/plan.h"}, "src/core/a.h:1: row 1 includes row 4: attune/plan.h")
        self.refused({"include/attune/dtype.h": "attune/tensor.h"},
                     "include/attune/dtype.h:1: row 1 includes row 2: attune/tensor.h")

    def test_a_folder_without_a_row(self):
        self.refused({"src/kitchen/a.cpp": "base/b.h"}, "src/kitchen/a.cpp:1: a folder without a row: kitchen: base/b.h")
        self.refused({"src/core/a.cpp": "kitchen/b.h"}, "src/core/a.cpp:1: a folder without a row: kitchen: kitchen/b.h")

    def test_a_root_that_includes_a_plug_in(self):
        self.refused({"src/ops/a.cpp": "ops/gemm/b.h"}, "src/ops/a.cpp:1: a root includes a plug-in: ops/gemm/b.h")
        self.passes({"src/ops/gemm/a.cpp": "ops/b.h", "src/ops/a_test.cpp": "ops/gemm/c.h"})

    def test_a_plug_in_that_includes_another(self):
        include = {"src/solvers/one/a.cpp": "solvers/two/b.h"}
        self.refused(include, "src/solvers/one/a.cpp:1: a plug-in includes another without USES: solvers/two/b.h")
        root = self.tree(include)
        self.put(root / "src/solvers/one/CMakeLists.txt", "attune_add_solver(NAME one USES solvers/two)\n")
        self.assertEqual(check(root).returncode, 0)

    def test_a_device_is_included_by_who_declares_it(self):
        include = {"src/solvers/one/a.cpp": "device/fake/b.h"}
        self.refused(include, "src/solvers/one/a.cpp:1: a device's header without USES: device/fake/b.h")
        self.refused({"src/measure/a.cpp": "device/fake/b.h"},
                     "src/measure/a.cpp:1: a device's header without USES: device/fake/b.h")
        root = self.tree(include)
        self.put(root / "src/solvers/one/CMakeLists.txt", "attune_add_solver(NAME one USES device/fake)\n")
        self.assertEqual(check(root).returncode, 0)

    def test_a_vendor_header_outside_a_solvers_source(self):
        self.refused({"src/measure/a.cpp": "<cblas.h>"},
                     "src/measure/a.cpp:1: a vendor header outside a solver's .cpp: cblas.h")
        self.refused({"src/solvers/one/a.h": "<oneapi/dnnl/dnnl.hpp>"},
                     "src/solvers/one/a.h:1: a vendor header outside a solver's .cpp: oneapi/dnnl/dnnl.hpp")
        self.refused({"src/device/device.h": "<cuda.h>"}, "src/device/device.h:1: a vendor header outside a solver's .cpp: cuda.h")
        self.passes({"src/solvers/one/a.cpp": "<cblas.h>", "src/device/one/one_driver.h": "<cuda.h>", "src/solvers/one/one_functions.h": "<cublasLt.h>"})

    def test_the_product_does_not_include_what_tests_share(self):
        self.refused({"src/core/a.cpp": "testing/b.h"},
                     "src/core/a.cpp:1: the product includes what only tests share: testing/b.h")
        self.passes({"src/core/a_test.cpp": "testing/b.h", "src/testing/b.h": "tuner/c.h"})

    def test_two_files_that_include_each_other(self):
        self.refused({"src/core/a.h": "core/b.h", "src/core/b.h": "core/a.h"}, "these files include each other: core/a core/b")

    def test_a_header_and_its_source_are_one_file(self):
        self.refused({"src/core/a.cpp": ["core/a.h", "core/b.h"], "src/core/b.cpp": ["core/b.h", "core/c.h"],
                      "src/core/c.h": "core/a.h"}, "these files include each other: core/a core/b core/c")
        self.passes({"src/core/a.cpp": ["core/a.h", "core/b.h"], "src/core/b_test.cpp": "core/a.h"})

    def test_a_search_in_the_name_of_an_architecture(self):
        root = self.tree({})
        allowed = ["device.gfx == row.gfx", "gfx.empty()", 'fmt::format("{}/{}", gfx, units)', "key.substr(0, slash) == device.gfx"]
        self.put(root / "src/solvers/one/a.cpp", "".join(f"f({line});\n" for line in allowed))
        self.put(root / "src/core/device/instruction_sets.cpp", 'gfx.find("+");\n')
        self.assertEqual(check(root).returncode, 0, check(root).stdout)
        searches = ['device.gfx.find("+amx")', "info_.gfx.starts_with(level)", "gfx_.contains(suffix)", "info().gfx().substr(0, 9)",
                    "split(device.gfx, '+')", "std::regex_match(device.gfx, kAmx)"]
        for search in searches:
            self.put(root / "src/solvers/one/a.cpp", f"int x;\nif ({search}) return;\n")
            self.assertEqual(check(root).stdout, "src/solvers/one/a.cpp:2: a search in gfx, use DeviceInfo::instruction_sets(): "
                             f"if ({search}) return;\n")

    def test_a_folder_with_too_many_files(self):
        files = {f"src/core/a{number}.{ending}": [] for number in range(14) for ending in ("h", "cpp")}
        files |= {f"src/core/a{number}_test.cpp": [] for number in range(14)}
        files |= {"src/core/README.md": [], "src/core/CMakeLists.txt": []}
        self.passes(files)
        files["src/core/b.h"] = []
        self.refused(files, "src/core: 31 files, tests aside; a folder has at most 30")
        self.refused({f"python/src/a{number}.h": [] for number in range(31)},
                     "python/src: 31 files, tests aside; a folder has at most 30")


class TwinTypes(Trees):
    """A qualified name belongs to one type."""

    def texts(self, files):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for path, text in files.items():
            self.put(pathlib.Path(folder.name) / path, text)
        return check(folder.name)

    def refused_types(self, first, second, *names):
        result = self.texts({"src/core/a.h": first, "src/store/b.h": second})
        self.assertEqual([line.split(": ")[2] for line in result.stdout.splitlines()], [f"{name}, defined in src/core/a.h too" for name in names], result.stdout)

    def test_in_two_headers_are_refused_with_their_places(self):
        result = self.texts({"src/core/a.h": "namespace x {\nstruct Twin {};\n}", "src/store/b.h": "namespace x {\n\nclass Twin final : public Y {\n};\n}"})
        self.assertEqual((result.stdout, result.returncode),
                         ("src/store/b.h:3: a second type with this name, rename one: x::Twin, defined in src/core/a.h too\n", 1))

    def test_are_seen_however_they_are_written(self):
        for second in ("namespace x { enum class T : int { a }; }", "namespace x { union alignas(8) T { int i; }; }", "namespace x {\n#if 1\nstruct T {\n#endif\n};\n}",
                       "namespace x { template <typename V = int>\nstruct [[nodiscard]] T { V v; }; }", "namespace x { /* } */ const char* s = \"}\"; class T { }; }",
                       "namespace x { int f() { return 1; } struct T {}; }", "namespace x::y { struct U {}; }\nnamespace x { struct T {}; }"):
            self.refused_types("namespace x { struct T {}; }", second, "x::T")

    def test_of_other_scopes_are_no_twins(self):
        for second in ("namespace y { struct T {}; }", "namespace x { struct T; }", "namespace x { namespace { struct T {}; } }", "namespace x { struct U { struct T {}; }; }",
                       "namespace x { void f() { struct T {}; } }", "// namespace x { struct T {}; }", "namespace x { inline T t() { return T{}; } }"):
            result = self.texts({"src/core/a.h": "namespace x { struct T {}; }", "src/store/b.h": second})
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_inside_a_class_are_compared_by_their_whole_name(self):
        self.refused_types("namespace x { struct A { struct T {}; }; }", "namespace x { struct A { struct T {}; }; }", "x::A", "x::A::T")


if __name__ == "__main__":
    unittest.main()
