# SPDX-License-Identifier: MIT
"""An interface has at most ten virtual functions, destructors aside: what implements it is read in one go."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = 10


def virtual_functions(text):
    """Class → number of the virtual functions that it declares itself."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", "", text, flags=re.S)
    counts, open_classes, depth = {}, [], 0
    for token in re.finditer(r"\b(?:class|struct)\s+(?:\w+\([^)]*\)\s+)*(\w+)[^;{}()]*\{|\{|\}|\bvirtual\s+(?!~)", text):
        word = token.group()
        if word.endswith("{"):
            depth += 1
            if token.group(1):
                open_classes.append((token.group(1), depth))
        elif word == "}":
            if open_classes and open_classes[-1][1] == depth:
                open_classes.pop()
            depth -= 1
        elif open_classes:
            counts[open_classes[-1][0]] = counts.get(open_classes[-1][0], 0) + 1
    return counts


class Interfaces(unittest.TestCase):
    def test_functions_are_counted_by_the_class_that_declares_them(self):
        text = """class A : public B { // virtual no()
         public: virtual ~A() = default; virtual int f() { if (x) { y(); } return 0; } struct In { virtual void g(); };
         virtual void h() = 0; };
        struct C { void f(); };"""
        self.assertEqual(virtual_functions(text), {"A": 2, "In": 1})

    def test_each_has_ten_at_most(self):
        counts = {}
        for folder in ("src", "include"):
            for header in sorted((ROOT / folder).rglob("*.h")):
                for name, number in virtual_functions(header.read_text()).items():
                    counts[name] = max(number, counts.get(name, 0))
        self.assertEqual((counts["Solver"], counts["Device"], counts["Op"]), (10, 10, 9), "they are found")
        self.assertEqual({name: number for name, number in counts.items() if number > MOST}, {})


if __name__ == "__main__":
    unittest.main()
