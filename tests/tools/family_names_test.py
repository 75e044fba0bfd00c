# SPDX-License-Identifier: MIT
"""Where the sources name the block-scaled families: their own folder, the solvers that compute them, and what is public. A place that
is added here is one that each further family must be added to."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = ("gemm_a8w8_blockscale", "gemm_a4w4_blockscale")
OWN = "src/ops/quantised_gemm/"
SOLVERS = ("src/solvers/onednn/", "src/solvers/onednn3/", "src/solvers/jit_cpu_quantised/", "src/solvers/portable_quantised/")
PUBLIC = {
    "include/attune/attune.h": 1,  # The number, permanent in keys of C.
    "include/attune/key.h": 1,  # The same in C++.
    "src/api/c_values.cpp": 1,  # That both are equal.
    "python/attune/__init__.py": 2,  # The function.
    "python/attune/_attune.pyi": 1,
    "python/src/quantised_product.cpp": 1,
}
SUFFIXES = {".cpp", ".h", ".cu", ".cuh", ".in", ".py", ".pyi", ".cmake", ".txt"}


def lines_with(family):
    """{file: number of lines} outside of tests that name the family, not one with a longer name."""
    name, found = re.compile(family.replace("_", "_?") + "(?!_?bpreshuffle)", re.IGNORECASE), {}
    for folder in ("src", "include", "python/src", "python/attune", "cmake"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix not in SUFFIXES or "_test." in file.name or file.name == "golden_recipes.txt":
                continue
            count = sum(bool(name.search(line)) for line in file.read_text().splitlines())
            if count:
                found[str(file.relative_to(ROOT))] = count
    return found


class FamilyNames(unittest.TestCase):
    def test_a_family_is_named_where_it_is_public_and_nowhere_else(self):
        for family in FAMILIES:
            with self.subTest(family):
                found = {file: count for file, count in lines_with(family).items() if not file.startswith((OWN, *SOLVERS))}
                self.assertEqual(found, PUBLIC)

    def test_the_search_finds_a_family_in_its_own_folder(self):
        for family in FAMILIES:
            self.assertTrue([file for file in lines_with(family) if file.startswith(OWN)], family)


if __name__ == "__main__":
    unittest.main()
