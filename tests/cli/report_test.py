# SPDX-License-Identifier: MIT
"""`attune report`: of a journal, of one run of it, of a pipeline's folder; what it refuses; texts from anywhere."""
import html.parser
import json
import sqlite3
import xml.etree.ElementTree as ElementTree

import story
from story import REPOSITORY, SHAPES

SCHEMA = REPOSITORY / "docs" / "formats" / "report.schema.json"
REST = ",False,fp32,fp32,False,False"
EVIL = "<script>alert(1)</script>\"'&\u001b[31m\u202e"


class Balanced(html.parser.HTMLParser):
    """Notes elements that are not closed in order, and scripts."""

    VOID = {"meta"}

    def __init__(self, page):
        super().__init__()
        self.open, self.wrong, self.scripts, self.ids = [], [], 0, []
        self.feed(page)
        self.wrong += self.open

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Report(story.Story):
    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SHAPES)

    def tuned(self):
        self.tune("-i", "shapes.csv", "-o", "t.csv")
        return self.home / "journal.db"

    def checked(self, page):
        parsed = Balanced(page)
        self.assertEqual(parsed.wrong, [])
        self.assertEqual(parsed.scripts, 1)
        self.assertEqual(len(parsed.ids), len(set(parsed.ids)), "an id comes twice")

    def checked_json(self, text):
        import jsonschema
        document = json.loads(text)
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))
        return document


class OfAJournal(Report):
    def test_every_form_of_the_users_journal(self):
        self.tuned()
        result = self.attune("report")
        self.assertEqual(result.stdout, "report.html: 3 decisions of 1 run\n")
        page = self.read("report.html")
        self.checked(page)
        self.assertIn("3 shapes decided: ", page)
        self.attune("report", "-o", "again.html")
        self.assertEqual(self.read("again.html"), page)
        self.attune("report", "-o", "r.md")
        self.assertRegex(self.read("r.md"), r"(?m)^\| 1×32×48 fp32 \| 1\.\d{3}× \| ")
        self.attune("report", "-o", "r.json")
        document = self.checked_json(self.read("r.json"))
        self.assertEqual(len(document["decisions"]), 3)
        self.attune("report", "--format", "junit", "-o", "tests.txt")
        suite, = ElementTree.fromstring(self.read("tests.txt"))
        self.assertEqual((suite.get("tests"), suite.get("failures"), len(suite)), ("3", "0", 3))
        # The data are the whole of it: a report of them is that of the journal.
        self.attune("report", "r.json", "-o", "of_json.html")
        self.assertEqual(self.read("of_json.html"), page)

    def test_one_run_of_several(self):
        journal = self.tuned()
        self.put("one.csv", "M,N,K,dtype\n4,64,64,fp32\n")
        self.tune("-i", "one.csv", "-o", "t.csv")
        numbers = [run["number"] for run in self.json_of(journal)["runs"]]
        self.assertEqual(len(numbers), 2)
        second = self.json_of(journal, "--run", str(numbers[1]))
        self.assertEqual([one["shape"] for one in second["decisions"]], ["4×64×64 fp32"])
        self.assertEqual(len(second["runs"]), 1)

    def json_of(self, journal, *arguments):
        self.attune("report", str(journal), "-o", "r.json", *arguments)
        return self.checked_json(self.read("r.json"))

    def test_texts_of_a_journal_show_as_texts(self):
        journal = self.tuned()
        detail = json.dumps(EVIL + "x" * 10_000_000, ensure_ascii=False)[1:-1]
        with sqlite3.connect(journal) as base:
            base.text_factory = bytes
            changed = [(row, payload.decode()) for row, payload in base.execute(
                "SELECT id, payload FROM entries WHERE kind = 1 ORDER BY id LIMIT 2")]
            (first, payload), (second, _) = changed
            record = json.loads(payload)
            record["outcome"].update(status="crashed", detail=detail)
            base.execute("UPDATE entries SET payload = ? WHERE id = ?", (json.dumps(record), first))
            base.execute("UPDATE entries SET payload = CAST(? AS TEXT) WHERE id = ?",
                         (payload.encode().replace(b"fake.gemm", b"\xff\xfe"), second))
        for name in ("r.html", "r.md", "r.json", "r.xml"):
            result = self.attune("report", "-o", name)
            self.assertIn("note: ", result.stderr)  # The second entry is damaged.
            text = self.read(name)
            self.assertLess(len(text), 1_000_000)
            if name == "r.json":
                self.checked_json(text)
                continue
            self.assertNotIn("<script>alert", text)
            self.assertNotIn("\u001b", text)
            self.assertNotIn("\u202e", text)
        self.checked(self.read("r.html"))
        ElementTree.fromstring(self.read("r.xml"))


class Refusals(Report):
    def refuses(self, *arguments, says):
        self.refused("report", *arguments, says=says)

    def test_wrong_sources_and_outputs_write_nothing(self):
        self.refuses(says="journal")  # There is none yet.
        journal = self.tuned()
        self.refuses("nowhere.db", says="nowhere.db")
        self.refuses("--run", "77", says="no such run")
        self.refuses("--format", "pdf", says="--format")
        self.refuses("-o", "missing/report.html", says="missing")
        self.refuses("-o", str(journal), says=["--output", "the source"])
        (self.work / "empty").mkdir()
        self.refuses("empty", says="empty/results.json")
        self.put("ci/results.json", '{"version":1,"ending":"running","inputs":{}}')
        self.refuses("ci", says="has not come to its end")
        self.refuses("ci", "--run", "1", says="--run")
        self.put("ci/results.json", '{"version":1,')
        self.refuses("ci", says="ci/results.json")
        self.put("ci/results.json", "[" * 100_000)
        self.refuses("ci", says="ci/results.json")


class OfAPipeline(Report):
    def test_the_folder_has_every_form_and_gives_the_same_page_again(self):
        self.put("configs/bf16_untuned_gemm.csv",
                 "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n" + "".join(f"{m},32,16{REST}\n" for m in range(1, 5)))
        self.attune("ci", "run", "--config-dir", "configs", "--arguments", "--devices fake:0 --quiet-wait 0")
        page = self.read("ci-results/report.html")
        self.checked(page)
        self.assertIn("4 shapes compared before and after", page)
        self.assertIn("4 shapes decided", page)
        document = self.checked_json(self.read("ci-results/results.json"))
        self.assertEqual((document["ending"], len(document["families"][0]["shapes"]), len(document["decisions"])), ("done", 4, 4))
        suite, = ElementTree.fromstring(self.read("ci-results/junit.xml"))
        self.assertEqual((suite.get("name"), len(suite)), ("gemm_a16w16", 4))
        self.attune("report", "ci-results", "-o", "again.html")
        self.assertEqual(self.read("again.html"), page)
        self.attune("report", "ci-results", "-o", "again.md")
        self.assertEqual(self.read("again.md"), self.read("ci-results/report.md"))


if __name__ == "__main__":
    story.main()
