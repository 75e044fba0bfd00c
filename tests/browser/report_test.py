# SPDX-License-Identifier: MIT
"""The HTML report in a browser: light, dark and on a phone, by keyboard and without script; axe-core finds nothing wrong."""

import story
from browser import SHOTS, BrowserStory
from story import FAKE

SIZES = "M,N,K,dtype\n" + "".join(f"{m},{n},64,fp32\n" for m in range(1, 9) for n in (32, 48))


class Report(BrowserStory):
    def page(self, scheme="light", width=1280, **how):
        """A report that is open; what the page complains about is kept in `self.complaints`."""
        context = self.browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, **how)
        self.addCleanup(context.close)
        page = context.new_page()
        self.complaints = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.complaints.append(request.url) if not request.url.startswith("file:") else None)
        page.goto((self.work / "report.html").as_uri())
        return page

    def setUp(self):
        super().setUp()
        self.put("shapes.csv", SIZES)
        self.attune("tune", "-i", "shapes.csv", "-o", "t.csv", "--all", *FAKE)
        self.attune("report")

    def test_light_dark_and_phone(self):
        for name, scheme, width in (("light", "light", 1280), ("dark", "dark", 1280), ("phone", "light", 360), ("phone-dark", "dark", 360)):
            with self.subTest(name):
                page = self.page(scheme, width)
                for details in page.query_selector_all("summary"):
                    details.click()
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                self.check_accessibility(page)
                page.screenshot(path=SHOTS / f"report-{name}.png", full_page=True)
                self.assertEqual(self.complaints, [])

    def test_the_keyboard_reaches_the_tables(self):
        page = self.page()
        page.keyboard.press("Tab")
        self.assertEqual(page.evaluate("document.activeElement.className"), "skip")
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
        self.assertLessEqual({"DIV.scroll table", "DIV.scroll drawing", "SUMMARY.", "BUTTON.", "INPUT.", "A."}, reached)

    def test_tables_are_sorted_and_filtered(self):
        page = self.page()
        table = page.locator("#winners table")
        first = "#winners tbody tr:first-child td:nth-of-type(1)"
        table.locator("thead button", has_text="speed-up").click()
        least = float(page.text_content(first).rstrip("×"))
        table.locator("thead button", has_text="speed-up").click()
        self.assertGreater(float(page.text_content(first).rstrip("×")), least)
        page.fill("#winners input", "9×48 FP32")
        self.assertEqual(page.locator("#winners tbody tr:visible").count(), 0)
        page.fill("#winners input", "8×48 FP32")
        self.assertEqual(page.locator("#winners tbody tr:visible").count(), 1)

    def test_without_script_everything_is_there(self):
        page = self.page(java_script_enabled=False)
        self.assertEqual(page.locator("#winners tbody tr").count(), 16)
        self.assertEqual(page.locator("button, input").count(), 0)

    def test_it_prints(self):
        self.assertGreater(len(self.page().pdf()), 10_000)


if __name__ == "__main__":
    story.main()
