# SPDX-License-Identifier: MIT
"""The rules of tools/check_docs: each refuses a small tree that breaks it, with one line that says where and what to do."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = "# Guide\n\n## First steps\n\ntext\n\n### `attune ci`: a run, twice\n\n**Banned kernels.** text\n"


class CheckDocs(unittest.TestCase):
    def lines(self, files):
        """What the program prints of a tree of {path: text}, and its exit status."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"docs/guide.md": GUIDE, **files}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, "-B", ROOT / "tools" / "check_docs", folder], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines(), done.returncode

    def refused(self, files, *sentences):
        self.assertEqual(self.lines(files), (list(sentences), 1))

    def passes(self, files):
        lines, status = self.lines(files)
        self.assertEqual(status, 0, lines)
        self.assertRegex(lines[0], r"^the documents hold: \d+ pages$")

    # -- links -------------------------------------------------------------------------------------------------------

    def test_links_to_files_folders_and_headings_pass(self):
        self.passes({"README.md": "[a](docs/guide.md) [b](docs/guide.md#first-steps) [c](docs) [d](#top)\n\n# Top\n\n[e]\n\n[e]: docs/guide.md\n",
                     "docs/other.md": "[a](guide.md#attune-ci-a-run-twice) [b](../README.md) ![c](picture.svg \"title\")", "docs/picture.svg": ""})

    def test_a_link_that_leads_nowhere(self):
        self.refused({"README.md": "text\n[a](docs/gone.md)\n"},
                     "README.md:2: the link docs/gone.md leads to no file; name one that exists, or remove the link")
        self.refused({"docs/other.md": '<img src="gone.svg">'},
                     "docs/other.md:1: the link gone.svg leads to no file; name one that exists, or remove the link")
        self.refused({"README.md": "[e]\n\n[e]: docs/gone.md\n"},
                     "README.md:3: the link docs/gone.md leads to no file; name one that exists, or remove the link")

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.refused({"README.md": "[a](docs/guide.md#second-steps)"}, "README.md:1: docs/guide.md has no heading #second-steps; link one of its headings")
        self.refused({"README.md": "# Top\n[a](#bottom)"}, "README.md:2: README.md has no heading #bottom; link one of its headings")

    def test_equal_headings_have_numbered_anchors(self):
        self.passes({"README.md": "# Top\n# Top\n[a](#top) [b](#top-1)"})
        self.refused({"README.md": "# Top\n[a](#top-1)"}, "README.md:2: README.md has no heading #top-1; link one of its headings")

    def test_other_sites_and_code_are_no_links(self):
        self.passes({"README.md": "[a](https://example.org/gone.md#x) `[b](gone.md)` \n```\n[c](gone.md)\n# Not a heading\n```\n"})
        self.refused({"README.md": "```\n# Not a heading\n```\n[a](#not-a-heading)"},
                     "README.md:4: README.md has no heading #not-a-heading; link one of its headings")

    # -- citations ---------------------------------------------------------------------------------------------------

    def test_citations_of_pages_headings_and_decisions_pass(self):
        self.passes({"docs/adr/0007-a-b.md": "# 7\n", "src/a.cpp": "// docs/guide.md; docs/adr/0007, adr/0007 (docs/guide.md, First steps)\n",
                     "src/b.h": "/// (docs/guide.md, First\n/// steps).\n// docs/guide.md (Banned kernels), https://a.org/docs/gone.md\n",
                     "src/c.cpp": '"see docs/guide.md, First "\n    "steps"\n', "tools/d": "# docs/guide.md#first-steps has it; docs/guide.md, which is short\n",
                     "docs/other.md": "docs/guide.md, *attune ci: a run, twice*, says so"})

    def test_a_citation_of_a_page_that_is_not_there(self):
        self.refused({"src/a.cpp": "\n// docs/gone.md\n"}, "src/a.cpp:2: there is no page docs/gone.md; cite one that exists")
        self.refused({"README.md": "docs/formats/gone.md"}, "README.md:1: there is no page docs/formats/gone.md; cite one that exists")
        self.refused({"ci/run": "# adr/0099\n"}, "ci/run:1: there is no decision docs/adr/0099; cite one that exists")

    def test_a_citation_of_a_heading_that_is_not_there(self):
        self.refused({"src/a.h": "/// text (docs/guide.md, Last\n/// steps).\n"}, "src/a.h:1: docs/guide.md has no heading \"Last steps\"; cite one of its headings")
        self.refused({"tests/a.py": "# docs/guide.md (First step)\n"}, "tests/a.py:1: docs/guide.md has no heading \"First step\"; cite one of its headings")
        self.refused({"README.md": "docs/guide.md#gone"}, "README.md:1: docs/guide.md has no heading #gone; cite one of its headings")

    # -- words -------------------------------------------------------------------------------------------------------

    def test_pages_of_the_allowed_length_pass(self):
        self.passes({"README.md": "a " * 700, "CHANGELOG.md": "a " * 1200, "docs/long.md": "a " * 1200, "docs/formats/a.md": "a " * 1200, "docs/adr/0001-a.md": "a " * 250,
                     "docs/performance.md": "a " * 6000, "docs/performance/a.md": "a " * 6000, "docs/cli.md": "a " * 9000, "src/README.md": "a " * 9000})

    def test_a_page_that_is_too_long_at_the_line_of_its_first_word_too_many(self):
        for page, limit in (("README.md", 700), ("CHANGELOG.md", 1200), ("docs/long.md", 1200), ("docs/formats/a.md", 1200), ("docs/adr/0001-a.md", 250)):
            (line,), status = self.lines({page: "a\n" * limit + "one too many\n"})
            self.assertRegex(line, rf"^{page}:{limit + 1}: the page has {limit + 3} words, {limit} are allowed; \w+")
            self.assertEqual(status, 1)

    def test_the_pages_of_figures_count_together(self):
        (line,), status = self.lines({"docs/performance.md": "a " * 2000, "docs/performance/a.md": "a " * 4000, "docs/performance/b.md": "a " * 6001})
        self.assertRegex(line, r"^docs/performance/b\.md:1: these 3 pages together have 12001 words, 12000 are allowed; ")
        self.assertEqual(status, 1)

    # -- the glossary ------------------------------------------------------------------------------------------------

    def test_the_glossary_has_at_most_25_nouns(self):
        for noun in ("- **n{}**: a thing\n", "| **n{}** | a thing |\n", "| n{} | a thing |\n"):
            head = "# A\n\n## Glossary\n\n" + ("| noun | meaning |\n|---|---|\n" if "|" in noun else "")
            for count in (25, 26):
                text = head + "".join(noun.format(i) for i in range(count)) + "\n## Other\n\n- **one more**\n"
                if count == 25:
                    self.passes({"ARCHITECTURE.md": text})
                else:
                    self.refused({"ARCHITECTURE.md": text}, "ARCHITECTURE.md:3: the glossary defines 26 nouns, 25 are allowed; keep those that every reader meets")
        pairs = "".join(f"- **a{i}**, **b{i}**: two things\n" for i in range(13))
        self.refused({"ARCHITECTURE.md": "## Glossary\n" + pairs}, "ARCHITECTURE.md:1: the glossary defines 26 nouns, 25 are allowed; keep those that every reader meets")


if __name__ == "__main__":
    unittest.main()
